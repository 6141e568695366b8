// 4-bit codes that stand for the values of a table.
//   IQ4_NL: @0 d f16, @2 qs[16]                     blocks of 32
//   MXFP4:  @0 exponent u8, @1 qs[16]               blocks of 32
//   IQ4_XS: @0 d f16, @2 upper two bits of 8 scales u16, @4 their low nibbles [4], @8 qs[128]   blocks of 256
// Of 16 bytes qs the low nibbles are columns 0..15, the high ones 16..31.
#include "kernels/avx2/dot_blocks32.h"
#include "kernels/avx2/dot_signed256.h"
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

struct LayoutIQ4_XS {
    static constexpr size_t k_bytes = 136;

    // Low four bits from a nibble; the upper two by a multiplication that shifts each item by its own count.
    [[gnu::always_inline]] Vec scales(const std::byte* w) const {
        Half low = _mm_cvtepu8_epi16(load4(w + 4));
        low = _mm_and_si128(_mm_unpacklo_epi16(low, _mm_srli_epi16(low, 4)), _mm_set1_epi16(15));
        const Half shift = _mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1);
        Half high = _mm_mullo_epi16(_mm_set1_epi16(read<int16_t>(w + 2)), shift);
        high = _mm_and_si128(_mm_srli_epi16(high, 10), _mm_set1_epi16(48));
        return twice(_mm_sub_epi16(_mm_or_si128(low, high), _mm_set1_epi16(32)));
    }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        sign = values_of_iq4(all_nibbles(w + 8 + 16 * k));
        magnitude = _mm256_abs_epi8(sign);
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return halves_of_rows(w, stride);
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
    m.n_token < 4 ? matmul_rows<DotSigned256<LayoutIQ4_XS>>(m) : matmul_tiles<TileSigned256<LayoutIQ4_XS>>(m);
}

}  // namespace ft::avx2
