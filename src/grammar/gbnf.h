// The text of a grammar in llama.cpp's form, GBNF:
//
//    root  ::= item (", " item)* "."        # a comment
//    item  ::= [a-z] [^"\\\x00-\x1F]{0,20} | "\u84DD" | .
//
// A rule's name is of letters, digits, - and _. Characters in quotes and classes may be escaped by a
// backslash: n, r, t, " [ ] - ^ and the backslash itself, xHH, uHHHH, UHHHHHHHH. A rule ends with its line,
// except inside of ( ) and around ::= and |.
#pragma once

#include <string_view>

#include "base/error.h"
#include "grammar/expr.h"

namespace ft::grammar {

// Rule 0 is `root`. Errors begin with "grammar, line N".
Expected<Rules> parse_gbnf(std::string_view text);

}  // namespace ft::grammar
