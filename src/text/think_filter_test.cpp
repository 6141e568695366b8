#include "text/think_filter.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

// "[thinking]answer" for `text` cut into pieces of `step` bytes.
std::string split_in_steps(std::string_view text, size_t step, bool inside = false) {
    ThinkFilter filter(inside);
    std::string thinking, answer;
    const auto take = [&](const std::vector<Piece>& pieces) {
        for (const Piece& piece : pieces) (piece.thinking ? thinking : answer) += piece.text;
    };
    for (size_t at = 0; at < text.size(); at += step) take(filter.push(text.substr(at, step)));
    take(filter.finish());
    return "[" + thinking + "]" + answer;
}

TEST(ThinkFilter, TheSameForEveryCut) {
    for (size_t step = 1; step < 40; step++) {
        EXPECT_EQ(split_in_steps("<think>\nWell.\n</think>\n\nYes.", step), "[Well.\n]Yes.") << step;
        EXPECT_EQ(split_in_steps("\n<think></think>Yes.", step), "[]Yes.") << step;
        EXPECT_EQ(split_in_steps("Well.</think>Yes. </think>", step, true), "[Well.]Yes. </think>") << step;
        EXPECT_EQ(split_in_steps("  Plain <think>text</think>", step), "[]  Plain <think>text</think>")
            << step;
        EXPECT_EQ(split_in_steps("<thin", step), "[]<thin") << step;
        EXPECT_EQ(split_in_steps("<think>never </thi closed</thin", step), "[never </thi closed</thin]")
            << step;
        EXPECT_EQ(split_in_steps("", step), "[]") << step;
        EXPECT_EQ(split_in_steps(" \n", step), "[] \n") << step;
    }
}

TEST(ThinkFilter, TextThatIsNoTagIsNotHeldBack) {
    ThinkFilter filter(false);
    EXPECT_EQ(filter.push("A").size(), 1u);
    EXPECT_EQ(filter.push("<").front().text, "<");
}

TEST(ThinkFilter, KnowsPromptsThatOpenTheThinking) {
    EXPECT_TRUE(opens_thinking("<|im_start|>assistant\n<think>\n"));
    EXPECT_FALSE(opens_thinking("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
    EXPECT_FALSE(opens_thinking(""));
}

}  // namespace
}  // namespace ft
