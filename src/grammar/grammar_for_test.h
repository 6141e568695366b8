// For tests: vocabularies, and texts that are fed to a grammar token by token.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "text/token_trie.h"
#include "text/vocabulary_for_test.h"

namespace ft {

// byte_chat_tokenizer(), one for all tests.
inline const Tokenizer& byte_tokenizer() {
    static const std::unique_ptr<Tokenizer> tokenizer = byte_chat_tokenizer();
    return *tokenizer;
}

inline bool is_allowed(std::span<const uint64_t> bits, int32_t id) {
    const auto at = static_cast<size_t>(id);
    return at / 64 < bits.size() && ((bits[at / 64] >> (at % 64)) & 1) != 0;
}

// With byte_tokenizer(): how many bytes of the text are allowed, one after the other.
inline size_t allowed_bytes(GrammarState& state, std::string_view text) {
    for (size_t i = 0; i < text.size(); i++) {
        const auto id = static_cast<int32_t>(static_cast<uint8_t>(text[i]));
        const auto allowed = state.allowed();
        if (!allowed || !is_allowed(*allowed, id)) return i;
        if (!state.accept(id)) return i;
    }
    return text.size();
}

// With byte_tokenizer(): the text is one that the grammar allows; and the end token says so, too.
inline bool allows(const SharedGrammar& grammar, std::string_view text) {
    GrammarState state(grammar);
    if (allowed_bytes(state, text) != text.size()) return false;
    const auto allowed = state.allowed();
    if (!allowed) return false;
    EXPECT_EQ(is_allowed(*allowed, 257), state.may_end()) << text;
    return state.may_end();
}

inline SharedGrammar gbnf(std::string_view text, const Tokenizer& tokenizer = byte_tokenizer()) {
    const Expected<SharedGrammar> made = compile_gbnf(text, tokenizer);
    EXPECT_TRUE(made) << text << "\n" << (made ? "" : made.error().sentence());
    return made ? *made : *compile_gbnf("root ::= \"\\x00\"", tokenizer);
}

// The sentence of a refusal; "" where there is none.
inline std::string gbnf_refusal(std::string_view text) {
    const Expected<SharedGrammar> made = compile_gbnf(text, byte_tokenizer());
    return made ? "" : made.error().sentence();
}

}  // namespace ft
