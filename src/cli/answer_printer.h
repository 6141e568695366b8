// An answer on its way to the reader: as it comes, or kept for --json; the thinking part dimmed, plain or
// left out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/think_filter.h"

namespace ft::cli {

// What is said of an answer's speed, on stderr.
enum class Figures {
    none,
    line,  // one line after it
    live,  // one that changes while it comes too, and afterwards the experts by tier
};

struct PrintStyle {
    bool stream = true;     // false: only kept
    bool terminal = false;  // the text's own control characters are made visible
    bool dim = false;       // the thinking part is dimmed by escape sequences
    bool split = true;      // false (--raw): the text as it is, with no thinking part
    bool show_thinking = true;
    bool end_line = true;  // the answer ends with a newline
    Figures figures = Figures::line;
};

class AnswerPrinter {
 public:
    using Write = std::function<bool(std::string_view)>;  // false: nobody reads any more

    AnswerPrinter(PrintStyle style, bool inside_thinking, Write write)
        : style_(style), filter_(inside_thinking), write_(std::move(write)) {}

    // Whole characters. False: nobody reads any more.
    bool push(std::string_view text);
    bool finish();

    const std::string& text() const { return text_; }  // without the thinking part
    const std::string& thinking() const { return thinking_; }

 private:
    bool show(const Piece& piece);
    bool set_dim(bool dim);

    PrintStyle style_;
    ThinkFilter filter_;
    Write write_;
    std::string text_, thinking_;
    bool dim_ = false;
    bool thinking_shown_ = false;
};

}  // namespace ft::cli
