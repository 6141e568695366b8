// The known name that a misspelt one probably meant: for flags, keys, commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ft {

// Edits (insert, delete, replace, swap of neighbours) that turn a into b; cost O(a.size() * b.size()).
int edit_distance(std::string_view a, std::string_view b);

// The name with the fewest edits, the first of several; "" when none is near (more than one edit in a word of
// up to seven letters, more than two or one for every six letters in a longer one) or when all letters
// differ.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

// "Did you mean NAME?", or "" when none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace ft
