// What the program knows of its terminal, and how it leaves it behind.
#pragma once

namespace ft::cli {

// TERM says that escape sequences would be shown, not obeyed.
bool is_dumb_terminal();
// Whether text may be dimmed: not on a dumb terminal, and not where NO_COLOR asks for plain text.
bool may_style_text();

// While it lives, what is typed is not shown: it would break a line that changes. It waits for whoever reads
// next. Signals that end or stop the program, and Ctrl-C, give the terminal back. Nothing where the program
// does not own the terminal. Not at the same time as a TerminalGuard.
class SilentKeys {
 public:
    explicit SilentKeys(int input);
    SilentKeys(const SilentKeys&) = delete;
    SilentKeys& operator=(const SilentKeys&) = delete;
    ~SilentKeys();

 private:
    bool on_ = false;
};

// While a line is edited the terminal hands out single keys. A signal that ends or stops the program then
// first gives it back as it was; a continued program takes it again. One at a time, on the thread that reads.
class TerminalGuard {
 public:
    // The terminal's file descriptors of input and output; what it is like now is what is given back. Until
    // then one that can marks what is pasted: ESC [200~ text ESC [201~.
    TerminalGuard(int input, int output);
    TerminalGuard(const TerminalGuard&) = delete;
    TerminalGuard& operator=(const TerminalGuard&) = delete;
    ~TerminalGuard();

    // Before each wait for a key: the terminal is as the editor wants it.
    static void keys_are_read();
    // Whether the program was stopped and continued since the last take_continued(): the line has to be shown
    // again.
    static bool was_continued();
    static bool take_continued();
};

}  // namespace ft::cli
