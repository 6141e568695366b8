#include "text/tokens_with.h"

#include <gtest/gtest.h>

#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

TEST(TokensWith, HoldOneOfTheTexts) {
    TestVocabulary v = byte_vocabulary();
    const int32_t th = v.merge("t", "h"), the = v.merge("th", "e"),
                  turn = v.add("<|turn|>", TokenType::control);
    const auto tokenizer = load_byte_bpe(v, "gpt-2");
    ASSERT_TRUE(tokenizer);
    const auto with = [&](std::vector<std::string> texts) { return tokens_with(**tokenizer, texts); };
    EXPECT_EQ(with({"h"}), (std::vector<int32_t>{'h', th, the}));
    EXPECT_EQ(with({"h", "\n"}), (std::vector<int32_t>{'\n', 'h', th, the}));
    EXPECT_EQ(with({"<|turn|>"}), (std::vector<int32_t>{turn}));
    EXPECT_EQ(with({"xthe"}), (std::vector<int32_t>{the}));  // in no token: where it ends
    EXPECT_TRUE(with({""}).empty());
    EXPECT_TRUE(with({}).empty());
}

}  // namespace
}  // namespace ft
