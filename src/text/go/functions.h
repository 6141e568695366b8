// The functions of templates: Go's own but for html, js, urlquery and call, and those that Ollama adds: json,
// currentDate, yesterdayDate, toTypeScriptType.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "text/go/value.h"

namespace ft::go {

enum class Evaluation : uint8_t { all, until_false, until_true };  // until_: `and` and `or`

struct Function {
    std::string_view name;
    size_t least, most;  // arguments
    Evaluation evaluation;
    Value (*apply)(Run& run, std::span<const Value> arguments);  // null where not all are evaluated
};

// nullptr: there is none.
const Function* find_function(std::string_view name);

// A format of printf: %s, %v, %d, %t and %%, without flags. Fails (jinja::Failure) on others.
void check_format(std::string_view format);

}  // namespace ft::go
