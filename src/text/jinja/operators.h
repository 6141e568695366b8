// What the operators of the language do with values, by Python's rules. All fail (Failure) where Python
// raises.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja/numbers.h"
#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;

bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
// a < b; with or_equal a <= b. Numbers with numbers, strings with strings, lists with lists, tuples with
// tuples.
bool less(const Value& a, const Value& b, bool or_equal = false);
bool contains(Heap& heap, const Value& container, const Value& item);
size_t hash_of(const Value& value);
size_t hash_of(std::string_view text);

// + - * / // % **, for strings and lists too; % of a string is printf formatting.
Value arithmetic(Heap& heap, Arithmetic op, const Value& a, const Value& b);
Value sign(const Value& a, bool negative);

// len(): fails for what has none.
int64_t length_of(const Value& value);
// The items in a sequence value; strings give characters, maps their keys; undefined gives none. Uses up
// generators.
Value items_of(Heap& heap, const Value& value);
bool is_iterable(const Value& value);

// value[index], with the sandbox's rules: keys and positions first, then attributes, else undefined.
Value get_item(Heap& heap, const Value& value, const Value& index);
// value.name: attributes and methods first, then the key. Names in double underscores are never reachable.
Value get_attribute(Heap& heap, const Value& value, std::string_view name);
// value[start:stop:step]; none for a bound that is not given.
Value get_slice(Heap& heap, const Value& value, const Value& start, const Value& stop, const Value& step);

// An undefined value that says where it came from; use of an undefined one fails with its message.
[[noreturn]] void fail_undefined(const Value& value);
void need_defined(const Value& value);

}  // namespace ft::jinja
