// What a GGUF file says about its tokenizer (tokenizer.ggml.*), checked and with the defaults filled in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "text/string_list.h"

namespace ft {

struct PretokenizerRule;

// tokenizer.ggml.token_type
enum class TokenType : uint8_t {
    undefined = 0,
    normal = 1,
    unknown = 2,
    control = 3,       // matched in a text only when special tokens are parsed, as `unknown` is
    user_defined = 4,  // matched in every text, before any splitting
    unused = 5,        // never matched, decodes to nothing
    byte = 6,
};

// tokenizer.ggml.model
enum class TokenizerModel {
    byte_bpe,       // "gpt2": BPE on bytes
    sentencepiece,  // "llama": BPE on characters by score, with byte fallback
    gemma_bpe,      // "gemma4": BPE on characters by merges, with byte fallback
};

struct Vocabulary {
    TokenizerModel model = TokenizerModel::byte_bpe;
    std::string model_name;                  // as the file spells it
    std::string pre_name;                    // "" where the file has none
    const PretokenizerRule* rule = nullptr;  // byte_bpe only

    StringList tokens;
    std::vector<TokenType> types;  // one for each token
    std::vector<float> scores;     // one for each token; empty where the file has none
    StringList merges;             // "left right", the earlier the better

    int bos_id = -1, eos_id = -1, eot_id = -1, eom_id = -1, unknown_id = -1;  // -1: none
    bool add_bos = false, add_eos = false;
    bool add_space_prefix = false;  // sentencepiece

    int size() const { return static_cast<int>(tokens.size()); }
    TokenType type(int32_t id) const { return types[static_cast<size_t>(id)]; }
    std::string_view text(int32_t id) const { return tokens[static_cast<size_t>(id)]; }
};

// Errors name the key: no vocabulary, a model or pre-tokenizer that is not supported (by name), lists that do
// not fit together, ids outside the list. A missing tokenizer.ggml.pre is logged as a warning and read as
// "default".
Expected<Vocabulary> read_vocabulary(const Gguf& file);

}  // namespace ft
