// Values of Go templates. Texts and JSON that they refer to belong to the source, the data or the Run, all of
// which outlive them.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/heap.h"
#include "text/jinja/strftime.h"

namespace ft::go {

using Json = nlohmann::ordered_json;

// missing: what a map does not hold; it is false, and printed as Go does: <no value>.
enum class Kind : uint8_t { missing, nil, boolean, integer, real, text, list, map };

// What JSON is to a template: which fields it has, and how it is printed.
enum class Type : uint8_t {
    any,
    root,
    messages,
    message,
    calls,
    call,
    called,
    arguments,
    tools,
    tool,
    function,
    parameters,
    properties,
    property,
    alternatives
};

struct Value {
    Kind kind = Kind::missing;
    Type type = Type::any;  // of a list or map
    int64_t integer = 0;    // boolean, integer
    double real = 0;
    std::string_view text = {};
    const Json* json = nullptr;  // of a list or map
    size_t begin = 0, end = 0;   // of a list: the part of it

    static Value boolean(bool b) { return {.kind = Kind::boolean, .integer = b}; }
    static Value number(int64_t i) { return {.kind = Kind::integer, .integer = i}; }
    static Value of_text(std::string_view t) { return {.kind = Kind::text, .text = t}; }
};

// What one rendering may spend, and the texts it makes.
class Run {
 public:
    Run(const jinja::Limits& limits, const std::optional<jinja::LocalTime>& now) : heap_(limits), now_(now) {}

    jinja::Heap& heap() { return heap_; }
    Value text(std::string text);  // which counts as memory until the end
    jinja::LocalTime now() const { return now_ ? *now_ : jinja::local_time_now(); }

 private:
    jinja::Heap heap_;
    std::optional<jinja::LocalTime> now_;
    std::deque<std::string> texts_;
};

// Numbers of JSON are reals, as in Go.
Value value_of(const Json& json, Type type = Type::any);

// All that follow fail (jinja::Failure) where Go does.
Value field_of(Run& run, const Value& value, std::string_view name);
bool truth(const Value& value);
int64_t length_of(const Value& value);
Value item_of(const Value& list, size_t i);  // i < its length
// Of a map, in the order of the keys.
std::vector<std::pair<std::string_view, Value>> entries_of(Run& run, const Value& map);
// The entry of a map; missing where it has none.
Value entry_of(Run& run, const Value& map, std::string_view key);

// As {{ }}, print and %v write it: tools, functions, their parameters and arguments as JSON; other maps and
// lists as Go does. Messages and calls have no text worth having: they fail.
void append_value(Run& run, std::string& out, const Value& value);
// As the function json writes it: no blanks, the keys of maps sorted, & < > escaped.
void append_json(Run& run, std::string& out, const Value& value);

// "a message", for errors.
std::string_view kind_name(const Value& value);

}  // namespace ft::go
