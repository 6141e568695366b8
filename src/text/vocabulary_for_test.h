// Small vocabularies for tests, as GGUF files in memory.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "io/memory_file.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer.h"

namespace ft {

inline Expected<Gguf> open_in_memory(const std::string& bytes) {
    return Gguf::open("vocabulary.gguf", Gguf::Cut::refuse,
                      [&](const std::string& path) -> Expected<std::unique_ptr<File>> {
                          return std::unique_ptr<File>(std::make_unique<MemoryFile>(path, bytes));
                      });
}

struct TestVocabulary {
    std::string model = "gpt2";
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    std::vector<std::string> merges;
    std::vector<float> scores;

    int32_t add(const std::string& text, TokenType type = TokenType::normal, float score = 0) {
        tokens.push_back(text);
        types.push_back(static_cast<int32_t>(type));
        scores.push_back(score);
        return static_cast<int32_t>(tokens.size()) - 1;
    }

    // The token of two others, which are given as the text that they stand for.
    int32_t merge(const std::string& left, const std::string& right) {
        std::string l, r;
        append_letters(l, left);
        append_letters(r, right);
        merges.push_back(l + " " + r);
        return add(l + r);
    }

    int32_t id(const std::string& text) const {
        const auto found = std::find(tokens.begin(), tokens.end(), text);
        return found == tokens.end() ? -1 : static_cast<int32_t>(found - tokens.begin());
    }

    GgufWriter writer() const {
        GgufWriter w;
        w.add("general.architecture", "none");
        w.add("tokenizer.ggml.model", model);
        w.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
        w.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(types));
        if (model == "llama") w.add_array("tokenizer.ggml.scores", std::span<const float>(scores));
        if (model != "llama") w.add_array("tokenizer.ggml.merges", std::span<const std::string>(merges));
        return w;
    }
};

// A token for each byte: id b is byte b.
inline TestVocabulary byte_vocabulary() {
    TestVocabulary v;
    for (int b = 0; b < 256; ++b) {
        const char byte = static_cast<char>(b);
        std::string letter;
        append_letters(letter, {&byte, 1});
        v.add(letter);
    }
    return v;
}

// <unk>, <s>, </s> and the byte tokens: id 3 + b is byte b.
inline TestVocabulary sentencepiece_vocabulary() {
    TestVocabulary v;
    v.model = "llama";
    v.add("<unk>", TokenType::unknown);
    v.add("<s>", TokenType::control);
    v.add("</s>", TokenType::control);
    for (int b = 0; b < 256; ++b) v.add(fmt::format("<0x{:02X}>", b), TokenType::byte);
    return v;
}

inline Expected<std::unique_ptr<Tokenizer>> load_tokenizer(const GgufWriter& writer) {
    const std::string bytes = writer.bytes();
    const Expected<Gguf> file = open_in_memory(bytes);
    if (!file) return file.error();
    return Tokenizer::load(*file);
}

inline Expected<std::unique_ptr<Tokenizer>> load_byte_bpe(const TestVocabulary& v, const std::string& pre) {
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.pre", pre);
    return load_tokenizer(w);
}

// byte_vocabulary() and two control tokens: 256 is <|s|>, 257 <|end|>, which ends an answer.
inline std::unique_ptr<Tokenizer> byte_chat_tokenizer() {
    TestVocabulary v = byte_vocabulary();
    v.add("<|s|>", TokenType::control);
    v.add("<|end|>", TokenType::control);
    GgufWriter w = v.writer();
    w.add("tokenizer.ggml.pre", std::string("gpt-2"));
    w.add("tokenizer.ggml.eos_token_id", uint32_t{257});
    auto loaded = load_tokenizer(w);
    check(static_cast<bool>(loaded), "the tokenizer of the test");
    return std::move(*loaded);
}

}  // namespace ft
