// Blocks of 256 with 16 sub-blocks of 16 columns: unsigned codes of up to 6 bits less 32, signed scales.
//
// A Layout says
//   k_bytes, k_d         bytes of a block, where its d is
//   k_down               its codes are 2^k_down times the type's (then 32 is 2^k_down times the type's
//   offset) row_codes<n>(w, q)   codes of columns 128 n .. 128 n + 127 of one row, 32 in a register
//   tile_codes<n>(w, stride, h, q)  of these the columns 16 h .. 16 h + 15 of each 32, of 8 rows; q[i][c]: 4
//   columns scales(w)            16 scales, i8
#pragma once

#include "kernels/avx2/dot_tile8.h"
#include "kernels/avx2/matmul_rows.h"
#include "kernels/avx2/pack_rows.h"

namespace ft::avx2 {

namespace {

template <class Layout>
struct DotSub16 {
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = Layout::k_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int, Ahead& ahead) {
        const int8_t* q = x.q + 256 * g;
        const Vec start[2] = {starts_in_tree_order(x.start + 32 * g),
                              starts_in_tree_order(x.start + 32 * g + 16)};
        Vec sums[8];
        for (int r = 0; r < 8; r++) {
            ahead.fetch(Layout::k_bytes);
            const std::byte* row = w + r * stride;
            const Vec scales = twice(Layout::scales(row));
            sums[r] = _mm256_add_epi32(half<0>(row, q, start[0], scales), half<1>(row, q, start[1], scales));
        }
        Vec sum = sum_lanes8(sums);
        if constexpr (Layout::k_down != 0) sum = _mm256_srai_epi32(sum, Layout::k_down);
        return scaled(halves_of_rows(w + Layout::k_d, stride), x.d[g], sum);
    }

 private:
    // The tree below leaves in half L of a register the items 0 2 4 6 0 2 4 6 of the sub-blocks 2p + L; the
    // starts of 8 sub-blocks (two items each) are brought into that order.
    [[gnu::always_inline]] static Vec starts_in_tree_order(const int16_t* start) {
        const Vec even_odd =
            _mm256_permutevar8x32_epi32(load(start), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
        return _mm256_shuffle_epi8(even_odd,
                                   both_halves(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    }
    // Scale of sub-block 8n + 2p + L as items p and p + 4 of half L, sign-extended.
    template <int n>
    [[gnu::always_inline]] static Vec scales_in_tree_order(Vec scales) {
        constexpr char k = 8 * n;
        const Vec control = _mm256_setr_epi8(-1, k, -1, k + 2, -1, k + 4, -1, k + 6, -1, k, -1, k + 2, -1,
                                             k + 4, -1, k + 6, -1, k + 1, -1, k + 3, -1, k + 5, -1, k + 7, -1,
                                             k + 1, -1, k + 3, -1, k + 5, -1, k + 7);
        return _mm256_srai_epi16(_mm256_shuffle_epi8(scales, control), 8);
    }
    // Columns 128 n .. 128 n + 127 of one row. The 16-bit adds may wrap; the start brings the items back into
    // range (8 x 32 x 127 = 32,512).
    template <int n>
    [[gnu::always_inline]] static Vec half(const std::byte* w, const int8_t* x, Vec start, Vec scales) {
        Vec q[4], p[4];
        Layout::template row_codes<n>(w, q);
        for (int i = 0; i < 4; i++) p[i] = _mm256_maddubs_epi16(q[i], load(x + 128 * n + 32 * i));
        const Vec items = add_pairs16_by32(add_pairs16(p[0], p[1]), add_pairs16(p[2], p[3]));
        return _mm256_madd_epi16(_mm256_add_epi16(items, start), scales_in_tree_order<n>(scales));
    }
};

template <class Layout>
struct TileSub16 {
    using Pack = Pack8;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = Layout::k_bytes;
    static constexpr Tile8Form k_form = {
        .sub = 16, .per_scale = 16, .start = true, .mins = 0, .down = Layout::k_down};

    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride) {
            for (int h = 0; h < 2; h++) {
                pack_codes<0>(w, stride, h, v, pack);
                pack_codes<1>(w, stride, h, v, pack);
            }
            pack_scales(w, stride, v, pack);
            pack.d[v] = halves_of_rows(w + Layout::k_d, stride);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile8<k_form, n_token>(pack, tokens, g, sums);
    }

 private:
    template <int n>
    [[gnu::always_inline]] static void pack_codes(const std::byte* w, size_t stride, int h, int v,
                                                  Pack& pack) {
        Vec q[4][4];
        Layout::template tile_codes<n>(w, stride, h, q);
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < 4; c++) pack.w[32 * n + 8 * i + 4 * h + c][v] = q[i][c];
    }
    static void pack_scales(const std::byte* w, size_t stride, int v, Pack& pack) {
        uint64_t scales[2][8];
        for (int r = 0; r < 8; r++) {
            const Half s = Layout::scales(w + r * stride);
            scales[0][r] = static_cast<uint64_t>(_mm_cvtsi128_si64(s));
            scales[1][r] = static_cast<uint64_t>(_mm_extract_epi64(s, 1));
        }
        for (int n = 0; n < 2; n++) {
            Half bytes[4];
            interleave_bytes(scales[n], bytes);
            for (int j = 0; j < 4; j++) {
                pack.scale[8 * n + 2 * j][v] = spread_signed<0>(bytes[j]);
                pack.scale[8 * n + 2 * j + 1][v] = spread_signed<1>(bytes[j]);
            }
        }
    }
};

}  // namespace

}  // namespace ft::avx2
