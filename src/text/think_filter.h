// Splits a reasoning model's text into its thinking, <think> … </think> at the beginning, and its answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ft {

struct Piece {
    bool thinking;
    std::string text;
};

class ThinkFilter {
 public:
    // inside: the prompt has opened the thinking already, the text begins in the middle of it.
    explicit ThinkFilter(bool inside) : state_(inside ? State::opened : State::before) {}

    // Text in any cuts. A tag that may still be completed waits; the tags themselves, and the blank lines
    // after them, are left out. <think> later than at the beginning is text.
    std::vector<Piece> push(std::string_view text);
    std::vector<Piece> finish();

 private:
    enum class State { before, opened, thinking, after_thinking, answer };
    void advance(std::vector<Piece>& out, bool at_end);

    State state_;
    std::string waiting_;
};

// Whether a rendered prompt ends inside an open <think>.
bool opens_thinking(std::string_view prompt);
// Whether it ends behind </think>.
bool closes_thinking(std::string_view prompt);

}  // namespace ft
