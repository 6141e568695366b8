// The filters of each source file; filters.cpp searches them.
#pragma once

#include <span>

#include "text/jinja/filters.h"

namespace ft::jinja {

std::span<const Filter> text_filters();
std::span<const Filter> sequence_filters();

// str(value) for filters that work on the text of any value; undefined is empty.
std::string text_of(Heap& heap, const Value& value);

}  // namespace ft::jinja
