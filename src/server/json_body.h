// JSON from outside: bounded in depth, so that nothing that walks it can run out of stack.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace ft {

constexpr int k_deepest_json = 128;

// An error says where the text is no JSON. Ill-formed UTF-8 is none.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace ft
