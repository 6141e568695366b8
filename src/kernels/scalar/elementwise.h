// Elementwise operations as docs/arithmetic.md 2 says them, as plain loops. Included by the two files that
// compile the scalar code (kernels/README.md).
#pragma once

#include <cstdint>

#include "kernels/math_source.h"
#include "kernels/scalar/lane1.h"

namespace ft {
namespace {

// Rule 1.1: ((p0 + p1) + p2) + ... over groups of 256; in a group, lane l of 32 takes fma(weight(i), x(i),
// lane) over i = l, l + 32, ...; lanes are added by halving. n = 0 gives +0.
template <class Weight, class X>
float lane_sum(int64_t n, Weight weight, X x) {
    float sum = 0.0f;
    for (int64_t start = 0; start < n; start += 256) {
        const int64_t end = n - start < 256 ? n : start + 256;
        float lane[32] = {};
        for (int64_t first = start; first < end; first += 32) {
            const int64_t count = end - first < 32 ? end - first : 32;
            for (int64_t l = 0; l < count; ++l)
                lane[l] = __builtin_fmaf(weight(first + l), x(first + l), lane[l]);
        }
        for (int half = 16; half > 0; half /= 2)
            for (int l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
        sum = start == 0 ? lane[0] : sum + lane[0];
    }
    return sum;
}

inline float sum_of_squares(const float* x, int64_t n) {
    const auto value = [x](int64_t i) { return x[i]; };
    return lane_sum(n, value, value);
}

inline float sum_of_values(const float* x, int64_t n) {
    return lane_sum(n, [](int64_t) { return 1.0f; }, [x](int64_t i) { return x[i]; });
}

// The largest value that is no NaN, -inf if there is none. A zero is always +0, so that the order of the
// values does not show.
inline float largest(const float* x, int64_t n) {
    float m = -__builtin_inff();
    for (int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
    return m + 0.0f;
}

inline void rms_norm(const float* x, const float* w, int64_t n, float eps, float* out) {
    const float scale = 1.0f / __builtin_sqrtf(sum_of_squares(x, n) / static_cast<float>(n) + eps);
    if (w == nullptr) {
        for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale;
    } else {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] * scale) * w[i];
    }
}

inline void l2_norm(const float* x, int64_t n, float eps, float* out) {
    const float sum = sum_of_squares(x, n);
    const float least = eps * eps;
    const float scale = 1.0f / __builtin_sqrtf(sum < least ? least : sum);
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale;
}

inline void silu(const float* x, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) out[i] = silu_of(Lane1{x[i]}).v;
}

inline void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) out[i] = silu_of(Lane1{gate[i]}).v * up[i];
}

inline void sigmoid_mul(const float* gate, const float* x, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * sigmoid_of(Lane1{gate[i]}).v;
}

inline void softmax(const float* x, int64_t n, float* out) {
    const float m = largest(x, n);
    for (int64_t i = 0; i < n; ++i) out[i] = exp_of(Lane1{x[i] - m}).v;
    const float sum = sum_of_values(out, n);
    for (int64_t i = 0; i < n; ++i) out[i] = out[i] / sum;
}

inline void add(const float* a, const float* b, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

inline void scale_add(const float* x, float w, int64_t n, float* y, bool first) {
    for (int64_t i = 0; i < n; ++i) y[i] = first ? w * x[i] : y[i] + (w * x[i]);
}

}  // namespace
}  // namespace ft
