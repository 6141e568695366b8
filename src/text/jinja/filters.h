// Filters: value|name(arguments). Text filters: filters_text.cpp; filters on sequences: filters_sequence.cpp.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;

struct Filter {
    const char* name;
    Value (*call)(Heap& heap, const Value& value, const Arguments& given);
};

const Filter* find_filter(std::string_view name);   // null: no such filter
std::string unknown_filter(std::string_view name);  // the message for that

}  // namespace ft::jinja
