#include "cli/answer_printer.h"

#include <gtest/gtest.h>

namespace ft::cli {
namespace {

constexpr const char* k_text = "<think>\nHm.</think>\n\nYes\x1b[1m.";

// What is written for k_text, fed in small pieces.
std::string written(const PrintStyle& style, std::string_view text = k_text) {
    std::string out;
    AnswerPrinter printer(style, false, [&](std::string_view part) {
        out += part;
        return true;
    });
    for (const char c : text) EXPECT_TRUE(printer.push(std::string_view(&c, 1)));
    EXPECT_TRUE(printer.finish());
    if (style.split && text == k_text) {
        EXPECT_EQ(printer.text(), "Yes\x1b[1m.");
        EXPECT_EQ(printer.thinking(), "Hm.");
    }
    return out;
}

TEST(AnswerPrinter, ATerminalGetsDimmedThinkingAndNoControlCharactersOfTheModel) {
    EXPECT_EQ(written({.terminal = true, .dim = true}), "\x1b[2mHm.\x1b[0m\n\nYes\\x1b[1m.\n");
    EXPECT_EQ(written({.terminal = true}), "Hm.\n\nYes\\x1b[1m.\n");  // NO_COLOR
    EXPECT_EQ(written({.terminal = true, .show_thinking = false}), "Yes\\x1b[1m.\n");
    EXPECT_EQ(written({.terminal = true, .dim = true}, "<think>Hm"), "\x1b[2mHm\x1b[0m\n");
}

TEST(AnswerPrinter, APipeGetsTheTextAsItIs) {
    EXPECT_EQ(written({.show_thinking = false}), "Yes\x1b[1m.\n");
    EXPECT_EQ(written({.show_thinking = true}), "Hm.\n\nYes\x1b[1m.\n");
    EXPECT_EQ(written({.split = false, .end_line = false}), k_text);
    EXPECT_EQ(written({}, "ends\n"), "ends\n");
    EXPECT_EQ(written({}, ""), "");
    EXPECT_EQ(written({.stream = false}), "");
}

TEST(AnswerPrinter, SaysWhenNobodyReads) {
    AnswerPrinter printer({}, false, [](std::string_view) { return false; });
    EXPECT_FALSE(printer.push("text"));
    EXPECT_FALSE(printer.finish());
}

}  // namespace
}  // namespace ft::cli
