// The next token from the logits. In this order, which is the one users know from llama.cpp:
//   1. repetition penalty: logits of the tokens among the last repeat_last_n are divided by it (above 0) or
//   multiplied
//      with it (below 0), once each (Keskar et al., "CTRL", 2019, with the sign handled)
//   2. top-k: the k largest logits                                       (0: all)
//   3. top-p: of these the fewest, likeliest first, whose probabilities sum to at least p   (1: all)
//   4. min-p: of these the ones at least min_p times as probable as the likeliest           (0: all)
//   5. temperature: a draw from softmax(logits / temperature) of what is left
// Probabilities in 3 and 4 are those of temperature 1. Temperature 0 takes the largest logit after step 1 at
// once. Equal logits: the lower id comes first, everywhere. Nothing here depends on the C library's functions
// or on the CPU.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace ft {

// Added to a token's logit; -infinity: the token is never drawn.
struct LogitBias {
    int32_t id = 0;
    float bias = 0;
};

struct SamplerParams {
    float temperature = 0.7f;  // >= 0
    int top_k = 0;
    float top_p = 0.9f;
    float min_p = 0;
    float repeat_penalty = 1.1f;  // > 0
    int repeat_last_n = 64;       // -1: all tokens so far
    uint64_t seed = 0;
    std::vector<LogitBias> logit_bias = {};  // before everything else; several of one id add up
};

// An error where no choice among these logits would mean anything: one is NaN, or the largest is infinite.
// Single ones may be -infinity.
Status check_finite(std::span<const float> logits);

// One sequence's. Owner: the thread that runs the sequence.
class Sampler {
 public:
    explicit Sampler(SamplerParams params);

    const SamplerParams& params() const { return params_; }

    // A token of the sequence, of the prompt too, in order.
    void accept(int32_t id);

    // The id of the next token; logits [n_vocab], not empty. position is that of the token chosen; the random
    // number depends on (seed, choice, position) alone. O(n_vocab): never a whole sort.
    // An error: that of check_finite().
    Expected<int32_t> sample(std::span<const float> logits, uint64_t position, uint64_t choice = 0);

 private:
    struct Candidate {
        double logit;
        int32_t id;
    };
    static bool before(const Candidate& a, const Candidate& b);

    void add_bias();
    void penalise();
    int32_t likeliest() const;
    void collect_candidates();
    void keep_top_k();
    void keep_top_p();
    void keep_min_p();
    double weigh(double highest, double temperature);  // fills weights_, gives their sum
    int32_t draw(uint64_t position, uint64_t choice);

    SamplerParams params_;
    std::vector<int32_t> recent_;  // the last repeat_last_n ids; a ring once it is full
    size_t oldest_ = 0;
    std::vector<float> logits_;  // scratch
    std::vector<int32_t> distinct_;
    std::vector<Candidate> candidates_;
    std::vector<double> weights_;
};

}  // namespace ft
