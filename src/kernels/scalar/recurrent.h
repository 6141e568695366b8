// The gated delta net's step and the short convolution: docs/arithmetic.md 5 as plain loops.
#pragma once

#include <cstdint>

#include "kernels/math_source.h"
#include "kernels/scalar/lane1.h"

namespace ft {
namespace {

// The step for one value index j: both chains run over the key index i.
inline void delta_column(float* state, const float* q, const float* k, float v, float decay, float beta,
                         float q_scale, int d, int j, float* o) {
    float sum = 0.0f;
    for (int i = 0; i < d; ++i) {
        float& s = state[static_cast<int64_t>(i) * d + j];
        s = s * decay;
        sum = __builtin_fmaf(k[i], s, sum);
    }
    const float u = beta * (v - sum);
    float out = 0.0f;
    for (int i = 0; i < d; ++i) {
        float& s = state[static_cast<int64_t>(i) * d + j];
        s = s + (k[i] * u);
        out = __builtin_fmaf(q[i], s, out);
    }
    o[j] = q_scale * out;
}

inline void delta_step(float* state, const float* q, const float* k, const float* v, float decay, float beta,
                       float q_scale, int d, float* o) {
    for (int j = 0; j < d; ++j) delta_column(state, q, k, v[j], decay, beta, q_scale, d, j, o);
}

inline void conv_silu(const float* history, const float* x, const float* w, int taps, int64_t n_channel,
                      float* out) {
    for (int64_t c = 0; c < n_channel; ++c) {
        float sum = 0.0f;
        for (int t = 0; t < taps - 1; ++t)
            sum = __builtin_fmaf(w[c * taps + t], history[t * n_channel + c], sum);
        sum = __builtin_fmaf(w[c * taps + taps - 1], x[c], sum);
        out[c] = silu_of(Lane1{sum}).v;
    }
}

}  // namespace
}  // namespace ft
