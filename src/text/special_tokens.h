// Finds special tokens in a text: the leftmost, and of those that start there the longest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ft {

// Longer ones are refused with the vocabulary: the length bounds the work for each byte of a text. Published
// special tokens have up to some 60 bytes.
constexpr size_t k_longest_special_token = 1024;

class SpecialTokens {
 public:
    SpecialTokens() = default;
    // Of equal texts the lowest id counts; empty ones are left out. Memory: the texts and 40 bytes for each.
    explicit SpecialTokens(std::vector<std::pair<std::string, int32_t>> tokens);

    struct Match {
        size_t begin = 0, end = 0;  // equal: none
        int32_t id = -1;
    };
    // The first at or after `from`. A byte that begins no token costs one look; another one log2(tokens)
    // comparisons, and a step for each token that is the beginning of another, of k_longest_special_token at
    // most.
    Match find(std::string_view text, size_t from) const;

    bool empty() const { return tokens_.empty(); }

 private:
    struct Token {
        std::string text;
        int32_t id;
        int32_t shorter;  // index of the longest other token that this one begins with; -1: none
    };
    Match match_at(std::string_view text, size_t begin) const;

    std::vector<Token> tokens_;  // in the order of their bytes
    std::array<uint32_t, 257>
        first_byte_{};  // those that begin with byte b: [first_byte_[b], first_byte_[b + 1])
};

}  // namespace ft
