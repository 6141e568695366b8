// What templates can call besides methods: the global functions, functions of loop and cycler objects, and
// macros.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/arguments.h"
#include "text/jinja/strftime.h"
#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;
struct MacroStatement;
struct Scope;

// What the functions need of a rendering.
struct Environment {
    Heap& heap;
    std::optional<LocalTime> now;  // what strftime_now says; the clock when not given
    // Namespaces and loops, the values that change: they can hold themselves and are emptied when the
    // rendering ends.
    std::vector<Value> may_hold_itself;
};

struct Function {
    const char* name;
    Value (*call)(Environment& environment, const Value& self, const Arguments& given);
};

struct FunctionObject : Object {
    FunctionObject(const Function* f, Value s) : function(f), self(std::move(s)) {}
    const Function* function;
    Value self;  // none for global functions
};

struct MacroObject : Object {
    MacroObject(const MacroStatement* m, Scope* s) : macro(m), scope(s) {}
    const MacroStatement* macro;
    Scope* scope;  // where it was defined: kept until the rendering ends

    const std::string& name() const;
    std::vector<std::string> argument_names() const;
    bool takes_named() const;
    bool takes_more() const;
    bool takes_caller() const;
};

// range, namespace, dict, cycler, joiner, raise_exception, strftime_now, lipsum (refused).
std::optional<Value> global_function(Heap& heap, std::string_view name);
// loop.cycle, loop.changed, cycler.next, cycler.reset.
std::optional<Value> bound_function(Heap& heap, const Value& self, std::string_view name);

}  // namespace ft::jinja
