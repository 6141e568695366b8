#include "cli/terminal_text.h"

#include <gtest/gtest.h>

namespace ft::cli {
namespace {

TEST(TerminalText, ShowsWhatWouldSteerTheTerminal) {
    EXPECT_EQ(terminal_text("plain 用 🙂\n\ttext"), "plain 用 🙂\n\ttext");
    EXPECT_EQ(terminal_text("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
    EXPECT_EQ(terminal_text("a\r\nb\x7f"), "a\nb\\x7f");
    EXPECT_EQ(terminal_text("\xc2\x9b"
                            "31m \xc2\xa9"),
              "\\x9b31m \xc2\xa9");  // the 8-bit form of ESC [
}

}  // namespace
}  // namespace ft::cli
