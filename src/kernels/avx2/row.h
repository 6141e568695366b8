// Loops over a row of f32, eight values at a time, and the sums of rule 1.1. Only for files compiled for
// AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/avx2/lane8.h"

namespace ft {
namespace {

// The first n < 8 values at `at`, then zeros; nothing is read behind them.
inline Lane8 load_first(const float* at, int64_t n) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_maskload_ps(at, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index))};
}

inline void store_first(float* at, int64_t n, Lane8 x) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(at, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index), x.v);
}

// out[i] = fn(x[i] ...) for n values; out may be one of the inputs.
template <class Fn, class... In>
inline void map(int64_t n, float* out, Fn fn, const In*... x) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) fn(Lane8::load(x + i)...).store(out + i);
    if (i < n) store_first(out + i, n - i, fn(load_first(x + i, n - i)...));
}

// The 32 lanes of rule 1.1, lane 8 v + i in element i of register v.
struct Lanes32 {
    __m256 v[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
};

// Lane i takes lane i + 16, then i + 8: eight are left.
inline __m256 halve_to_8(const Lanes32& lanes) {
    return _mm256_add_ps(_mm256_add_ps(lanes.v[0], lanes.v[2]), _mm256_add_ps(lanes.v[1], lanes.v[3]));
}

inline float halve_to_1(__m256 eight) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Sum over n values by rule 1.1 of fma(weight(x), x, lane), where weight is a function of eight values.
template <class Weight>
inline float row_sum(const float* x, int64_t n, Weight weight) {
    float sum = 0.0f;
    for (int64_t start = 0; start < n; start += 256) {
        const int64_t end = n - start < 256 ? n : start + 256;
        Lanes32 lanes;
        int64_t i = start;
        for (; i + 32 <= end; i += 32) {
            for (int v = 0; v < 4; ++v) {
                const Lane8 xs = Lane8::load(x + i + 8 * v);
                lanes.v[v] = _mm256_fmadd_ps(weight(xs).v, xs.v, lanes.v[v]);
            }
        }
        // Absent elements add +0 here instead of being skipped. That changes a lane only where it holds -0,
        // and no sum of squares or of values from exp holds one.
        for (int v = 0; i < end; ++v, i += 8) {
            const Lane8 xs = end - i < 8 ? load_first(x + i, end - i) : Lane8::load(x + i);
            lanes.v[v] = _mm256_fmadd_ps(weight(xs).v, xs.v, lanes.v[v]);
        }
        const float p = halve_to_1(halve_to_8(lanes));
        sum = start == 0 ? p : sum + p;
    }
    return sum;
}

inline float sum_of_squares(const float* x, int64_t n) {
    return row_sum(x, n, [](Lane8 v) { return v; });
}

inline float sum_of_values(const float* x, int64_t n) {
    return row_sum(x, n, [](Lane8) { return Lane8::of(1.0f); });
}

// The largest value that is no NaN, -inf if there is none; a zero is always +0.
inline float largest(const float* x, int64_t n) {
    const float lowest = -__builtin_inff();
    __m256 m = _mm256_set1_ps(lowest);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        m = _mm256_max_ps(_mm256_loadu_ps(x + i), m);  // a NaN in the first is passed over
    float most = lowest;
    for (; i < n; ++i) most = x[i] > most ? x[i] : most;
    alignas(32) float lane[8];
    _mm256_store_ps(lane, m);
    for (const float value : lane) most = value > most ? value : most;
    return most + 0.0f;
}

}  // namespace
}  // namespace ft
