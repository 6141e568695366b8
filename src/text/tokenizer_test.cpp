#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "base/utf8.h"
#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Options = Tokenizer::EncodeOptions;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> loaded(Expected<std::unique_ptr<Tokenizer>> tokenizer) {
    EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().sentence());
    return tokenizer ? std::move(*tokenizer) : nullptr;
}

// "the cat": merges in this order.
TestVocabulary small_bpe() {
    TestVocabulary v = byte_vocabulary();
    v.merge("t", "h");
    v.merge("th", "e");
    v.merge("c", "a");
    v.merge("ca", "t");
    v.merge(" ", "cat");
    return v;
}

TEST(Tokenizer, MergesByRank) {
    const auto t = loaded(load_byte_bpe(small_bpe(), "gpt-2"));
    EXPECT_THAT(t->encode("the cat"), ElementsAre(257, 260));
    EXPECT_THAT(t->encode("cats"), ElementsAre(259, 's'));
    EXPECT_THAT(t->encode("tth"), ElementsAre('t', 256));
    EXPECT_THAT(t->encode(""), IsEmpty());
    EXPECT_EQ(t->decode(Ids{257, 260}), "the cat");
    EXPECT_EQ(t->token_text(260), "\u0120cat");
    EXPECT_EQ(t->token_text(-1), "");
    EXPECT_EQ(t->vocab_size(), 261);
    EXPECT_EQ(t->model_name(), "gpt2");
    EXPECT_EQ(t->pre_name(), "gpt-2");
    EXPECT_EQ(t->bos_id(), -1);
}

TEST(Tokenizer, APieceThatIsATokenNeedsNoMerges) {
    TestVocabulary v = byte_vocabulary();
    const int32_t word = v.add("word");  // no merge makes it
    EXPECT_THAT(loaded(load_byte_bpe(v, "llama-bpe"))->encode("word"), ElementsAre(word));
    EXPECT_THAT(loaded(load_byte_bpe(v, "dbrx"))->encode("word"), ElementsAre('w', 'o', 'r', 'd'));
}

TEST(Tokenizer, AnyTextComesBack) {
    const auto t = loaded(load_byte_bpe(small_bpe(), "qwen35"));
    std::mt19937 random(6);
    for (int round = 0; round < 500; ++round) {
        std::string text(random() % 200, ' ');
        for (char& c : text) c = "the cat 12\n\xE4\xBD\xA0\xFF"[random() % 15];
        ASSERT_EQ(t->decode(t->encode(text)), mend_utf8(text));
    }
}

TEST(Tokenizer, IllFormedUtf8IsReplaced) {
    const auto t = loaded(load_byte_bpe(small_bpe(), "gpt-2"));
    EXPECT_EQ(t->decode(t->encode("a\xF4\x90\x80\x80")), "a\uFFFD\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(t->decode(t->encode("\xE4\xBD")), "\uFFFD");
}

TEST(Tokenizer, QwenComposesFirst) {
    const auto qwen = loaded(load_byte_bpe(byte_vocabulary(), "qwen2"));
    EXPECT_EQ(qwen->decode(qwen->encode("e\u0301")), "\u00E9");
    const auto llama = loaded(load_byte_bpe(byte_vocabulary(), "llama-bpe"));
    EXPECT_EQ(llama->decode(llama->encode("e\u0301")), "e\u0301");
}

TEST(Tokenizer, SpecialTokensByType) {
    TestVocabulary v = small_bpe();
    const int32_t control = v.add("<|im_start|>", TokenType::control);
    const int32_t user = v.add("<think>", TokenType::user_defined);
    const int32_t unused = v.add("[PAD1]", TokenType::unused);
    const auto t = loaded(load_byte_bpe(v, "gpt-2"));
    EXPECT_THAT(t->encode("the<|im_start|>the", Options{.special = true}), ElementsAre(257, control, 257));
    EXPECT_EQ(t->encode("<|im_start|>").size(), 12u);
    EXPECT_THAT(t->encode("the<think>the"), ElementsAre(257, user, 257));
    EXPECT_EQ(t->encode("[PAD1]", Options{.special = true}).size(), 6u);
    const Ids ids{control, 257, user, unused};
    EXPECT_EQ(t->decode(ids), "<|im_start|>the<think>");
    EXPECT_EQ(t->decode(ids, false), "the<think>");
    EXPECT_EQ(t->decode(Ids{-5, 257, 100000}), "the");
}

TEST(Tokenizer, BosAndEosByTheRule) {
    TestVocabulary v = small_bpe();
    const int32_t bos = v.add("<s>", TokenType::control), eos = v.add("</s>", TokenType::control);
    const auto with = [&](const char* pre, bool say, bool add_bos, bool add_eos) {
        GgufWriter w = v.writer();
        w.add("tokenizer.ggml.pre", pre);
        w.add("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(bos));
        w.add("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(eos));
        if (say) {
            w.add("tokenizer.ggml.add_bos_token", add_bos);
            w.add("tokenizer.ggml.add_eos_token", add_eos);
        }
        return loaded(load_tokenizer(w));
    };
    const Options add{.add_special = true};
    EXPECT_THAT(with("gpt-2", true, true, true)->encode("the", add), ElementsAre(bos, 257, eos));
    EXPECT_THAT(with("gpt-2", true, true, true)->encode("the"), ElementsAre(257));
    EXPECT_THAT(with("gpt-2", false, false, false)->encode("the", add), ElementsAre(257));
    EXPECT_THAT(with("llama-bpe", false, false, false)->encode("the", add), ElementsAre(bos, 257));
    EXPECT_THAT(with("tekken", true, false, false)->encode("the", add), ElementsAre(257));
    EXPECT_TRUE(with("tekken", false, false, false)->adds_bos());
    EXPECT_EQ(with("tekken", false, false, false)->eos_id(), eos);
}

TEST(Tokenizer, EndOfGenerationIsASet) {
    TestVocabulary v = small_bpe();
    const int32_t ordinary = v.add("</s>");
    const int32_t im_end = v.add("<|im_end|>", TokenType::control);
    const int32_t text_end = v.add("<|endoftext|>", TokenType::control);
    const int32_t end = v.add("<|end|>", TokenType::control);
    const int32_t eot = v.add("<my_eot>", TokenType::control);
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.pre", "qwen2");
    w.add("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(im_end));
    w.add("tokenizer.ggml.eot_token_id", static_cast<uint32_t>(eot));
    const auto t = loaded(load_tokenizer(w));
    EXPECT_THAT(Ids(t->end_ids().begin(), t->end_ids().end()), ElementsAre(im_end, text_end, end, eot));
    EXPECT_FALSE(t->is_end(ordinary));
    EXPECT_TRUE(t->is_end(end));

    const int32_t ret = v.add("<|return|>", TokenType::control);
    const int32_t call = v.add("<|call|>", TokenType::control);
    const auto harmony = loaded(load_byte_bpe(v, "gpt-4o"));
    EXPECT_THAT(Ids(harmony->end_ids().begin(), harmony->end_ids().end()),
                ElementsAre(im_end, text_end, ret, call));
}

TEST(Tokenizer, SentencePieceMergesByScore) {
    TestVocabulary v = sentencepiece_vocabulary();
    for (const char* letter : {"\u2581", "h", "e", "l", "o"}) v.add(letter, TokenType::normal, -10);
    const int32_t he = v.add("he", TokenType::normal, -1);
    const int32_t ll = v.add("ll", TokenType::normal, -3);
    const int32_t el = v.add("el", TokenType::normal, -2);
    const int32_t blank_he = v.add("\u2581he", TokenType::normal, -4);
    const auto t = loaded(load_tokenizer(v.writer()));
    EXPECT_THAT(t->encode("hello"), ElementsAre(blank_he, ll, v.id("o")));
    EXPECT_THAT(t->encode("el"), ElementsAre(v.id("\u2581"), el));
    EXPECT_THAT(t->encode("\u4F60"), ElementsAre(v.id("\u2581"), 3 + 0xE4, 3 + 0xBD, 3 + 0xA0));
    EXPECT_THAT(t->encode("", Options{.add_special = true}), ElementsAre(1));
    EXPECT_THAT(t->encode("<s>he", Options{.special = true}), ElementsAre(1, blank_he));
    EXPECT_EQ(t->decode(Ids{blank_he, he, 3 + '\n'}), "hehe\n");
    EXPECT_EQ(t->decode(Ids{1, blank_he}), "<s> he");
    EXPECT_EQ(t->decode(Ids{1, blank_he}, false), "he");
    EXPECT_TRUE(t->is_end(2));
    // A byte token's name is text like any other.
    EXPECT_EQ(t->decode(t->encode("<0x0A>")), "<0x0A>");
}

TEST(Tokenizer, SentencePieceCutsOnlyWhereNothingJoins) {
    // A token across a blank: the text must not be cut there.
    TestVocabulary v = sentencepiece_vocabulary();
    for (const char* letter : {"\u2581", "a", "b"}) v.add(letter, TokenType::normal, -10);
    v.add("a\u2581", TokenType::normal, -2);
    const int32_t both = v.add("a\u2581b", TokenType::normal, -1);
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.add_space_prefix", false);
    const auto t = loaded(load_tokenizer(w));
    EXPECT_THAT(t->encode("a bb a b"), ElementsAre(both, v.id("b"), v.id("\u2581"), both));
    EXPECT_EQ(t->decode(t->encode(" a b")), " a b");
}

TEST(Tokenizer, GemmaTakesRunsOfLines) {
    TestVocabulary v = sentencepiece_vocabulary();
    v.model = "gemma4";
    for (const char* letter : {"\u2581", "a", "\n"}) v.add(letter);
    const int32_t lines = v.add("\n\n\n");
    const int32_t word = v.add("\u2581a");
    v.merges = {"\u2581 a"};
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.bos_token_id", uint32_t{1});
    w.add("tokenizer.ggml.add_bos_token", false);
    const auto t = loaded(load_tokenizer(w));
    EXPECT_THAT(t->encode("a a\n\n\n a\n", Options{.add_special = true}),
                ElementsAre(1, v.id("a"), word, lines, word, v.id("\n")));
    EXPECT_THAT(t->encode("\u00E9"), ElementsAre(3 + 0xC3, 3 + 0xA9));
    EXPECT_EQ(t->decode(Ids{word, lines}), " a\n\n\n");
}

TEST(Tokenizer, ManyThreadsMayEncode) {
    const auto t = loaded(load_byte_bpe(small_bpe(), "gpt-2"));
    std::vector<std::thread> threads;
    std::vector<Ids> results(4);
    for (Ids& result : results) threads.emplace_back([&] { result = t->encode("the cat the cat"); });
    for (std::thread& thread : threads) thread.join();
    for (const Ids& result : results) EXPECT_EQ(result, results[0]);
    EXPECT_EQ(results[0].size(), 5u);
}

std::string refusal(const GgufWriter& w) {
    const auto tokenizer = load_tokenizer(w);
    return tokenizer ? "loaded" : tokenizer.error().sentence();
}

TEST(Tokenizer, RefusesByNameAndKey) {
    GgufWriter none;
    none.add("general.architecture", "none");
    EXPECT_THAT(refusal(none), HasSubstr("no vocabulary (no tokenizer.ggml.model)"));

    TestVocabulary v = small_bpe();
    v.model = "unheard";
    EXPECT_THAT(refusal(v.writer()), HasSubstr("\"unheard\" is not supported"));
    v.model = "gpt2";
    GgufWriter pre = v.writer();
    pre.add("tokenizer.ggml.pre", "unheard-pre");
    EXPECT_THAT(refusal(pre), HasSubstr("unheard-pre"));

    GgufWriter bos = v.writer();
    bos.add("tokenizer.ggml.bos_token_id", uint32_t{1} << 30);
    EXPECT_THAT(refusal(bos), HasSubstr("tokenizer.ggml.bos_token_id is 1073741824"));
    GgufWriter eos = v.writer();
    eos.add("tokenizer.ggml.eos_token_id", int32_t{-1});
    EXPECT_THAT(refusal(eos), HasSubstr("tokenizer.ggml.eos_token_id"));

    v.merges.push_back("oneword");
    EXPECT_THAT(refusal(v.writer()), HasSubstr("tokenizer.ggml.merges[5] is \"oneword\""));
}

TEST(Tokenizer, RefusalsNameTheFileOnceAndEndInAFullStop) {
    TestVocabulary v = small_bpe();
    v.model = "llama";
    v.scores.clear();
    GgufWriter no_scores;
    no_scores.add("tokenizer.ggml.model", "llama");
    no_scores.add_array("tokenizer.ggml.tokens", std::span<const std::string>(v.tokens));
    GgufWriter none, unheard, pre;
    none.add("general.architecture", "none");
    unheard.add("tokenizer.ggml.model", "unheard");
    pre.add("tokenizer.ggml.model", "gpt2");
    pre.add("tokenizer.ggml.pre", "unheard-pre");
    for (const GgufWriter& w : {no_scores, none, unheard, pre, v.writer()}) {
        const std::string said = refusal(w);
        EXPECT_EQ(said.find("vocabulary.gguf: "), 0u) << said;
        EXPECT_EQ(said.find("vocabulary.gguf", 1), std::string::npos) << said;
        EXPECT_EQ(said.back(), '.') << said;
    }
    EXPECT_THAT(refusal(no_scores), HasSubstr("key 'tokenizer.ggml.scores' is missing"));
}

TEST(Tokenizer, ScoresAmongWhichNoneIsFiniteAreRefused) {
    constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float k_infinity = std::numeric_limits<float>::infinity();
    TestVocabulary v = byte_vocabulary();
    v.model = "llama";
    for (const float score : {k_nan, k_infinity, -k_infinity}) {
        v.scores.assign(v.tokens.size(), score);
        EXPECT_THAT(refusal(v.writer()), HasSubstr("tokenizer.ggml.scores has no score that is a finite"));
    }
    v.scores.back() = -1;
    EXPECT_EQ(refusal(v.writer()), "loaded");
}

TEST(Tokenizer, RefusesListsThatDoNotFit) {
    const auto file = [](auto add) {
        GgufWriter w;
        w.add("tokenizer.ggml.model", "gpt2");
        w.add("tokenizer.ggml.pre", "gpt-2");
        add(w);
        return w;
    };
    using Strings = std::vector<std::string>;
    using Numbers = std::vector<int32_t>;
    const Strings tokens{"a", "b"};
    EXPECT_THAT(refusal(file([](GgufWriter&) {})), HasSubstr("lacks tokenizer.ggml.tokens"));
    EXPECT_THAT(refusal(file([](GgufWriter& w) {
                    w.add_array("tokenizer.ggml.tokens", std::span<const std::string>(Strings{}));
                })),
                HasSubstr("vocabulary is empty (tokenizer.ggml.tokens"));
    EXPECT_THAT(refusal(file([](GgufWriter& w) {
                    w.add_array("tokenizer.ggml.tokens", std::span<const int32_t>(Numbers{1, 2}));
                })),
                HasSubstr("tokenizer.ggml.tokens is no array of strings"));
    EXPECT_THAT(refusal(file([&](GgufWriter& w) {
                    w.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
                    w.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(Numbers{1}));
                })),
                HasSubstr("tokenizer.ggml.token_type has 1 entries for 2 tokens"));
    EXPECT_THAT(refusal(file([&](GgufWriter& w) {
                    w.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
                })),
                HasSubstr("lacks tokenizer.ggml.merges"));
}

TEST(Tokenizer, AMissingPreTokenizerIsSaidAloud) {
    ::testing::internal::CaptureStderr();
    const auto t = loaded(load_tokenizer(small_bpe().writer()));
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("[warn]"));
    EXPECT_THAT(log, HasSubstr("tokenizer.ggml.pre"));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
    EXPECT_THAT(t->encode("the1234"), ElementsAre(257, '1', '2', '3', '4'));
}

TEST(Tokenizer, ASpecialTokenOfAbsurdLengthIsRefused) {
    TestVocabulary v = byte_vocabulary();
    v.add(std::string(1024, '<'), TokenType::control);
    EXPECT_TRUE(load_byte_bpe(v, "llama-bpe"));
    v.add(std::string(1025, '>'), TokenType::control);
    const auto tokenizer = load_byte_bpe(v, "llama-bpe");
    ASSERT_FALSE(tokenizer);
    EXPECT_NE(tokenizer.error().what.find("special token 257 has 1025 bytes"), std::string::npos);
}

}  // namespace
}  // namespace ft
