// Types in blocks of 32 columns, each with its d and an activation scale of its own (arithmetic.md 1.4).
//
// Layouts of unsigned codes of at most 5 bits say
//   k_bytes                   bytes of a block
//   k_less                    what is taken off a code: 0, 8 or 16
//   k_largest                 the largest code
//   k_mins                    whether a block has an m beside its d
//   row_codes(block)          the 32 codes of one row
//   tile_codes(w, stride, q)  of 8 rows: q[i] = columns 4i .. 4i+3
//   scales(w, stride, d, m)   of 8 rows; m is left alone by types without
// Layouts of signed codes say k_bytes, row_codes, tile_codes, scales(w, stride, d).
#pragma once

#include "kernels/avx2/dot_tile16.h"
#include "kernels/avx2/dot_tile8.h"
#include "kernels/avx2/matmul_rows.h"
#include "kernels/avx2/pack_rows.h"

namespace ft::avx2 {

// Tile scratch of unsigned codes.
struct alignas(64) Pack32 {
    Vec w[64][2];
    VecF d[8][2], m[8][2];
};

namespace {

template <class Layout>
struct DotUnsigned32 {
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_group_bytes = 8 * Layout::k_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int n, Ahead& ahead) {
        const Vec one = _mm256_set1_epi16(1);
        VecF p = _mm256_setzero_ps();
        for (int b = 0; b < n / 32; b++, w += Layout::k_bytes) {
            ahead.fetch(k_rows * Layout::k_bytes);
            const Vec q = load(x.q + 256 * g + 32 * b);
            Vec sums[8];
            for (int r = 0; r < 8; r++)
                sums[r] = _mm256_madd_epi16(_mm256_maddubs_epi16(Layout::row_codes(w + r * stride), q), one);
            Vec sum = sum_lanes8(sums);
            const int16_t* s16 = x.s16 + 16 * g + 2 * b;
            const int s32 = s16[0] + s16[1];
            if constexpr (Layout::k_less != 0)
                sum = _mm256_sub_epi32(sum, _mm256_set1_epi32(Layout::k_less * s32));
            const float da = x.d[8 * g + b];
            VecF d, m;
            Layout::scales(w, stride, d, m);
            p = _mm256_add_ps(p, scaled(d, da, sum));
            if constexpr (Layout::k_mins) p = _mm256_add_ps(p, scaled(m, da, _mm256_set1_epi32(s32)));
        }
        return p;
    }
};

template <class Layout>
struct TileUnsigned32 {
    using Pack = Pack32;
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_group_bytes = 8 * Layout::k_bytes;
    // 32 codes of 4 bits add up in 16 bits as they are. Others are made 5-bit codes less 16, see
    // Token::start.
    static constexpr bool k_plain = Layout::k_mins && Layout::k_largest <= 15;
    static constexpr int k_down = Layout::k_less == 8 ? 1 : 0;
    static constexpr Tile8Form k_form = {
        .sub = 32, .per_scale = 32, .start = !k_plain, .mins = 0, .down = k_down};

    static void pack(const std::byte* w, size_t stride, int n, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride)
            for (int b = 0; b < n / 32; b++) {
                Vec q[8];
                Layout::tile_codes(w + b * Layout::k_bytes, stride, q);
                for (int i = 0; i < 8; i++)
                    pack.w[8 * b + i][v] = k_down != 0 ? _mm256_add_epi8(q[i], q[i]) : q[i];
                Layout::scales(w + b * Layout::k_bytes, stride, pack.d[b][v], pack.m[b][v]);
            }
    }

    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int n, TileSums* sums) {
        const int8_t* q[n_token];
        const int16_t* start[n_token];
        VecF p[n_token][2];
        for (int t = 0; t < n_token; t++) {
            q[t] = tokens[t].q + 256 * g;
            start[t] = tokens[t].start + 16 * g;
            p[t][0] = p[t][1] = _mm256_setzero_ps();
        }
#pragma GCC unroll 1
        for (int b = 0; b < n / 32; b++) {
            Vec c[n_token][2];
            sub_block_sums<k_form, n_token>(pack.w, q, start, b, c);
#pragma GCC unroll 4
            for (int t = 0; t < n_token; t++)
                for (int v = 0; v < 2; v++) p[t][v] = add_block(p[t][v], pack, v, b, c[t][v], tokens[t], g);
        }
#pragma GCC unroll 4
        for (int t = 0; t < n_token; t++)
            for (int v = 0; v < 2; v++) add_partial(sums[t] + 8 * v, g, p[t][v]);
    }

 private:
    // p of 8 rows and one token, and the block b whose products are in c.
    [[gnu::always_inline]] static VecF add_block(VecF p, const Pack& pack, int v, int b, Vec c,
                                                 const Token& x, int64_t g) {
        const Vec one = _mm256_set1_epi16(1);
        Vec sum = _mm256_madd_epi16(c, one);
        if constexpr (k_down != 0) sum = _mm256_srai_epi32(sum, k_down);
        const float da = x.d[8 * g + b];
        if constexpr (!Layout::k_mins) return _mm256_add_ps(p, scaled(pack.d[b][v], da, sum));
        const Vec s32 = _mm256_madd_epi16(load4_everywhere(x.s16 + 16 * g + 2 * b), one);
        if constexpr (!k_plain) sum = _mm256_add_epi32(sum, _mm256_slli_epi32(s32, 4));
        p = _mm256_add_ps(p, scaled(pack.d[b][v], da, sum));
        return _mm256_add_ps(p, scaled(pack.m[b][v], da, s32));
    }
};

template <class Layout>
struct DotSigned32 {
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_group_bytes = 8 * Layout::k_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int n, Ahead& ahead) {
        const Vec one = _mm256_set1_epi16(1);
        VecF p = _mm256_setzero_ps();
        for (int b = 0; b < n / 32; b++, w += Layout::k_bytes) {
            ahead.fetch(k_rows * Layout::k_bytes);
            const Vec q = load(x.q + 256 * g + 32 * b);
            Vec sums[8];
            for (int r = 0; r < 8; r++)
                sums[r] = _mm256_madd_epi16(multiply_signed(Layout::row_codes(w + r * stride), q), one);
            p = _mm256_add_ps(p, scaled(Layout::scales(w, stride), x.d[8 * g + b], sum_lanes8(sums)));
        }
        return p;
    }
};

template <class Layout>
struct TileSigned32 {
    using Pack = Pack16;
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_group_bytes = 8 * Layout::k_bytes;

    static void pack(const std::byte* w, size_t stride, int n, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride)
            for (int b = 0; b < n / 32; b++) {
                Vec q[8];
                Layout::tile_codes(w + b * Layout::k_bytes, stride, q);
                for (int i = 0; i < 8; i++) put_columns(pack, 8 * b + i, v, q[i]);
                pack.d[b][v] = Layout::scales(w + b * Layout::k_bytes, stride);
            }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int n, TileSums* sums) {
        run_tile16_by32<n_token>(pack, tokens, g, n, sums);
    }
};

}  // namespace

}  // namespace ft::avx2
