// Text to ids between special tokens: one implementation for each tokenizer.ggml.model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace ft {

// One call of Tokenizer::encode: scratch memory and the words seen so far. Not for several threads.
class EncodeRun {
 public:
    virtual ~EncodeRun() = default;
    // Appends the ids of `text`: valid UTF-8 without special tokens, the whole stretch between two of them.
    virtual void encode(std::string_view text, std::vector<int32_t>& ids) = 0;
};

// The tables, read by any number of threads.
class Encoder {
 public:
    virtual ~Encoder() = default;
    virtual std::unique_ptr<EncodeRun> start() const = 0;
};

// `vocabulary` must outlive the encoder.
std::unique_ptr<Encoder> make_byte_bpe(const Vocabulary& vocabulary);
std::unique_ptr<Encoder> make_sentencepiece(const Vocabulary& vocabulary);
std::unique_ptr<Encoder> make_gemma_bpe(const Vocabulary& vocabulary);

}  // namespace ft
