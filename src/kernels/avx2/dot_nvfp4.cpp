// NVFP4: blocks of 64 with a scale for each 16 columns (a step), which add to p one by one.
//   @0 scales u8 [4] (4 bits exponent, 3 bits fraction), @4 qs[32]: 8 bytes a step, low nibbles first
// A code stands for twice the e2m1 value, the scale is halved.
#include "kernels/avx2/dot_tile8.h"
#include "kernels/avx2/matmul_rows.h"
#include "kernels/avx2/matmul_types.h"
#include "kernels/avx2/pack_rows.h"

namespace ft::avx2 {

namespace {

constexpr size_t k_block_bytes = 36;

// Values plus 16.
[[gnu::always_inline]] inline Vec values_of_fp4(Vec codes) {
    const Vec table = both_halves(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4);
    return _mm256_shuffle_epi8(table, codes);
}

// Half of the scale of step s of 8 rows; bytes: the 4 scales of each row in its lane. As the upper bits of an
// f32 the byte is 2^-119 of it, subnormals included. 0x7f is zero.
template <int s>
[[gnu::always_inline]] inline VecF scale_of_step(Vec bytes) {
    const Vec byte = _mm256_and_si256(_mm256_srli_epi32(bytes, 8 * s), _mm256_set1_epi32(0xff));
    const Vec bits = _mm256_slli_epi32(_mm256_and_si256(byte, _mm256_set1_epi32(0x7f)), 20);
    const Vec zero = _mm256_cmpeq_epi32(byte, _mm256_set1_epi32(0x7f));
    return _mm256_mul_ps(_mm256_castsi256_ps(_mm256_andnot_si256(zero, bits)), _mm256_set1_ps(0x1p119f));
}

struct DotNVFP4 {
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_group_bytes = 4 * k_block_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int n, Ahead& ahead) {
        VecF p = _mm256_setzero_ps();
        for (int b = 0; b < n / 64; b++, w += k_block_bytes) {
            ahead.fetch(k_rows * k_block_bytes);
            const Vec scales = dwords_of_rows(w, stride);
            p = add_two_steps<0>(p, w, stride, x, 8 * g + 2 * b, scales);
            p = add_two_steps<2>(p, w, stride, x, 8 * g + 2 * b + 1, scales);
        }
        return p;
    }

 private:
    // Steps s and s + 1: columns 32i .. 32i + 31 of the row.
    template <int s>
    [[gnu::always_inline]] static VecF add_two_steps(VecF p, const std::byte* w, size_t stride,
                                                     const Token& x, int64_t i, Vec scales) {
        const Vec one = _mm256_set1_epi16(1), shift = _mm256_setr_epi64x(0, 4, 0, 4);
        const Vec q = load(x.q + 32 * i);
        Vec sums[8];
        for (int r = 0; r < 8; r++) {
            const Vec bytes = _mm256_castsi128_si256(load16(w + r * stride + 4 + 8 * s));
            const Vec codes = low_nibbles(_mm256_srlv_epi64(_mm256_permute4x64_epi64(bytes, 0x50), shift));
            sums[r] = _mm256_madd_epi16(_mm256_maddubs_epi16(values_of_fp4(codes), q), one);
        }
        const Vec a = sum_lanes4(sums), b = sum_lanes4(sums + 4);  // a step in each half
        const Vec first = _mm256_permute2x128_si256(a, b, 0x20),
                  second = _mm256_permute2x128_si256(a, b, 0x31);
        p = _mm256_add_ps(p, scaled(scale_of_step<s>(scales), x.d[i], less_16(first, x.s16[2 * i])));
        return _mm256_add_ps(p,
                             scaled(scale_of_step<s + 1>(scales), x.d[i], less_16(second, x.s16[2 * i + 1])));
    }
    [[gnu::always_inline]] static Vec less_16(Vec sum, int s16) {
        return _mm256_sub_epi32(sum, _mm256_set1_epi32(16 * s16));
    }
};

struct alignas(64) PackSteps {
    Vec w[64][2];
    VecF d[16][2];
};

struct TileNVFP4 {
    using Pack = PackSteps;
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_group_bytes = 4 * k_block_bytes;
    // 16 values of at most 28 fit 16 bits.
    static constexpr Tile8Form k_form = {.sub = 16, .per_scale = 16, .start = false, .mins = 0, .down = 0};

    static void pack(const std::byte* w, size_t stride, int n, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride)
            for (int b = 0; b < n / 64; b++) {
                const std::byte* block = w + b * k_block_bytes;
                for (int h = 0; h < 2; h++) {
                    Vec bytes[4];  // of steps 2h (first two) and 2h + 1
                    interleave_rows(block + 4 + 16 * h, stride, bytes);
                    for (int c = 0; c < 4; c++) {
                        const int at = 16 * b + 8 * h + 4 * (c / 2) + c % 2;
                        pack.w[at][v] = values_of_fp4(low_nibbles(bytes[c]));
                        pack.w[at + 2][v] = values_of_fp4(high_nibbles(bytes[c]));
                    }
                }
                const Vec scales = dwords_of_rows(block, stride);
                pack.d[4 * b][v] = scale_of_step<0>(scales);
                pack.d[4 * b + 1][v] = scale_of_step<1>(scales);
                pack.d[4 * b + 2][v] = scale_of_step<2>(scales);
                pack.d[4 * b + 3][v] = scale_of_step<3>(scales);
            }
    }

    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int n, TileSums* sums) {
        const Vec one = _mm256_set1_epi16(1);
        const int8_t* q[n_token];
        const int16_t* no_start[n_token] = {};
        VecF p[n_token][2];
        for (int t = 0; t < n_token; t++) {
            q[t] = tokens[t].q + 256 * g;
            p[t][0] = p[t][1] = _mm256_setzero_ps();
        }
#pragma GCC unroll 1
        for (int s = 0; s < n / 16; s++) {
            Vec c[n_token][2];
            sub_block_sums<k_form, n_token>(pack.w, q, no_start, s, c);
#pragma GCC unroll 4
            for (int t = 0; t < n_token; t++) {
                const Vec offset = _mm256_set1_epi32(16 * tokens[t].s16[16 * g + s]);
                const float da = tokens[t].d[8 * g + s / 2];
                for (int v = 0; v < 2; v++) {
                    const Vec sum = _mm256_sub_epi32(_mm256_madd_epi16(c[t][v], one), offset);
                    p[t][v] = _mm256_add_ps(p[t][v], scaled(pack.d[s][v], da, sum));
                }
            }
        }
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++)
            for (int v = 0; v < 2; v++) add_partial(sums[t] + 8 * v, g, p[t][v]);
    }
};

}  // namespace

void matmul_nvfp4(const MatMul& m) { m.n_token < 2 ? matmul_rows<DotNVFP4>(m) : matmul_tiles<TileNVFP4>(m); }

}  // namespace ft::avx2
