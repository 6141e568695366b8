#include "text/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "base/utf8.h"

namespace ft {
namespace {

using ::testing::ElementsAre;
using Pieces = std::vector<std::string>;

Pieces split_by(const PretokenizerRule& rule, std::string_view text) {
    const Pretokenizer pretokenizer(rule);
    Pieces pieces;
    Splitter(pretokenizer).split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
}

Pieces split(std::string_view name, std::string_view text) {
    const PretokenizerRule* rule = find_pretokenizer(name);
    if (rule == nullptr) return {"no such rule"};
    return split_by(*rule, text);
}

TEST(Pretokenizer, DigitsTellTheRulesApart) {
    const std::string n = "1234567";
    for (const char* name : {"llama-bpe", "glm4", "gpt-4o", "deepseek-v3", "kimi-k2", "minicpm5"})
        EXPECT_THAT(split(name, n), ElementsAre("123", "456", "7")) << name;
    for (const char* name : {"qwen2", "qwen35", "tekken", "starcoder", "deepseek-llm", "deepseek-coder",
                             "bailingmoe", "seed-coder", "exaone-moe", "laguna", "youtu", "viking"})
        EXPECT_THAT(split(name, n), ElementsAre("1", "2", "3", "4", "5", "6", "7")) << name;
    EXPECT_THAT(split("gpt-2", n), ElementsAre("1234567"));
    for (const char* name : {"tiny_aya", "afmoe"})
        EXPECT_THAT(split(name, n), ElementsAre("1", "234", "567")) << name;
    for (const char* name : {"falcon", "default"})
        EXPECT_THAT(split(name, n), ElementsAre("123", "456", "7")) << name;
}

TEST(Pretokenizer, WordsSpacesAndLines) {
    EXPECT_THAT(split("qwen2", "It's  5 o'clock!\n\n  ok"),
                ElementsAre("It", "'s", " ", " ", "5", " o", "'clock", "!\n\n", " ", " ok"));
    EXPECT_THAT(split("gpt-2", "IT'S it's"), ElementsAre("IT", "'", "S", " it", "'s"));
    EXPECT_THAT(split("llama-bpe", "IT'S"), ElementsAre("IT", "'S"));
    EXPECT_THAT(split("llama-bpe", "x'\u017F"), ElementsAre("x", "'\u017F"));  // long s folds to s
    EXPECT_THAT(split("gpt-4o", "HelloWorld's a/b"), ElementsAre("Hello", "World's", " a", "/b"));
    EXPECT_THAT(split("tekken", "HelloWorld's"), ElementsAre("Hello", "World", "'s"));
}

TEST(Pretokenizer, OnlyWhiteSpaceIsSpace) {
    EXPECT_THAT(split("qwen2", "a\u180E\u180Eb"),
                ElementsAre("a", "\u180E\u180E", "b"));  // no White_Space since 2013
    EXPECT_THAT(split("qwen2", "a\u3000\u3000b"), ElementsAre("a", "\u3000", "\u3000b"));
}

TEST(Pretokenizer, HanOfKimi) {
    EXPECT_THAT(split("kimi-k2", "a\u4F60\u597Db\u3002"), ElementsAre("a", "\u4F60\u597D", "b", "\u3002"));
    EXPECT_THAT(split("kimi-k2", "HelloWorld\u4F60's"), ElementsAre("Hello", "World", "\u4F60", "'s"));
}

TEST(Pretokenizer, DigitGroupsEndAtAWord) {
    EXPECT_THAT(split("tiny_aya", "12345 6789"), ElementsAre("12", "345", " ", "6", "789"));
    EXPECT_THAT(split("tiny_aya", "12345a"), ElementsAre("123", "45", "a"));  // no \b: the second step splits
    EXPECT_THAT(split("tiny_aya", "12345_"), ElementsAre("123", "45", "_"));
    EXPECT_THAT(split("afmoe", "12345a"), ElementsAre("12", "345", "a"));
}

TEST(Pretokenizer, ScriptsOfTheRulesWithoutRecordedCases) {
    EXPECT_THAT(split("youtu", "\uAC00\uAC01\u4E00\uFF0C\u3105"),
                ElementsAre("\uAC00\uAC01", "\u4E00", "\uFF0C", "\u3105"));
    EXPECT_THAT(split("afmoe", "ab\u0E40\u0E41\u4E00!"), ElementsAre("ab", "\u0E40\u0E41\u4E00", "!"));
    EXPECT_THAT(split("exaone-moe", "a b cd, e"), ElementsAre("a b cd", ",", " e"));
    EXPECT_THAT(split("viking", "ab, cd"), ElementsAre("ab", ",", " cd"));
    EXPECT_THAT(split("bloom", "ab 12."), ElementsAre("ab", " 12", "."));
    EXPECT_THAT(split("laguna", "a\n\n b"), ElementsAre("a", "\n\n", " b"));
    EXPECT_THAT(split("falcon", "a`b $5"), ElementsAre("a", "`", "b", " ", "$", "5"));
    EXPECT_THAT(split("default", "a`b $5"), ElementsAre("a", "`", "b", " ", "$", "5"));
    EXPECT_THAT(split("deepseek-coder", "ab, c1"), ElementsAre("ab", ",", " c", "1"));
    EXPECT_THAT(split("minicpm5", "ab's\n"), ElementsAre("ab", "'s", "\n"));
}

TEST(Pretokenizer, EveryNameIsOfOneRule) {
    std::set<std::string> names;
    for (const PretokenizerRule& rule : pretokenizer_rules()) {
        std::istringstream list(rule.names);
        for (std::string name; list >> name;) {
            EXPECT_TRUE(names.insert(name).second) << name;
            EXPECT_EQ(find_pretokenizer(name), &rule) << name;
        }
    }
    EXPECT_EQ(find_pretokenizer("unheard-of"), nullptr);
    EXPECT_EQ(find_pretokenizer(""), nullptr);
    EXPECT_EQ(find_pretokenizer("qwen2 qwen35"), nullptr);
}

TEST(Pretokenizer, PiecesAreTheWholeText) {
    std::mt19937 random(4);
    const std::u32string some =
        U" \n\r\tab'sAB12,.\u00E9\u0301\u4F60\u3002\uAC00\u0E01_$\u00BD\U0001F642\u00A0\u01C5";
    for (const PretokenizerRule& rule : pretokenizer_rules())
        for (int round = 0; round < 20; ++round) {
            std::string text;
            for (uint32_t i = 0; i < random() % 60; ++i) append_utf8(text, some[random() % some.size()]);
            std::string together;
            for (const std::string& piece : split_by(rule, text)) {
                EXPECT_FALSE(piece.empty());
                together += piece;
            }
            ASSERT_EQ(together, text) << rule.names;
        }
}

// A search that is quadratic in any of these takes minutes here.
TEST(Pretokenizer, LongRunsAreLinear) {
    const size_t n = 200'000;
    const auto times = [&](const char* text) {
        std::string s;
        while (s.size() < n) s += text;
        return s;
    };
    const std::string texts[] = {
        times("a"),       times("A"),  times("7"),     times("7") + "a", times(" "), times(" ") + "\u4F60",
        times(" ") + "a", times("\n"), times(" \n"),   times("a "),      times("'"), times("\u4F60"),
        times("a\u0301"), times("."),  times("\u01C5")};
    for (const PretokenizerRule& rule : pretokenizer_rules())
        for (const std::string& text : texts) {
            size_t size = 0;
            for (const std::string& piece : split_by(rule, text)) size += piece.size();
            ASSERT_EQ(size, text.size()) << rule.names;
        }
}

}  // namespace
}  // namespace ft
