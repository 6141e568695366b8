// Any bytes as a grammar or as a JSON schema: the end is a sentence, or a grammar whose first tokens are
// found, and of which what is allowed is accepted.
#include <memory>
#include <nlohmann/json.hpp>

#include "grammar/grammar.h"
#include "server/json_body.h"
#include "text/vocabulary_for_test.h"

namespace {

constexpr int k_most_steps = 24;

std::unique_ptr<ft::Tokenizer> make_tokenizer() {
    ft::TestVocabulary v = ft::byte_vocabulary();
    for (const char* text : {"true", "null", "\":", "\",\"", "abc", "12", "aaaaaaaa"}) {
        std::string letters;
        ft::append_letters(letters, text);
        v.add(letters);
    }
    return std::move(*ft::load_byte_bpe(v, "gpt-2"));
}

// Takes the token that `choice` points at, of those that may come.
void walk(const ft::SharedGrammar& grammar, const ft::Tokenizer& tokenizer, uint8_t choice) {
    ft::GrammarState state(grammar);
    for (int step = 0; step < k_most_steps && !state.must_end(); step++) {
        const auto allowed = state.allowed();
        if (!allowed) return ft::check(!allowed.error().what.empty(), "an error has a sentence");
        int32_t chosen = -1;
        int seen = 0;
        for (int32_t id = 0; id < tokenizer.vocab_size(); id++) {
            const auto at = static_cast<size_t>(id);
            if ((((*allowed)[at / 64] >> (at % 64)) & 1) == 0) continue;
            chosen = id;
            if (seen++ == choice) break;
        }
        if (chosen < 0) return;
        choice = static_cast<uint8_t>(choice * 31 + 7);
        const ft::Status accepted = state.accept(chosen);
        ft::check(accepted || accepted.error().code == ft::Code::too_large, "what is allowed is accepted");
        if (!accepted) return;
    }
}

}  // namespace

// The first byte chooses the form, the second the walk.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::unique_ptr<ft::Tokenizer> tokenizer = make_tokenizer();
    if (size < 2) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    ft::Expected<ft::SharedGrammar> made = ft::SharedGrammar();
    if (data[0] % 2 == 0) {
        made = ft::compile_gbnf(text, *tokenizer);
    } else {
        const auto schema = ft::parse_json(text);
        if (!schema) return 0;
        made = ft::compile_json_schema(*schema, *tokenizer);
    }
    if (made) walk(*made, *tokenizer, data[1]);
    else ft::check(!made.error().what.empty(), "an error has a sentence");
    return 0;
}
