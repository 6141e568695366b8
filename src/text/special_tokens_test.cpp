#include "text/special_tokens.h"

#include <gtest/gtest.h>

#include <random>

namespace ft {
namespace {

SpecialTokens::Match found_naively(const std::vector<std::pair<std::string, int32_t>>& tokens,
                                   std::string_view text, size_t from) {
    for (size_t at = from; at < text.size(); ++at) {
        SpecialTokens::Match best;
        for (const auto& [token, id] : tokens)
            if (text.substr(at).starts_with(token) && token.size() > best.end - best.begin)
                best = {at, at + token.size(), id};
        if (best.id >= 0) return best;
    }
    return {};
}

TEST(SpecialTokens, LeftmostThenLongest) {
    const SpecialTokens tokens({{"<a>", 1}, {"<a><b>", 2}, {"b>", 3}, {"<a", 4}});
    const auto check = [&](std::string_view text, size_t begin, size_t end, int32_t id) {
        const auto m = tokens.find(text, 0);
        EXPECT_EQ(m.begin, begin) << text;
        EXPECT_EQ(m.end, end) << text;
        EXPECT_EQ(m.id, id) << text;
    };
    check("x<a><b>", 1, 7, 2);
    check("x<a><c>", 1, 4, 1);
    check("<ab>", 0, 2, 4);
    check("<<a", 1, 3, 4);
    check("<b", 0, 0, -1);
    EXPECT_TRUE(SpecialTokens().empty());
    EXPECT_EQ(SpecialTokens({{"", 5}}).find("abc", 0).id, -1);
}

TEST(SpecialTokens, AgreesWithTheDefinition) {
    std::mt19937 random(2);
    const auto word = [&](size_t most) {
        std::string s(1 + random() % most, 'a');
        for (char& c : s) c = "ab\xFF"[random() % 3];
        return s;
    };
    for (int round = 0; round < 500; ++round) {
        std::vector<std::pair<std::string, int32_t>> tokens;
        for (uint32_t i = 0; i < random() % 8; ++i) tokens.emplace_back(word(5), static_cast<int32_t>(i));
        const SpecialTokens special(tokens);
        const std::string text = word(30);
        for (size_t from = 0; from <= text.size(); ++from) {
            const auto want = found_naively(tokens, text, from), got = special.find(text, from);
            ASSERT_EQ(got.begin, want.begin) << text;
            ASSERT_EQ(got.end, want.end) << text;
            ASSERT_EQ(got.id, want.id) << text;
        }
    }
}

// Tokens that begin with one another, in a text that begins with all of them at every byte: a search that
// tried each at each byte would take 1024 * 1 M steps and more.
TEST(SpecialTokens, TokensThatBeginWithOneAnother) {
    std::vector<std::pair<std::string, int32_t>> tokens;
    for (int32_t n = 2; n <= 1024; ++n) tokens.emplace_back(std::string(static_cast<size_t>(n), 'a'), n);
    const SpecialTokens special(tokens);
    std::string text = std::string(300'000, 'a') + "b";
    size_t at = 0, found = 0;
    for (auto match = special.find(text, 0); match.id >= 0; match = special.find(text, at), ++found) {
        at = match.end;
        ASSERT_EQ(static_cast<int32_t>(match.end - match.begin), match.id);
    }
    EXPECT_EQ(found, 300'000 / 1024 + 1);
    EXPECT_EQ(at, text.size() - 1);
}

}  // namespace
}  // namespace ft
