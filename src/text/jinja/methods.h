// Methods of strings, lists, tuples, maps and ranges: those that do not change the value.
#pragma once

#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;

struct Method {
    const char* name;
    // Null: the method exists in Python, this engine refuses it with a message.
    Value (*call)(Heap& heap, const Value& self, const Arguments& given);
    bool changes = false;  // it would change the value: using it fails as it does in the reference's sandbox
};

struct MethodObject : Object {
    MethodObject(Value s, const Method* m) : self(std::move(s)), method(m) {}
    Value self;
    const Method* method;
};

// The method of that name for values of that type, or null.
const Method* find_method(const Value& self, std::string_view name);

// old replaced by replacement in text, at most `most` times (-1: all).
std::string replaced(Heap& heap, std::string_view text, std::string_view old, std::string_view replacement,
                     int64_t most);

}  // namespace ft::jinja
