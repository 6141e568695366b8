// Tests: value is name(arguments).
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;

struct Test {
    const char* name;
    bool (*holds)(Heap& heap, const Value& value, const Arguments& given);
};

const Test* find_test(std::string_view name);     // null: no such test
std::string unknown_test(std::string_view name);  // the message for that

}  // namespace ft::jinja
