#include "base/printable.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(Printable, WritesOutWhatATerminalWouldObey) {
    EXPECT_EQ(printable("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
    EXPECT_EQ(printable("é专🙂\u200f"), "é专🙂\u200f");
    EXPECT_EQ(printable("\u009b31m \u0080 \u00a0"), "\\u009b31m \\u0080 \u00a0");  // ESC [ in one character
    EXPECT_EQ(printable("\x9b\x80 \xc2"), "\\x9b\\x80 \\xc2");                     // the same, no UTF-8
    EXPECT_EQ(printable("\u202etxt.exe\u2066\u2029"), "\\u202etxt.exe\\u2066\\u2029");
    EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");
    EXPECT_EQ(printable(std::string(300, 'x'), 10), "xxxxxxxxxx…");
}

TEST(Printable, LinesStayLines) {
    EXPECT_EQ(printable_lines("plain 用 🙂\n\ttext"), "plain 用 🙂\n\ttext");
    EXPECT_EQ(printable_lines("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
    EXPECT_EQ(printable_lines("a\r\nb\x7f\x9b"), "a\nb\\x7f\\x9b");
    EXPECT_EQ(printable_lines("\u009b31m \u00a9 \u202e"), "\\u009b31m \u00a9 \\u202e");
}

TEST(Printable, JsonStaysTheSameJson) {
    EXPECT_EQ(printable_json("{\"a\":\"\u0080\u202e\x7f \u00e9\"}\n"),
              "{\"a\":\"\\u0080\\u202e\\u007f \u00e9\"}\n");
}

}  // namespace
}  // namespace ft
