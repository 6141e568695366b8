// The `loop` variable of a for block.
#pragma once

#include "text/jinja/value.h"

namespace ft::jinja {

struct ForStatement;
struct Scope;

struct LoopObject : Object {
    Value items;         // what is iterated, as a sequence
    int64_t index = 0;   // of the current item
    int depth = 0;       // of recursive calls, 0 outermost
    Value last_changed;  // what loop.changed() saw
    bool changed_called = false;
    // For loop(items) in a recursive loop; null in others.
    const ForStatement* recursive = nullptr;
    Scope* scope = nullptr;
};

}  // namespace ft::jinja
