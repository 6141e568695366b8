#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "grammar/grammar_for_test.h"
#include "text/prompt.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

// Bytes, pieces of JSON and of words, cut characters, marks and control tokens.
TestVocabulary mixed_vocabulary() {
    TestVocabulary v = byte_vocabulary();
    std::mt19937 random(11);
    const std::vector<std::string> pieces = {
        "\"",   "\",", "\":",      "{\"",  "\"}", "}", "]",  "[",  "true", "false",   "null", "e",
        "name", "a",   "b",        "\\",   "\\n", " ", "  ", "\n", ", ",   "12",      "0.",   "-",
        "蓝",   "é",   "\xE8\x93", "\x9D", "x",   "<", ">",  "{",  ":",    "99999999"};
    for (int i = 0; i < 700; i++) {
        std::string text, letters;
        for (size_t n = 1 + random() % 4; n > 0; n--) text += pieces[random() % pieces.size()];
        append_letters(letters, text);
        if (v.id(letters) < 0) v.add(letters);
    }
    std::string plain;
    append_letters(plain, std::string(40, 'x'));
    v.add(plain);
    v.add("<mark>", TokenType::user_defined);
    v.add("<|s|>", TokenType::control);
    v.add("<|end|>", TokenType::control);
    return v;
}

std::unique_ptr<Tokenizer> mixed_tokenizer() {
    const TestVocabulary v = mixed_vocabulary();
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.pre", std::string("gpt-2"));
    w.add("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(v.tokens.size() - 1));
    auto loaded = load_tokenizer(w);
    check(static_cast<bool>(loaded), "the tokenizer of the test");
    return std::move(*loaded);
}

std::vector<SharedGrammar> some_grammars(const Tokenizer& tokenizer) {
    const auto schema = [&](const char* text) {
        const auto made = compile_json_schema(ordered_json::parse(text), tokenizer);
        EXPECT_TRUE(made) << (made ? "" : made.error().sentence());
        return *made;
    };
    return {
        *compile_json_object(tokenizer),
        schema(R"({"type": "string", "maxLength": 5})"),
        schema(R"({"type": "string", "minLength": 3, "maxLength": 1000})"),
        schema(R"({"type": "string", "pattern": "^[a-z蓝]{2,60}(true|12)?$"})"),
        schema(
            R"({"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 2, "maxItems": 90})"),
        schema(R"({"properties": {"name": {"type": "string"}, "a": {"enum": ["xx", "x", 12, null]}},
                   "additionalProperties": true})"),
        gbnf("root ::= [^\\n]* \"\\n\"", tokenizer),
        gbnf("root ::= .*", tokenizer),
        gbnf("root ::= ([a-e] | \"x\" | \"null\"){20} \".\"", tokenizer),
    };
}

// What a token is: its bytes read one by one by a copy.
bool reads(const GrammarState& state, const Tokenizer& tokenizer, int32_t id) {
    std::string bytes;
    tokenizer.append_bytes(id, false, bytes);
    GrammarState copy = state;
    return !bytes.empty() && static_cast<bool>(copy.accept(id));
}

TEST(GrammarState, TheTokensThatMayComeAreThoseWhoseBytesMay) {
    const auto tokenizer = mixed_tokenizer();
    const int32_t n = tokenizer->vocab_size();
    std::mt19937 random(5);
    for (const SharedGrammar& grammar : some_grammars(*tokenizer))
        for (int walk = 0; walk < 3; walk++) {
            GrammarState state(grammar);
            for (int step = 0; step < 25 && !state.must_end(); step++) {
                const auto allowed = state.allowed();
                ASSERT_TRUE(allowed);
                std::vector<int32_t> may_come;
                for (int32_t id = 0; id < n - 3; id++) {
                    ASSERT_EQ(is_allowed(*allowed, id), reads(state, *tokenizer, id))
                        << tokenizer->token_text(id) << " at step " << step;
                    if (is_allowed(*allowed, id)) may_come.push_back(id);
                }
                EXPECT_FALSE(is_allowed(*allowed, n - 3)) << "a mark of templates";
                EXPECT_FALSE(is_allowed(*allowed, n - 2)) << "a control token";
                EXPECT_EQ(is_allowed(*allowed, n - 1), state.may_end());
                if (may_come.empty()) break;
                ASSERT_TRUE(state.accept(may_come[random() % may_come.size()]));
            }
        }
}

TEST(GrammarState, EndTokensComeWhenTheTextIsComplete) {
    const SharedGrammar grammar = gbnf(R"(root ::= [0-9]{1,3})");
    GrammarState state(grammar);
    EXPECT_FALSE(is_allowed(*state.allowed(), 257));
    EXPECT_FALSE(state.accept(257));
    GrammarState other(grammar);
    ASSERT_TRUE(other.accept('4'));
    EXPECT_TRUE(is_allowed(*other.allowed(), 257));
    EXPECT_TRUE(other.may_end());
    EXPECT_FALSE(other.must_end());
    GrammarState ended = other;
    EXPECT_TRUE(ended.accept(257));
    ASSERT_TRUE(other.accept('2') && other.accept('9'));
    EXPECT_TRUE(other.must_end());
    EXPECT_TRUE(is_allowed(*other.allowed(), 257));
    EXPECT_FALSE(is_allowed(*other.allowed(), '0'));
}

TEST(GrammarState, CopiesGoOnIndependently) {
    GrammarState state(gbnf(R"(root ::= "ab" | "ac")"));
    ASSERT_TRUE(state.accept('a'));
    GrammarState copy = state;
    ASSERT_TRUE(copy.accept('c'));
    EXPECT_TRUE(copy.must_end());
    EXPECT_TRUE(is_allowed(*state.allowed(), 'b'));
    EXPECT_TRUE(state.accept('b'));
}

TEST(GrammarState, WhatIsNotAllowedIsRefused) {
    GrammarState state(gbnf(R"(root ::= "ab")"));
    const Status refused = state.accept('x');
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("grammar"));
}

TEST(GrammarState, ABlankThatIsNotShownIsNoPartOfTheText) {
    TestVocabulary v = sentencepiece_vocabulary();
    const int32_t yes = v.add("yes"), marked = v.add("\xE2\x96\x81yes"),
                  twice = v.add("\xE2\x96\x81\xE2\x96\x81yes");
    const int32_t blank = v.add("\xE2\x96\x81");
    const auto tokenizer = load_tokenizer(v.writer());
    ASSERT_TRUE(tokenizer);
    ASSERT_TRUE((*tokenizer)->strips_leading_blank());
    const auto first = [&](std::string_view grammar, int32_t id) {
        GrammarState state(gbnf(grammar, **tokenizer));
        const bool allowed = is_allowed(*state.allowed(), id);
        EXPECT_EQ(static_cast<bool>(state.accept(id)), allowed);
        return allowed;
    };
    EXPECT_TRUE(first(R"(root ::= "yes")", yes));
    EXPECT_TRUE(first(R"(root ::= "yes")", marked));
    EXPECT_TRUE(first(R"(root ::= "yes")", blank));
    EXPECT_FALSE(first(R"(root ::= "yes")", twice));
    EXPECT_FALSE(first(R"(root ::= " yes")", marked));
    EXPECT_TRUE(first(R"(root ::= " yes")", twice));
    GrammarState state(gbnf(R"(root ::= "yes" " yes")", **tokenizer));
    ASSERT_TRUE(state.accept(marked));
    EXPECT_TRUE(is_allowed(*state.allowed(), marked));
    EXPECT_FALSE(is_allowed(*state.allowed(), yes));
}

std::unique_ptr<Tokenizer> thinking_tokenizer() {
    TestVocabulary v = byte_vocabulary();
    v.add("<think>", TokenType::user_defined);
    v.add("</think>", TokenType::user_defined);
    v.merge("\n", "\n");
    v.add("<|end|>", TokenType::control);
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.pre", std::string("gpt-2"));
    w.add("tokenizer.ggml.eos_token_id", uint32_t{259});
    auto loaded = load_tokenizer(w);
    check(static_cast<bool>(loaded), "the tokenizer of the test");
    return std::move(*loaded);
}

TEST(GrammarState, BeginsBehindTheThinking) {
    const auto tokenizer = thinking_tokenizer();
    GrammarState state(gbnf(R"(root ::= "{}")", *tokenizer), GrammarStart::after_thinking);
    for (const char byte : std::string("hm, </thin {")) {
        EXPECT_TRUE(is_allowed(*state.allowed(), byte));
        EXPECT_FALSE(is_allowed(*state.allowed(), 259)) << "an answer must not end before its text";
        EXPECT_FALSE(state.may_end());
        ASSERT_TRUE(state.accept(byte));
    }
    ASSERT_TRUE(state.accept(257));
    EXPECT_TRUE(is_allowed(*state.allowed(), '{'));
    EXPECT_FALSE(is_allowed(*state.allowed(), 'x'));
    EXPECT_TRUE(is_allowed(*state.allowed(), 258));
    ASSERT_TRUE(state.accept(258));
    EXPECT_FALSE(is_allowed(*state.allowed(), 258)) << "once";
    EXPECT_EQ(allowed_bytes(state, "{}"), 2u);
    EXPECT_TRUE(state.must_end());
}

TEST(GrammarState, ThinkingMayBeClosedLetterByLetter) {
    const auto tokenizer = thinking_tokenizer();
    GrammarState state(gbnf(R"(root ::= "{}")", *tokenizer), GrammarStart::after_thinking);
    EXPECT_EQ(allowed_bytes(state, "well</think>"), 12u);
    EXPECT_FALSE(is_allowed(*state.allowed(), 'x'));
    EXPECT_EQ(allowed_bytes(state, "{}"), 2u);
}

TEST(GrammarState, AModelMayBeginToThinkWhereItsTemplateLeavesThatOpen) {
    const auto tokenizer = thinking_tokenizer();
    const SharedGrammar grammar = gbnf(R"(root ::= "{}")", *tokenizer);
    GrammarState at_once(grammar);
    EXPECT_FALSE(is_allowed(*at_once.allowed(), 256));
    GrammarState state(grammar, GrammarStart::may_think_first);
    EXPECT_TRUE(is_allowed(*state.allowed(), 256));
    EXPECT_TRUE(is_allowed(*state.allowed(), '{'));
    EXPECT_FALSE(is_allowed(*state.allowed(), 'x'));
    GrammarState thinks = state;
    ASSERT_TRUE(thinks.accept(256));
    EXPECT_TRUE(is_allowed(*thinks.allowed(), 'x'));
    ASSERT_TRUE(thinks.accept('x') && thinks.accept(257));
    EXPECT_EQ(allowed_bytes(thinks, "{}"), 2u);
    ASSERT_TRUE(state.accept('{'));
    EXPECT_FALSE(is_allowed(*state.allowed(), 256));
}

TEST(GrammarState, ThePromptSaysWhereItBegins) {
    Prompt prompt;
    EXPECT_EQ(start_of_grammar(prompt), GrammarStart::may_think_first);
    prompt.thinking_is_over = true;
    EXPECT_EQ(start_of_grammar(prompt), GrammarStart::at_once);
    prompt = {};
    prompt.inside_thinking = true;
    EXPECT_EQ(start_of_grammar(prompt), GrammarStart::after_thinking);
}

TEST(GrammarState, AVocabularyWithoutTheNextByteIsAnError) {
    TestVocabulary v;
    v.add("a");
    const auto tokenizer = load_byte_bpe(v, "gpt-2");
    ASSERT_TRUE(tokenizer);
    GrammarState state(gbnf(R"(root ::= "ab")", **tokenizer));
    ASSERT_TRUE(state.allowed());
    ASSERT_TRUE(state.accept(0));
    const auto none = state.allowed();
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().what, HasSubstr("no token of this vocabulary"));
}

// More states than are kept: what was forgotten on the way is found again.
TEST(GrammarState, LongTextsStayRightWhenStatesAreForgotten) {
    const auto tokenizer = mixed_tokenizer();
    std::mt19937 random(2);
    std::string text;
    for (int i = 0; i < 6000; i++) text += "ab"[random() % 2];
    GrammarState state(gbnf("root ::= \"" + text + "\"", *tokenizer));
    std::vector<std::string> tokens(static_cast<size_t>(tokenizer->vocab_size()));
    for (int32_t id = 0; id < tokenizer->vocab_size(); id++)
        tokenizer->append_bytes(id, false, tokens[static_cast<size_t>(id)]);
    for (size_t at = 0; at < text.size(); at++) {
        const auto allowed = state.allowed();
        ASSERT_TRUE(allowed);
        const std::string_view rest = std::string_view(text).substr(at);
        for (size_t id = 0; id + 3 < tokens.size(); id++)
            ASSERT_EQ(is_allowed(*allowed, static_cast<int32_t>(id)), rest.starts_with(tokens[id])) << at;
        ASSERT_TRUE(state.accept(text[at]));
    }
    EXPECT_TRUE(state.must_end());
}

}  // namespace
}  // namespace ft
