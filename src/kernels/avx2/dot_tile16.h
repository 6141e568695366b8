// The 16-bit tile: 16 rows of signed weights of up to 16 bits (codes of 8 bits, or codes x scales) against up
// to 4 tokens, lanes = rows as in dot_tile8.h.
//
// One multiply-add takes two columns of 8 rows into 32 bits. Four columns c .. c + 3 are two steps: c and c +
// 2, then c + 1 and c + 3, because that is how bytes are widened with shifts alone. The activations are
// widened in the same order for each tile; keeping them widened would triple the blob, and costs 7 % here.
#pragma once

#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul_tiles.h"
#include "kernels/avx2/simd.h"

namespace ft::avx2 {

struct alignas(64) Pack16 {
    Vec w[128][2];  // [step][rows 0..7, 8..15]: 2 columns of 8 rows
    VecF d[8][2];   // of each 32 columns, or of the 256: d[0]
};

namespace {

[[gnu::always_inline]] inline Vec even_bytes(Vec v) { return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8); }
[[gnu::always_inline]] inline Vec odd_bytes(Vec v) { return _mm256_srai_epi16(v, 8); }

// Four columns of 8 rows; scale: of the rows, twice in each lane.
[[gnu::always_inline]] inline void put_columns(Pack16& pack, int i, int v, Vec codes) {
    pack.w[2 * i][v] = even_bytes(codes);
    pack.w[2 * i + 1][v] = odd_bytes(codes);
}
[[gnu::always_inline]] inline void put_columns(Pack16& pack, int i, int v, Vec codes, Vec scale) {
    pack.w[2 * i][v] = _mm256_mullo_epi16(even_bytes(codes), scale);
    pack.w[2 * i + 1][v] = _mm256_mullo_epi16(odd_bytes(codes), scale);
}

// The activations of n columns, widened: per 32 columns 16 even bytes, then 16 odd ones.
template <int n_token>
struct Wide {
    alignas(64) int16_t x[n_token][256];
    [[gnu::always_inline]] Wide(const Token* tokens, int64_t g, int n) {
        for (int t = 0; t < n_token; t++)
            for (int i = 0; i < n; i += 32) {
                const Vec q = load(tokens[t].q + 256 * g + i);
                save(x[t] + i, even_bytes(q));
                save(x[t] + i + 16, odd_bytes(q));
            }
    }
};

// Adds columns 32b .. 32b + 31 to `sum`.
template <int n_token>
[[gnu::always_inline]] inline void add_columns(const Pack16& pack, const Wide<n_token>& wide, int b,
                                               Vec (*sum)[2]) {
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) {
        const Vec w0 = pack.w[16 * b + k][0], w1 = pack.w[16 * b + k][1];
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++) {
            const Vec x = load4_everywhere(wide.x[t] + 32 * b + 16 * (k % 2) + k / 2 * 2);
            sum[t][0] = _mm256_add_epi32(sum[t][0], _mm256_madd_epi16(w0, x));
            sum[t][1] = _mm256_add_epi32(sum[t][1], _mm256_madd_epi16(w1, x));
            keep(sum[t][0]);
            keep(sum[t][1]);
        }
    }
}

// One d and one activation scale for each 32 columns.
template <int n_token>
[[gnu::always_inline]] inline void run_tile16_by32(const Pack16& pack, const Token* tokens, int64_t g, int n,
                                                   TileSums* sums) {
    const Wide<n_token> wide(tokens, g, n);
    VecF p[n_token][2];
    for (int t = 0; t < n_token; t++) p[t][0] = p[t][1] = _mm256_setzero_ps();
#pragma GCC unroll 1
    for (int b = 0; b < n / 32; b++) {
        Vec sum[n_token][2];
        for (int t = 0; t < n_token; t++) sum[t][0] = sum[t][1] = _mm256_setzero_si256();
        add_columns<n_token>(pack, wide, b, sum);
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++)
            for (int v = 0; v < 2; v++)
                p[t][v] = _mm256_add_ps(p[t][v], scaled(pack.d[b][v], tokens[t].d[8 * g + b], sum[t][v]));
    }
#pragma GCC unroll 4
    for (int t = 0; t < n_token; t++)
        for (int v = 0; v < 2; v++) add_partial(sums[t] + 8 * v, g, p[t][v]);
}

// One for all 256.
template <int n_token>
[[gnu::always_inline]] inline void run_tile16_by256(const Pack16& pack, const Token* tokens, int64_t g,
                                                    TileSums* sums) {
    const Wide<n_token> wide(tokens, g, 256);
    Vec sum[n_token][2];
    for (int t = 0; t < n_token; t++) sum[t][0] = sum[t][1] = _mm256_setzero_si256();
#pragma GCC unroll 1
    for (int b = 0; b < 8; b++) add_columns<n_token>(pack, wide, b, sum);
#pragma GCC unroll 4
    for (int t = 0; t < n_token; t++)
        for (int v = 0; v < 2; v++)
            add_partial(sums[t] + 8 * v, g, scaled(pack.d[0][v], tokens[t].d[g], sum[t][v]));
}

}  // namespace

}  // namespace ft::avx2
