#include "text/token_index.h"

#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "text/byte_alphabet.h"

namespace ft {
namespace {

StringList list_of(const std::vector<std::string>& texts) {
    Value value{ValueType::array, ValueType::string, texts.size(), {}};
    for (const std::string& text : texts) {
        char length[8];
        store(length, static_cast<uint64_t>(text.size()));
        value.bytes.append(length, 8).append(text);
    }
    return StringList(value);
}

TEST(TokenIndex, FindsTextsOfEveryLength) {
    std::vector<std::string> texts{""};
    for (size_t n = 1; n <= 100; ++n)
        for (const char last : {'a', 'b', '\0'}) texts.push_back(std::string(n - 1, 'x') + last);
    const StringList list = list_of(texts);
    ASSERT_EQ(list.size(), texts.size());
    TokenIndex index(list, list.size());
    for (size_t i = 0; i < texts.size(); ++i) index.add(static_cast<int32_t>(i));
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(index.find(texts[i]), static_cast<int32_t>(i));
    EXPECT_EQ(index.find("xxc"), -1);
    EXPECT_EQ(index.find(std::string(101, 'x')), -1);
}

TEST(TokenIndex, TheFirstOfEqualTextsStays) {
    const StringList list = list_of({"same", "same"});
    TokenIndex index(list, 2);
    index.add(0);
    index.add(1);
    EXPECT_EQ(index.find("same"), 0);
}

TEST(StringList, EndsWhereTheBytesEnd) {
    Value value{ValueType::array, ValueType::string, 3, {}};
    value.bytes = std::string("\1\0\0\0\0\0\0\0a\377\377\377\377\377\377\377\377b", 18);
    EXPECT_EQ(StringList(value).size(), 1u);
}

TEST(ByteAlphabet, EveryByteHasALetter) {
    std::set<char32_t> letters;
    for (int b = 0; b < 256; ++b) {
        const char32_t letter = letter_of_byte(static_cast<uint8_t>(b));
        EXPECT_EQ(byte_of_letter(letter), static_cast<uint8_t>(b));
        letters.insert(letter);
    }
    EXPECT_EQ(letters.size(), 256u);
    EXPECT_EQ(letter_of_byte(' '), U'\u0120');
    EXPECT_EQ(letter_of_byte('\n'), U'\u010A');
    EXPECT_EQ(byte_of_letter(U' '), std::nullopt);
    std::string bytes;
    append_bytes_of_letters(bytes, "\u0120a \u4F60");  // what is no letter stays
    EXPECT_EQ(bytes, " a \u4F60");
}

}  // namespace
}  // namespace ft
