#include "base/ascii.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(Ascii, OnlyItsLettersHaveACase) {
    EXPECT_EQ(ascii_lower("AZ az @[`{ 09 \xC3\x84"), "az az @[`{ 09 \xC3\x84");
    EXPECT_TRUE(same_in_any_case("Content-Type", "cONTENT-tYPE"));
    EXPECT_FALSE(same_in_any_case("\xC3\x84", "\xC3\xA4")) << "letters of other alphabets differ";
    EXPECT_FALSE(same_in_any_case("ab", "abc"));
    EXPECT_TRUE(begins_in_any_case("Bearer key", "bearer "));
    EXPECT_FALSE(begins_in_any_case("bear", "bearer "));
}

TEST(Ascii, EveryByteIsALetterADigitOrNeither) {
    int letters = 0, digits = 0, of_hex = 0;
    for (int byte = 0; byte < 256; byte++) {
        const char c = static_cast<char>(byte);
        letters += is_ascii_letter(c);
        digits += is_ascii_digit(c);
        of_hex += hex_digit(c) >= 0;
    }
    EXPECT_EQ(letters, 52);
    EXPECT_EQ(digits, 10);
    EXPECT_EQ(of_hex, 22);
    EXPECT_EQ(hex_digit('9'), 9);
    EXPECT_EQ(hex_digit('a'), 10);
    EXPECT_EQ(hex_digit('F'), 15);
}

}  // namespace
}  // namespace ft
