// Tags in a text that comes in pieces.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace ft {

// The length of the longest end of `text` that begins one of the tags and is not all of it.
inline size_t begun_tag_size(std::string_view text, std::initializer_list<std::string_view> tags) {
    size_t longest = 0;
    for (const std::string_view tag : tags)
        for (size_t n = std::min(text.size(), tag.size() - 1); n > longest; n--)
            if (text.ends_with(tag.substr(0, n))) longest = n;
    return longest;
}

// The text begins with the tag, or is a beginning of it that may go on.
inline bool may_be_tag(std::string_view text, std::string_view tag) {
    return text.starts_with(tag) || tag.starts_with(text);
}

}  // namespace ft
