// What the vocabularies that work on characters share: U+2581 for blanks, byte tokens <0x00> to <0xFF>, and
// the alphabet of single characters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/merge.h"
#include "text/token_index.h"
#include "text/vocabulary.h"

namespace ft {

constexpr std::string_view k_blank_mark = "\xE2\x96\x81";  // U+2581

// Blanks as marks, and back.
std::string mark_blanks(std::string_view text);
void append_unmarked(std::string& out, std::string_view text);

// The byte that a token's text such as <0x0A> names.
std::optional<uint8_t> byte_token_value(std::string_view text);

// The tokens that merging may give: normal and user-defined ones.
TokenIndex merge_results(const Vocabulary& vocabulary);

class CharFallback {
 public:
    CharFallback(const Vocabulary& vocabulary, const TokenIndex& index);  // index must outlive this

    // The characters of `text` (valid UTF-8) as symbols; those without a token have id -1.
    void split(std::string_view text, std::vector<Symbol>& symbols) const;

    // The ids of merged symbols; one without a token becomes the tokens of its bytes, or else the unknown
    // token.
    void append(const std::vector<Symbol>& symbols, std::string_view text, std::vector<int32_t>& ids) const;

 private:
    const TokenIndex& index_;
    std::array<int32_t, 256> byte_ids_{};  // -1: none
};

}  // namespace ft
