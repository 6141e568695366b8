#include "base/utf8.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        if (code >= 0xD800 && code < 0xE000) continue;
        std::string text;
        append_utf8(text, code);
        const Utf8Char c = utf8_at(text, 0);
        ASSERT_TRUE(c.valid) << static_cast<uint32_t>(code);
        ASSERT_EQ(c.code, code);
        ASSERT_EQ(static_cast<size_t>(c.size), text.size());
        ASSERT_EQ(utf8_size(text[0]), c.size);
    }
}

TEST(Utf8, IllFormedPartsAreMaximal) {
    const std::string r(k_replacement_utf8);
    EXPECT_EQ(mend_utf8("A\xC3("), "A" + r + "(");
    EXPECT_EQ(mend_utf8("\xE4\xBD"), r);  // a cut character is one part
    EXPECT_EQ(mend_utf8("\xF0\x9F\x98"
                        "b"),
              r + "b");
    EXPECT_EQ(mend_utf8("\xC0\xAF"), r + r);                  // overlong
    EXPECT_EQ(mend_utf8("\xED\xA0\x80"), r + r + r);          // a surrogate
    EXPECT_EQ(mend_utf8("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
    EXPECT_EQ(mend_utf8("\xE4\xE4\xBD\xA0"), r + "\xE4\xBD\xA0");
    EXPECT_EQ(mend_utf8("plain text, 16 and more"), "plain text, 16 and more");
}

TEST(Utf8, KnowsWhatMoreBytesCouldComplete) {
    EXPECT_TRUE(utf8_at("\xE4\xBD", 0).cut);
    EXPECT_TRUE(utf8_at("\xF0", 0).cut);
    EXPECT_FALSE(utf8_at("\xE0\x80", 0).cut);
    EXPECT_FALSE(utf8_at("\xFF", 0).cut);
    EXPECT_FALSE(utf8_at("a", 0).cut);
}

TEST(Utf8, ValidityAtEveryOffsetOfALongText) {
    for (size_t at = 0; at < 24; ++at) {
        std::string text(24, 'x');
        EXPECT_TRUE(is_utf8(text));
        text[at] = '\x80';
        EXPECT_FALSE(is_utf8(text)) << at;
    }
}

}  // namespace
}  // namespace ft
