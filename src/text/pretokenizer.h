// Splits a text into the pieces that are merged one by one, by a row of pretokenizer_rules.h.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "text/pretokenizer_rules.h"

namespace ft {

// Compiled once, then read by any number of threads, each with a Splitter of its own.
class Pretokenizer {
 public:
    explicit Pretokenizer(const PretokenizerRule& rule);
    ~Pretokenizer();

 private:
    friend class Splitter;
    struct Step;
    std::vector<Step> steps_;
};

class Splitter {
 public:
    explicit Splitter(const Pretokenizer& pretokenizer);  // which must outlive it
    ~Splitter();

    // Calls piece(text) for each piece, from left to right; together they are the text, which is valid UTF-8.
    // Linear in the text for every rule.
    void split(std::string_view text, FunctionRef<void(std::string_view)> piece);

 private:
    struct Memory;
    void split_from(size_t step, std::string_view text, FunctionRef<void(std::string_view)> piece);
    size_t find(size_t step, std::string_view text, size_t from, size_t& end);

    const Pretokenizer& pretokenizer_;
    std::unique_ptr<Memory> memory_;
};

}  // namespace ft
