// What a rendering may spend, and where its values come from. One Heap per rendering; it outlives every value
// it made. Going over a limit throws Failure, which stays inside text.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace ft::jinja {

// A template, of either language, or an operation that fails. line is 0 until the statement that failed is
// known.
struct Failure : std::runtime_error {
    explicit Failure(const std::string& message, int at_line = 0)
        : std::runtime_error(message), line(at_line) {}
    int line;
};

// Limits of one rendering. They bound time and memory whatever the template says.
struct Limits {
    uint64_t nodes = 1'000'000;           // expressions, statements and loop turns evaluated
    uint64_t work_bytes = 512ULL << 20;   // bytes read or written by operations on strings and containers
    uint64_t memory_bytes = 48ULL << 20;  // values alive at one time, the context included
    uint64_t string_bytes = 16ULL << 20;  // one string, and the whole output
    int64_t range_items = 100'000;        // elements of one range()
    int macro_depth = 200;                // macros and recursive loops that call each other
    int eval_depth = 2'500;               // nested evaluations: keeps the thread's stack bounded
};

constexpr int k_max_nesting = 200;  // parser: nested brackets and blocks; values: nested lists and maps

class Heap {
 public:
    explicit Heap(const Limits& limits) : limits_(limits) {}
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;

    const Limits& limits() const { return limits_; }
    void step(uint64_t nodes = 1);                                 // counts evaluated nodes
    void work(uint64_t bytes);                                     // counts bytes touched
    void work_on_characters(uint64_t bytes) { work(16 * bytes); }  // where each is looked at by itself
    void check_string(uint64_t bytes);                             // before a string of that length is built
    void check_items(uint64_t count);  // before a list of that many values is built
    void charge(uint64_t bytes);       // counts bytes that stay alive until release()
    void release(uint64_t bytes) { alive_ -= bytes; }

    Value string(std::string text, bool markup = false);
    Value character(std::string_view code_point);  // one code point; ASCII ones are shared
    Value sequence(SequenceKind kind, std::vector<Value> items);
    Value list(std::vector<Value> items) { return sequence(SequenceKind::list, std::move(items)); }
    Value tuple(std::vector<Value> items) { return sequence(SequenceKind::tuple, std::move(items)); }
    Value map(
        std::vector<std::pair<Value, Value>> entries);  // a later entry of an equal key replaces the value
    Value undefined(std::string message);
    template <class T, class... Args>
    Value make(Kind kind, uint64_t bytes, Args&&... args) {
        charge(bytes);
        return adopt(kind, new T(std::forward<Args>(args)...), bytes);
    }

 private:
    Value adopt(Kind kind, Object* object, uint64_t bytes) {
        object->heap = this;
        object->charged = bytes;
        return Value(kind, object);
    }

    Limits limits_;
    uint64_t steps_ = 0;
    uint64_t worked_ = 0;
    uint64_t alive_ = 0;
};

}  // namespace ft::jinja
