// Text to token ids and back, by the vocabulary in a GGUF file: byte-level BPE with the pre-tokenizers of
// pretokenizer_rules.cpp, SentencePiece BPE, and the BPE of Gemma 4.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "text/encoder.h"
#include "text/special_tokens.h"
#include "text/vocabulary.h"

namespace ft {

class TokenTrie;

class Tokenizer {
 public:
    ~Tokenizer();

    // Errors name the file and the key; see read_vocabulary().
    // tokenizer_json: a file to take the tokens from instead (tokenizer_json.h); "": none.
    static Expected<std::unique_ptr<Tokenizer>> load(const Gguf& file,
                                                     const std::string& tokenizer_json = "");

    struct EncodeOptions {
        bool special =
            false;  // control tokens written out in the text become their ids; never for what users type
        bool add_special = false;  // BOS and EOS, where the vocabulary's rule adds them
    };
    // Any bytes; ill-formed UTF-8 is read as U+FFFD for each maximal ill-formed part. n log n, under a second
    // for 1 MB of anything; at most 1 GiB. Any number of threads; the first call builds the tables (tens of
    // milliseconds).
    std::vector<int32_t> encode(std::string_view text, EncodeOptions options) const;
    std::vector<int32_t> encode(std::string_view text) const { return encode(text, EncodeOptions{}); }

    // Bytes, which need not be UTF-8: ids may begin or end inside a character. show_special: control tokens
    // show as their text. Ids outside the vocabulary give nothing.
    std::string decode(std::span<const int32_t> ids, bool show_special = true) const;

    // What decode() puts together: the bytes of one token, whatever stands before it.
    void append_bytes(int32_t id, bool show_special, std::string& out) const;
    // True: decode() leaves out one blank at the very beginning.
    bool strips_leading_blank() const { return vocabulary_.add_space_prefix; }

    int vocab_size() const { return vocabulary_.size(); }
    int bos_id() const { return vocabulary_.bos_id; }  // -1: none
    int eos_id() const { return vocabulary_.eos_id; }  // -1: none
    bool adds_bos() const { return vocabulary_.add_bos; }
    bool is_end(int32_t id) const;  // the answer ends with this token
    std::span<const int32_t> end_ids() const { return end_ids_; }
    std::string token_text(int32_t id) const;  // as the file spells it; "" outside the vocabulary

    // The bytes of the tokens that may stand in an answer's text: no control tokens, none that end an answer,
    // and none that templates use as marks (user-defined ones in angle brackets). Any number of threads; the
    // first call builds it (some tenths of a second for 250,000 tokens).
    const TokenTrie& trie() const;

    const std::string& model_name() const { return vocabulary_.model_name; }
    const std::string& pre_name() const { return vocabulary_.pre_name; }

 private:
    // What only encode() needs.
    struct Tables {
        std::unique_ptr<Encoder> encoder;
        SpecialTokens always;  // user-defined tokens
        SpecialTokens parsed;  // these and control tokens
    };

    explicit Tokenizer(Vocabulary vocabulary);
    bool known(int32_t id) const { return id >= 0 && id < vocabulary_.size(); }
    bool marks_blanks() const { return vocabulary_.model != TokenizerModel::byte_bpe; }
    const Tables& tables() const;
    bool may_be_text(int32_t id) const;

    const Vocabulary vocabulary_;
    const std::vector<int32_t> end_ids_;
    mutable std::once_flag tables_built_;
    mutable Tables tables_;
    mutable std::once_flag trie_built_;
    mutable std::unique_ptr<const TokenTrie> trie_;
};

}  // namespace ft
