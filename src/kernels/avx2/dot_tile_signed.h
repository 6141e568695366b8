// The tile of signed 8-bit codes: 16 rows against up to 4 tokens, lanes = rows as in dot_tile8.h.
//
// |code| x (activation with the code's sign), two columns to a 16-bit item, then one multiply-add by the
// scale of the 16 or 32 columns (or by 1) widens to 32 bits.
#pragma once

#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul_tiles.h"
#include "kernels/avx2/simd.h"

namespace ft::avx2 {

struct alignas(64) PackSigned {
    Vec w[64][2];          // [step][rows 0..7, 8..15]: 4 columns of 8 rows
    Vec magnitude[64][2];  // |w|
    Vec scale[16][2];      // of each 16 columns, twice in each lane (types in blocks of 256)
    VecF d[8][2];          // of each 32 columns, or of the 256: d[0]
};

namespace {

[[gnu::always_inline]] inline void put_signed(PackSigned& pack, int step, int v, Vec codes) {
    pack.w[step][v] = codes;
    pack.magnitude[step][v] = _mm256_abs_epi8(codes);
}

// 16 columns: 4 steps.
template <int n_token>
[[gnu::always_inline]] inline void add_signed(const PackSigned& pack, const int8_t* const* q, int j,
                                              Vec scale0, Vec scale1, Vec (*sum)[2]) {
#pragma GCC unroll 4
    for (int k = 4 * j; k < 4 * j + 4; k++) {
        const Vec w0 = pack.w[k][0], w1 = pack.w[k][1];
        const Vec m0 = pack.magnitude[k][0], m1 = pack.magnitude[k][1];
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++) {
            const Vec x = load4_everywhere(q[t] + 4 * k);
            const Vec p0 = _mm256_maddubs_epi16(m0, _mm256_sign_epi8(x, w0));
            const Vec p1 = _mm256_maddubs_epi16(m1, _mm256_sign_epi8(x, w1));
            sum[t][0] = _mm256_add_epi32(sum[t][0], _mm256_madd_epi16(p0, scale0));
            sum[t][1] = _mm256_add_epi32(sum[t][1], _mm256_madd_epi16(p1, scale1));
            keep(sum[t][0]);
            keep(sum[t][1]);
        }
    }
}

// Blocks of 32, each with its d and an activation scale of its own.
template <int n_token>
[[gnu::always_inline]] inline void run_signed32(const PackSigned& pack, const Token* tokens, int64_t g, int n,
                                                TileSums* sums) {
    const Vec one = _mm256_set1_epi16(1);
    const int8_t* q[n_token];
    VecF p[n_token][2];
    for (int t = 0; t < n_token; t++) {
        q[t] = tokens[t].q + 256 * g;
        p[t][0] = p[t][1] = _mm256_setzero_ps();
    }
#pragma GCC unroll 1
    for (int b = 0; b < n / 32; b++) {
        Vec sum[n_token][2];
        for (int t = 0; t < n_token; t++) sum[t][0] = sum[t][1] = _mm256_setzero_si256();
        add_signed<n_token>(pack, q, 2 * b, one, one, sum);
        add_signed<n_token>(pack, q, 2 * b + 1, one, one, sum);
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++)
            for (int v = 0; v < 2; v++)
                p[t][v] = _mm256_add_ps(p[t][v], scaled(pack.d[b][v], tokens[t].d[8 * g + b], sum[t][v]));
    }
#pragma GCC unroll 4
    for (int t = 0; t < n_token; t++)
        for (int v = 0; v < 2; v++) add_partial(sums[t] + 8 * v, g, p[t][v]);
}

}  // namespace

}  // namespace ft::avx2
