// Text formatting in templates: printf style ('%s %5.2f' % args) and str.format ('{} {0:>8}').
#pragma once

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;

// format % arguments: a tuple gives several, a map gives them by name (%(name)s), anything else is one.
Value format_printf(Heap& heap, const Value& format, const Value& arguments);
// format.format(...): fields by position or name with conversions and format specs; fields that reach into
// their value
// ({0.name}, {0[1]}) are refused.
Value format_braces(Heap& heap, const Value& format, const Arguments& arguments);

// text in `width` code points. side: '<' '>' '^' (the extra fill of odd centring goes right), '=' is not for
// text.
std::string pad(Heap& heap, std::string_view text, int64_t width, char side, std::string_view fill = " ");

}  // namespace ft::jinja
