// Keys of objects that a schema does not list.
#pragma once

#include <string>
#include <vector>

#include "grammar/expr.h"

namespace ft::grammar {

// A key with its quotes: any but these, without escapes.
Expr key_other_than(const std::vector<std::string>& names);

}  // namespace ft::grammar
