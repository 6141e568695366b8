// Blocks of 256 of signed 8-bit codes with scales per 16 or 32 columns: the types with tables and code books.
//
// A Layout is made once for 8 rows (it may hold the addresses of code books). It says
//   k_bytes                    bytes of a block
//   scales(w)                  half L, item k = scale of columns 32k + 16L .. + 15, i16
//   codes<k>(w, magnitude, sign)  columns 32k .. 32k + 31: |code|, and anything with the code's sign
//   d(w, stride)               d of 8 rows, with the power of two that scales and codes leave to it
#pragma once

#include "kernels/avx2/dot_tile16.h"
#include "kernels/avx2/matmul_rows.h"
#include "kernels/avx2/pack_rows.h"

namespace ft::avx2 {

namespace {

template <class Layout>
struct DotSigned256 {
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = Layout::k_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int, Ahead& ahead) {
        const Layout layout;
        Vec sums[8];
        for (int r = 0; r < 8; r++) {
            ahead.fetch(Layout::k_bytes);
            const std::byte* row = w + r * stride;
            const Vec scales = layout.scales(row);
            Vec even = product<0>(layout, row, x.q + 256 * g, scales);
            Vec odd = product<1>(layout, row, x.q + 256 * g, scales);
            add_products<2>(layout, row, x.q + 256 * g, scales, even, odd);
            sums[r] = _mm256_add_epi32(even, odd);
        }
        return scaled(layout.d(w, stride), x.d[g], sum_lanes8(sums));
    }

 private:
    template <int k>
    [[gnu::always_inline]] static Vec product(const Layout& layout, const std::byte* w, const int8_t* q,
                                              Vec scales) {
        constexpr char i = 2 * k;
        const Vec pick =
            both_halves(i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1);
        Vec magnitude, sign;
        layout.template codes<k>(w, magnitude, sign);
        const Vec products = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(load(q + 32 * k), sign));
        return _mm256_madd_epi16(products, _mm256_shuffle_epi8(scales, pick));
    }
    template <int k>
    [[gnu::always_inline]] static void add_products(const Layout& layout, const std::byte* w, const int8_t* q,
                                                    Vec scales, Vec& even, Vec& odd) {
        even = _mm256_add_epi32(even, product<k>(layout, w, q, scales));
        odd = _mm256_add_epi32(odd, product<k + 1>(layout, w, q, scales));
        if constexpr (k < 6) add_products<k + 2>(layout, w, q, scales, even, odd);
    }
};

// 8 rows of signed codes in natural order, and their scales, into half v of a tile.
struct CodeRows {
    alignas(64) int8_t code[8][256];
    alignas(64) int16_t scale[8][16];  // as a Layout's scales()
};

// |code x scale| must stay within 16 bits.
inline void put_code_rows(const CodeRows& rows, int v, Pack16& pack) {
    Vec scales[8];
    for (int r = 0; r < 8; r++) scales[r] = load(rows.scale[r]);
    Vec by_column[8];
    interleave_items(scales, by_column);
    for (int i = 0; i < 16; i++) {
        const Vec both = by_column[i / 2];
        const Vec scale =
            twice_in_lanes(i % 2 == 0 ? _mm256_castsi256_si128(both) : _mm256_extracti128_si256(both, 1));
        Vec q[4];
        interleave_rows(reinterpret_cast<const std::byte*>(rows.code[0] + 16 * i), 256, q);
        for (int c = 0; c < 4; c++) put_columns(pack, 4 * i + c, v, q[c], scale);
    }
}

template <class Layout>
struct TileSigned256 {
    using Pack = Pack16;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = Layout::k_bytes;

    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        const Layout layout;
        CodeRows rows;
        for (int v = 0; v < 2; v++, w += 8 * stride) {
            for (int r = 0; r < 8; r++) {
                save(rows.scale[r], layout.scales(w + r * stride));
                put_codes<0>(layout, w + r * stride, rows.code[r]);
            }
            put_code_rows(rows, v, pack);
            pack.d[0][v] = layout.d(w, stride);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile16_by256<n_token>(pack, tokens, g, sums);
    }

 private:
    template <int k>
    [[gnu::always_inline]] static void put_codes(const Layout& layout, const std::byte* w, int8_t* out) {
        Vec magnitude, sign;
        layout.template codes<k>(w, magnitude, sign);
        save(out + 32 * k, _mm256_sign_epi8(magnitude, sign));
        if constexpr (k < 7) put_codes<k + 1>(layout, w, out);
    }
};

}  // namespace

}  // namespace ft::avx2
