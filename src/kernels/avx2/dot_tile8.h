// The 8-bit tile: 16 rows of unsigned codes of at most 6 bits in blocks of 256, against up to 4 tokens.
//
// A register holds 4 consecutive columns of 8 rows, an activation is a 4-byte broadcast, so lane = row and no
// sum over lanes is needed. Products add up in 16-bit items, sub-block by sub-block; one multiply-add then
// applies the sub-block's scale and widens to 32 bits.
#pragma once

#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul_tiles.h"
#include "kernels/avx2/simd.h"

namespace ft::avx2 {

struct alignas(64) Pack8 {
    Vec w[64][2];      // [step][rows 0..7, 8..15]: 4 columns of 8 rows
    Vec scale[16][2];  // the sub-block's scale of 8 rows, twice in each lane
    Vec min[8][2];     // mins of two neighbouring sub-blocks in each lane
    VecF d[2], dmin[2];
};

// How the sums of a type are formed.
struct Tile8Form {
    int sub;  // columns added up in 16 bits: 32 x 4 bits or 16 x 5 bits fit; with `start` 16 x 6 bits do
    int per_scale;  // columns under one scale, a multiple of sub
    bool start;     // codes are code - 32: the sums begin at Token::start (sub is 16)
    int mins;       // sub-blocks with mins: 0, 8 (of 32 columns) or 16 (of 16)
    int down;       // the codes are 2^down times too large: the sum is shifted down, exactly
};

namespace {

// Exact sum over sub-blocks of min x sum of the activations, 8 rows.
template <int k_mins>
[[gnu::always_inline]] inline Vec min_sum(const Pack8& pack, int v, const Token& x, int64_t g) {
    const int16_t* sums = k_mins == 16 ? x.s16 + 16 * g : x.s32 + 8 * g;
    Vec sum = _mm256_madd_epi16(pack.min[0][v], load4_everywhere(sums));
#pragma GCC unroll 8
    for (int j = 1; j < k_mins / 2; j++)
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pack.min[j][v], load4_everywhere(sums + 2 * j)));
    return sum;
}

template <Tile8Form f, int n_token>
[[gnu::always_inline]] inline void sub_block_sums(const Vec (*w)[2], const int8_t* const* q,
                                                  const int16_t* const* start, int b, Vec (*c)[2]) {
#pragma GCC unroll 8
    for (int k = 0; k < f.sub / 4; k++) {
        const Vec w0 = w[b * (f.sub / 4) + k][0], w1 = w[b * (f.sub / 4) + k][1];
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++) {
            const Vec x = load4_everywhere(q[t] + b * f.sub + 4 * k);
            const Vec p0 = _mm256_maddubs_epi16(w0, x), p1 = _mm256_maddubs_epi16(w1, x);
            if (k == 0 && !f.start) {
                c[t][0] = p0;
                c[t][1] = p1;
            } else {
                if (k == 0) c[t][0] = c[t][1] = load4_everywhere(start[t] + 2 * b);
                c[t][0] = _mm256_add_epi16(c[t][0], p0);
                c[t][1] = _mm256_add_epi16(c[t][1], p1);
            }
            keep(c[t][0]);
            keep(c[t][1]);
        }
    }
}

template <Tile8Form f, int n_token>
[[gnu::always_inline]] inline void run_tile8(const Pack8& pack, const Token* tokens, int64_t g,
                                             TileSums* sums) {
    const int8_t* q[n_token];
    const int16_t* start[n_token];
    Vec total[n_token][2];
    for (int t = 0; t < n_token; t++) {
        q[t] = tokens[t].q + 256 * g;
        start[t] = tokens[t].start + 32 * g;
        total[t][0] = total[t][1] = _mm256_setzero_si256();
    }
#pragma GCC unroll 1
    for (int b = 0; b < 256 / f.sub; b++) {
        Vec c[n_token][2];
        sub_block_sums<f, n_token>(pack.w, q, start, b, c);
        const Vec* scale = pack.scale[b / (f.per_scale / f.sub)];
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++)
            for (int v = 0; v < 2; v++)
                total[t][v] = _mm256_add_epi32(total[t][v], _mm256_madd_epi16(c[t][v], scale[v]));
    }
#pragma GCC unroll 4
    for (int t = 0; t < n_token; t++)
        for (int v = 0; v < 2; v++) {
            const float da = tokens[t].d[g];
            VecF p =
                scaled(pack.d[v], da, f.down != 0 ? _mm256_srai_epi32(total[t][v], f.down) : total[t][v]);
            if constexpr (f.mins != 0)
                p = _mm256_sub_ps(p, scaled(pack.dmin[v], da, min_sum<f.mins>(pack, v, tokens[t], g)));
            add_partial(sums[t] + 8 * v, g, p);
        }
}

}  // namespace

}  // namespace ft::avx2
