// JSON from outside: bounded in depth, so that nothing that walks it can run out of stack, and in the members
// of an object, so that nothing that looks for one takes long.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace ft {

constexpr int k_deepest_json = 128;
constexpr size_t k_most_members = 4096;

// What the library says of a text or value, without its own names: "at column 7: syntax error …" for a text
// of one line, "type must be string, but is number".
std::string json_reason(const nlohmann::json::exception& failure, std::string_view text);

// An error says where the text is no JSON. Ill-formed UTF-8 is none. `deepest`: levels that lists and objects
// may lie in each other.
Expected<nlohmann::ordered_json> parse_json(std::string_view text, int deepest = k_deepest_json);

}  // namespace ft
