#include "text/text_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

std::unique_ptr<Tokenizer> bytes_only() {
    auto tokenizer = load_byte_bpe(byte_vocabulary(), "gpt-2");
    EXPECT_TRUE(tokenizer);
    return std::move(*tokenizer);
}

TEST(TextStream, HoldsHalfCharactersBack) {
    const auto tokenizer = bytes_only();
    TextStream stream(*tokenizer, true);
    EXPECT_EQ(stream.push('a'), "a");
    EXPECT_EQ(stream.push(0xE4), "");
    EXPECT_EQ(stream.push(0xBD), "");
    EXPECT_EQ(stream.push(0xA0), "\u4F60");
    EXPECT_EQ(stream.push(0xF0), "");
    EXPECT_EQ(stream.push('b'),
              "\uFFFD"
              "b");  // cannot complete any more
    EXPECT_EQ(stream.push(0xFF), "\uFFFD");
    EXPECT_EQ(stream.push(0xC3), "");
    EXPECT_EQ(stream.finish(), "\uFFFD");
    EXPECT_EQ(stream.push('c'), "c");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, GivesTheMendedWholeFromAnyBytes) {
    const auto tokenizer = bytes_only();
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        std::vector<int32_t> ids(random() % 12);
        const int some[] = {'a', 0xE4, 0xBD, 0xA0, 0xF0, 0x9F, 0x98, 0x80, 0xC3, 0xFF, 0xED};
        for (int32_t& id : ids) id = some[random() % std::size(some)];
        TextStream stream(*tokenizer, true);
        std::string text;
        for (const int32_t id : ids) {
            const std::string piece = stream.push(id);
            ASSERT_TRUE(is_utf8(piece));
            text += piece;
        }
        ASSERT_EQ(text + stream.finish(), mend_utf8(tokenizer->decode(ids)));
    }
}

TEST(TextStream, LeavesOutTheLeadingBlankOnce) {
    TestVocabulary v = sentencepiece_vocabulary();
    const int32_t word = v.add("\u2581hi");
    auto tokenizer = load_tokenizer(v.writer());
    ASSERT_TRUE(tokenizer);
    TextStream stream(**tokenizer, false);
    EXPECT_EQ(stream.push(1), "");  // <s> is hidden
    EXPECT_EQ(stream.push(word), "hi");
    EXPECT_EQ(stream.push(word), " hi");
    TextStream shown(**tokenizer, true);
    EXPECT_EQ(shown.push(1), "<s>");
    EXPECT_EQ(shown.push(word), " hi");
}

}  // namespace
}  // namespace ft
