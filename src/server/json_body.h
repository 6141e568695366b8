// JSON from outside: bounded in depth, so that nothing that walks it can run out of stack, and in the members
// of an object, so that nothing that looks for one takes long.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace ft {

constexpr int k_deepest_json = 128;
constexpr size_t k_most_members = 4096;

// An error says where the text is no JSON. Ill-formed UTF-8 is none.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace ft
