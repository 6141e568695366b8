// JSON as the commands print it: UTF-8 with nothing in it that a terminal would obey.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ft::cli {

// With a newline at the end. Bytes that are no UTF-8 become U+FFFD. indent -1: one line.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace ft::cli
