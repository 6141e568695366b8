// Probabilities of tokens as clients ask for them: natural logarithms of the softmax of the model's own
// logits, at temperature 1 and before any penalty, bias or truncation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ft {

struct TokenLogprob {
    int32_t id = 0;
    double logprob = 0;  // at most 0; -infinity for a token that cannot come
};

struct TokenLogprobs {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top;  // the likeliest, falling; equal ones by rising id. May hold `chosen` too
};

// Of one position. `logits` [n_vocab], not empty; NaN counts as -infinity. n_top: how many of the likeliest.
// `out` is filled in place, so that a sequence that keeps it allocates nothing after its first token. The
// same bits with every C library and on every CPU. O(n_vocab log n_top).
void token_logprobs(std::span<const float> logits, int32_t chosen, size_t n_top, TokenLogprobs& out);

}  // namespace ft
