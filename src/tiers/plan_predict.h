// How fast a placement will be, from the machine's measured rates and an expected hit rate for the number of
// slots. A forecast of the steady state at a short context; the engine compares it with what happened.
#pragma once

#include <cstdint>

#include "device/profile.h"
#include "tiers/plan.h"

namespace ft {

enum class Limit { ram, drive, cpu, gpu, pcie };
const char* limit_name(Limit limit);  // "ram"

struct Prediction {
    double decode_per_second = 0;
    double prefill_per_second = 0;  // of a prompt of k_predicted_prompt tokens, nothing of it cached
    double ttft_ms = 0;             // of that prompt
    double hit_rate = 1;            // of the experts that decoding asks for, RAM and VRAM together
    double drive_bytes_per_token = 0;
    Limit limit = Limit::ram;  // of decoding
};

constexpr int64_t k_predicted_prompt = 256;

// Share of the asked experts that lie in slots which hold `share` of all experts (0 .. 1), for layers of
// n_expert. From 128 on, the means that replays of recorded routes of published mixtures give under decayed
// use counts. Of fewer, a token asks for a larger part, and use is more even: with 8 it is taken as even, and
// between as the bundled model's 24 are.
double expected_hit_rate(double share, int n_expert);

// Share of a layer's n_expert experts that n_token tokens together ask for, where use falls with rank to the
// power of -1.2.
double expected_union(int n_expert, int top_k, int64_t n_token);

// `plan` must fit. What the profile lacks (cpu rates) is taken from the rates that it has.
Prediction predict(const Machine& machine, const ModelShape& shape, const Plan& plan,
                   const MachineProfile& profile);

}  // namespace ft
