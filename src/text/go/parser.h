// Source of a Go template to its tree, for the part of the language that chat templates use: all statements
// and literals but complex numbers; functions as in functions.h.
#pragma once

#include <string_view>

#include "text/go/ast.h"

namespace ft::go {

// Whether a source is a Go template rather than one in Jinja: no {% in it, and in one of its {{ }} what only
// Go writes so: {{ .Field }}, {{ $name }}, {{ if … }}.
bool looks_like_go(std::string_view source);

// Fails (jinja::Failure with the line) where the source is no template, nests deeper than
// jinja::k_max_nesting, names a function, variable or template that is not there, or gives a function
// arguments that it does not take.
Template parse_template(std::string_view source);

}  // namespace ft::go
