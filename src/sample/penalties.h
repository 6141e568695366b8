// Penalties on tokens that came lately, the prompt's included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ft {

struct PenaltyParams {
    float repeat = 1;     // divides logits above 0 and multiplies the others: Keskar et al., "CTRL", 2019
    float frequency = 0;  // then taken off once for each time the token came
    float presence = 0;   // and once for having come at all
    int last_n = 64;      // tokens that are looked back on; -1: all
};

class Penalties {
 public:
    explicit Penalties(const PenaltyParams& params);

    void accept(int32_t id);  // the next token of the sequence
    void apply(std::span<float> logits) const;

 private:
    struct Count {
        int32_t id;
        int32_t n;
    };
    void count(int32_t id, int32_t step);

    PenaltyParams params_;
    std::vector<int32_t> recent_;  // the last last_n ids; a ring once it is full
    size_t oldest_ = 0;
    std::vector<Count> counts_;  // of the ids in recent_, rising
};

}  // namespace ft
