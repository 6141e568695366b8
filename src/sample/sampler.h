// The next token from the logits. In this order, which is the one users know from llama.cpp:
//    1. logit bias                                     added to the logits; what a grammar forbids is never
//    drawn
//    2. repetition, frequency and presence penalty     penalties.h
//    3. DRY                                            dry.h
//    4. top-n-sigma                                    truncation.h, and so on to 9
//    5. top-k
//    6. typical
//    7. top-p
//    8. min-p
//    9. XTC, with the probability xtc_probability
//   10. temperature: a draw from softmax(logits / temperature) of what is left
// Probabilities in 6 to 9 are those of temperature 1. Temperature 0 takes the largest logit after step 3 at
// once. With mirostat 2, mirostat.h takes the place of 4 to 10. Equal logits: the lower id comes first,
// everywhere. Nothing here depends on the C library's functions or on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "sample/dry.h"
#include "sample/mirostat.h"
#include "sample/penalties.h"

namespace ft {

// Added to a token's logit; -infinity: the token is never drawn.
struct LogitBias {
    int32_t id = 0;
    float bias = 0;
};

struct SamplerParams {
    float temperature = 0.7f;     // >= 0
    int top_k = 0;                // 0: all
    float top_p = 0.9f;           // 1: all
    float min_p = 0;              // 0: all
    float repeat_penalty = 1.1f;  // > 0
    int repeat_last_n = 64;       // of all three penalties; -1: all tokens so far
    uint64_t seed = 0;
    std::vector<LogitBias> logit_bias = {};  // several of one id add up
    float frequency_penalty = 0;
    float presence_penalty = 0;
    DryParams dry = {};
    float top_n_sigma = -1;     // 0 and less: all
    float typical_p = 1;        // 1: all
    float xtc_probability = 0;  // 0: never
    float xtc_threshold = 0.1f;
    bool mirostat = false;   // 2, the only one there is
    float mirostat_tau = 5;  // bits
    float mirostat_eta = 0.1f;
};

// An error where no choice among these logits would mean anything: one is NaN, or the largest is infinite.
// Single ones may be -infinity.
Status check_finite(std::span<const float> logits);

// What a draw works in: one serves any number of samplers of one thread, one after the other.
struct SampleScratch;
std::shared_ptr<SampleScratch> make_sample_scratch();

// One sequence's. Owner: the thread that runs the sequence. It is to be kept as long as the sequence is, also
// while that is paused: penalties, DRY and mirostat depend on what came before.
class Sampler {
 public:
    // scratch: nothing for one of its own (40 bytes for each token of the vocabulary).
    explicit Sampler(SamplerParams params, std::shared_ptr<SampleScratch> scratch = nullptr);

    const SamplerParams& params() const { return params_; }

    // A token of the sequence, of the prompt too, in order.
    void accept(int32_t id);

    // The id of the next token; logits [n_vocab], not empty. position is that of the token chosen; the random
    // numbers depend on (seed, choice, position) alone. To be called once for each token. O(n_vocab): never a
    // whole sort. allowed: bits by id of the tokens that may come, ids behind them may not; empty: all may.
    // An error: that of check_finite(), or that no allowed token has a finite logit.
    Expected<int32_t> sample(std::span<const float> logits, uint64_t position, uint64_t choice = 0,
                             std::span<const uint64_t> allowed = {});

 private:
    bool greedy() const;
    void truncate(uint64_t position, uint64_t choice);

    SamplerParams params_;
    Penalties penalties_;
    Dry dry_;
    std::optional<Mirostat> mirostat_;
    std::shared_ptr<SampleScratch> scratch_;
};

}  // namespace ft
