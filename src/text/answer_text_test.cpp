#include "text/answer_text.h"

#include <gtest/gtest.h>

#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

// A token for each byte.
std::string shown_answer(const std::vector<std::string>& stops, std::string_view bytes) {
    const auto tokenizer = load_byte_bpe(byte_vocabulary(), "gpt-2");
    EXPECT_TRUE(tokenizer);
    AnswerText text(**tokenizer, false, stops);
    std::string out;
    for (const char byte : bytes) {
        out += text.push(static_cast<unsigned char>(byte));
        if (text.stopped()) return out + "|" + text.stop_text();
    }
    out += text.finish();
    return text.stopped() ? out + "|" + text.stop_text() : out;
}

TEST(AnswerText, StopTextsAreFoundAcrossTokensAndCharacters) {
    EXPECT_EQ(shown_answer({"\u505C\u6B62"}, "a\u505C\u505C\u6B62b"), "a\u505C|\u505C\u6B62");
    EXPECT_EQ(shown_answer({"END"}, "to the EN"), "to the EN");
    EXPECT_EQ(shown_answer({"END"}, "to the ENDS"), "to the |END");
    EXPECT_EQ(shown_answer({}, "a\xE4\xBD"), "a\uFFFD");
    EXPECT_EQ(shown_answer({"\uFFFD"}, "a\xE4\xBD"), "a|\uFFFD");  // only the end completes it
}

}  // namespace
}  // namespace ft
