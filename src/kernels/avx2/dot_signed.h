// The inner step of tiles of signed 8-bit codes.
#pragma once

#include "kernels/avx2/simd.h"

namespace ft::avx2 {

namespace {

// Adds n_step x 4 columns of 16 rows and n_token tokens to `sum`, from step `first` of the activations on:
// |code| x (activation with the code's sign), two columns to a 16-bit item, then one multiply-add by the
// scales (twice in a lane of 32 bits, rows 0..7 and 8..15).
template <int n_step, int n_token>
[[gnu::always_inline]] inline void add_signed(const Vec (*w)[2], const Vec (*magnitude)[2],
                                              const int8_t* const* q, int first, Vec scale0, Vec scale1,
                                              Vec (*sum)[2]) {
#pragma GCC unroll 8
    for (int k = 0; k < n_step; k++) {
        const Vec w0 = w[k][0], w1 = w[k][1];
        const Vec m0 = magnitude[k][0], m1 = magnitude[k][1];
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++) {
            const Vec x = load4_everywhere(q[t] + 4 * (first + k));
            const Vec p0 = _mm256_maddubs_epi16(m0, _mm256_sign_epi8(x, w0));
            const Vec p1 = _mm256_maddubs_epi16(m1, _mm256_sign_epi8(x, w1));
            sum[t][0] = _mm256_add_epi32(sum[t][0], _mm256_madd_epi16(p0, scale0));
            sum[t][1] = _mm256_add_epi32(sum[t][1], _mm256_madd_epi16(p1, scale1));
            keep(sum[t][0]);
            keep(sum[t][1]);
        }
    }
}

}  // namespace

}  // namespace ft::avx2
