// Commands that answer each line of stdin, a JSON object, with one line on stdout.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace ft::cli {

// `answer` sees each line's object in order; what it returns, or {"error": sentence}, is the line's answer. A
// line that is no JSON object or has more than 16 MiB, and one whose values have wrong types (nlohmann's at()
// and get() may throw inside `answer`), gets an error in its place and the rest goes on. The value is the
// exit status 0; the Error is stdout's.
using JsonAnswer = std::function<Expected<nlohmann::ordered_json>(const nlohmann::ordered_json& line)>;
Expected<int> answer_lines(const JsonAnswer& answer);

}  // namespace ft::cli
