// Values as text: what {{ }} prints (Python's str), how containers show their items (repr), and JSON.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace ft::jinja {

class Heap;

// str(value); fails for values that have no text of their own (functions, generators).
void append_text(Heap& heap, std::string& out, const Value& value);
std::string to_text(Heap& heap, const Value& value);
void append_repr(Heap& heap, std::string& out, const Value& value, int depth = 0);
std::string repr(Heap& heap, const Value& value);
// A string in Python's quotes.
std::string quoted(std::string_view text);

struct JsonForm {
    std::string indent;   // text of one level
    bool pretty = false;  // one item on a line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool ascii = false;  // \u escapes for everything else
    bool sort_keys = false;
};
std::string to_json(Heap& heap, const Value& value, const JsonForm& form);

// & < > ' " as HTML entities.
std::string escape_html(std::string_view text);

}  // namespace ft::jinja
