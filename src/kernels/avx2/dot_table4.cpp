// 4-bit codes that stand for the values of a table.
//   IQ4_NL: @0 d f16, @2 qs[16]                     blocks of 32
//   MXFP4:  @0 exponent u8, @1 qs[16]               blocks of 32
//   IQ4_XS: @0 d f16, @2 upper two bits of 8 scales u16, @4 their low nibbles [4], @8 qs[128]   blocks of 256
// Of 16 bytes qs the low nibbles are columns 0..15, the high ones 16..31.
#include "kernels/avx2/dot_blocks32.h"
#include "kernels/avx2/dot_tile16.h"
#include "kernels/avx2/matmul_types.h"

namespace ft::avx2 {

namespace {

[[gnu::always_inline]] inline Vec values_of_iq4(Vec codes) {
    const Vec table = both_halves(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    return _mm256_shuffle_epi8(table, codes);
}

// Twice the e2m1 value, plus 16.
[[gnu::always_inline]] inline Vec values_of_fp4(Vec codes) {
    const Vec table = both_halves(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4);
    return _mm256_shuffle_epi8(table, codes);
}

// Columns of 8 rows from the nibbles at w, through `values`.
template <Vec (*values)(Vec)>
[[gnu::always_inline]] inline void tile_values(const std::byte* w, size_t stride, Vec* q) {
    Vec bytes[4];
    interleave_rows(w, stride, bytes);
    for (int i = 0; i < 4; i++) {
        q[i] = values(low_nibbles(bytes[i]));
        q[4 + i] = values(high_nibbles(bytes[i]));
    }
}

struct LayoutIQ4_NL {
    static constexpr size_t k_bytes = 18;
    [[gnu::always_inline]] static Vec row_codes(const std::byte* block) {
        return values_of_iq4(all_nibbles(block + 2));
    }
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, Vec* q) {
        tile_values<values_of_iq4>(w + 2, stride, q);
    }
    [[gnu::always_inline]] static VecF scales(const std::byte* w, size_t stride) {
        return halves_of_rows(w, stride);
    }
};

struct LayoutMXFP4 {
    static constexpr size_t k_bytes = 17;
    static constexpr int k_less = 16, k_largest = 28;
    static constexpr bool k_mins = false;
    [[gnu::always_inline]] static Vec row_codes(const std::byte* block) {
        return values_of_fp4(all_nibbles(block + 1));
    }
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, Vec* q) {
        tile_values<values_of_fp4>(w + 1, stride, q);
    }
    // 2^(e - 128); e of 0 and 1 give subnormals.
    [[gnu::always_inline]] static void scales(const std::byte* w, size_t stride, VecF& d, VecF&) {
        const auto e = [&](size_t r)
                           __attribute__((always_inline)) { return static_cast<int>(w[r * stride]); };
        const Vec exponents = _mm256_setr_epi32(e(0), e(1), e(2), e(3), e(4), e(5), e(6), e(7));
        const Vec one = _mm256_set1_epi32(1);
        const Vec normal = _mm256_slli_epi32(_mm256_sub_epi32(exponents, one), 23);
        const Vec subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), exponents);
        d = _mm256_castsi256_ps(_mm256_blendv_epi8(subnormal, normal, _mm256_cmpgt_epi32(exponents, one)));
    }
};

// Scales of one row, or of a row in each half: 8 as 16-bit items. headers: the first 8 bytes of the block in
// each half. The low four bits are nibbles; the upper two come down by a multiplication that shifts each item
// by its own count.
[[gnu::always_inline]] inline Vec scales_of_iq4_xs(Vec headers) {
    const Vec bytes = both_halves(4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7, -1);
    const Vec places = both_halves(2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3);
    const Vec low_shift = twice(_mm_setr_epi16(4096, 256, 4096, 256, 4096, 256, 4096, 256));
    const Vec high_shift =
        twice(_mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1));
    const Vec low = _mm256_srli_epi16(_mm256_mullo_epi16(_mm256_shuffle_epi8(headers, bytes), low_shift), 12);
    const Vec high =
        _mm256_srli_epi16(_mm256_mullo_epi16(_mm256_shuffle_epi8(headers, places), high_shift), 14);
    return _mm256_sub_epi16(_mm256_or_si256(low, _mm256_slli_epi16(high, 4)), _mm256_set1_epi16(32));
}

// Rows i and i + 4 together, a row in each half: they share the decoding of the scales and the loads of
// activations.
struct DotIQ4_XS {
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = 136;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int, Ahead& ahead) {
        const int8_t* q = x.q + 256 * g;
        Vec picks[8];
        pin_picks<0>(picks);
        Vec sums[4];
        for (int i = 0; i < 4; i++) {
            const std::byte *a = w + i * stride, *b = w + (i + 4) * stride;
            ahead.fetch(2 * k_group_bytes);
            const Vec scales = scales_of_iq4_xs(join(load8(a), load8(b)));
            Vec low = _mm256_setzero_si256(), high = low;
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++) {
                const Vec codes = load16_pair(a + 8 + 16 * k, b + 8 + 16 * k);
                const Vec scale = _mm256_shuffle_epi8(scales, picks[k]);
                const Vec first =
                    multiply_signed(values_of_iq4(low_nibbles(codes)), load16_twice(q + 32 * k));
                const Vec second =
                    multiply_signed(values_of_iq4(high_nibbles(codes)), load16_twice(q + 32 * k + 16));
                low = _mm256_add_epi32(low, _mm256_madd_epi16(first, scale));
                high = _mm256_add_epi32(high, _mm256_madd_epi16(second, scale));
            }
            sums[i] = _mm256_add_epi32(low, high);
        }
        // Lane order 0 1 2 3 | 4 5 6 7: rows in order.
        return scaled(halves_of_rows(w, stride), x.d[g], sum_lanes4(sums));
    }

 private:
    template <int k>
    [[gnu::always_inline]] static void pin_picks(Vec* picks) {
        constexpr char i = 2 * k;
        picks[k] = pinned(
            both_halves(i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1, i, i + 1));
        if constexpr (k < 7) pin_picks<k + 1>(picks);
    }
};

struct TileIQ4_XS {
    using Pack = Pack16;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = 136;

    // The weights of a tile are scale x value, at most 32 x 127.
    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride) {
            Vec rows[8], scales[8];
            for (int r = 0; r < 8; r++) rows[r] = scales_of_iq4_xs(twice(load8(w + r * stride)));
            interleave_items(rows, scales);
            for (int k = 0; k < 8; k++) {
                const Vec scale = twice_in_lanes(_mm256_castsi256_si128(scales[k]));
                Vec q[8];
                tile_values<values_of_iq4>(w + 8 + 16 * k, stride, q);
                for (int i = 0; i < 8; i++) put_columns(pack, 8 * k + i, v, q[i], scale);
            }
            pack.d[0][v] = halves_of_rows(w, stride);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile16_by256<n_token>(pack, tokens, g, sums);
    }
};

}  // namespace

void matmul_iq4_nl(const MatMul& m) {
    m.n_token < 3 ? matmul_rows<DotSigned32<LayoutIQ4_NL>>(m) : matmul_tiles<TileSigned32<LayoutIQ4_NL>>(m);
}
void matmul_mxfp4(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotUnsigned32<LayoutMXFP4>>(m) : matmul_tiles<TileUnsigned32<LayoutMXFP4>>(m);
}
void matmul_iq4_xs(const MatMul& m) {
    m.n_token < 3 ? matmul_rows<DotIQ4_XS>(m) : matmul_tiles<TileIQ4_XS>(m);
}

}  // namespace ft::avx2
