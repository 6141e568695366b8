// IQ2 and IQ3: blocks of 256, magnitudes from code books, signs apart.
//   IQ2_XXS: @0 d f16, @2 per 32 columns: 4 indexes u8, then a u32 of 4 x 7 signs and 4 bits of scale
//   IQ2_XS:  @0 d f16, @2 per 8 columns a u16: 9 bits of index, 7 signs; @66 scales [8], a nibble per 16
//   columns IQ2_S:   @0 d f16, @2 indexes u8 [32], @34 signs [32], @66 two more bits of each index [8], @74
//   scales [8] IQ3_XXS: @0 d f16, @2 indexes u8 [64] of 4 columns each, @66 per 32 columns a u32 as in
//   IQ2_XXS IQ3_S:   @0 d f16, @2 indexes u8 [64], @66 a ninth bit of each [8], @74 signs [32], @106 scales
//   [4], a nibble per 32
// Scales are 2s + 1 here; d takes the power of two that is left.
#include "kernels/avx2/code_books.h"
#include "kernels/avx2/dot_signed256.h"
#include "kernels/avx2/matmul_types.h"

namespace ft::avx2 {

namespace {

[[gnu::always_inline]] inline unsigned byte_at(const std::byte* at) { return static_cast<unsigned>(*at); }

[[gnu::always_inline]] inline Vec of_quads(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return _mm256_setr_epi64x(static_cast<int64_t>(a), static_cast<int64_t>(b), static_cast<int64_t>(c),
                              static_cast<int64_t>(d));
}

// Signs of 32 columns as 1 and -1: from a bit each, and from 7 bits for 8 columns each.
[[gnu::always_inline]] inline Vec signs_of_bits(int32_t bits) {
    return _mm256_or_si256(bytes_of_bits(bits, -1), _mm256_set1_epi8(1));
}
[[gnu::always_inline]] inline Vec signs_of_sevens(const uint64_t* signs, uint32_t bits) {
    return of_quads(signs[bits & 127], signs[bits >> 7 & 127], signs[bits >> 14 & 127],
                    signs[bits >> 21 & 127]);
}

// 2s + 1 for scales as 16-bit items.
[[gnu::always_inline]] inline Vec odd(Vec s) {
    return _mm256_add_epi16(_mm256_add_epi16(s, s), _mm256_set1_epi16(1));
}

// From 8 lanes, in each half their 8 values as 16 bits.
[[gnu::always_inline]] inline Vec lanes_in_both_halves(Vec v) {
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(v, v), 0x88);
}

// 8 bytes of scales, the low nibble for 16 columns, the high one for the next 16.
[[gnu::always_inline]] inline Vec scales_of_16s(const std::byte* at) {
    const Half bytes = _mm_cvtepu8_epi16(load8(at));
    return odd(join(_mm_and_si128(bytes, _mm_set1_epi16(15)), _mm_srli_epi16(bytes, 4)));
}

[[gnu::always_inline]] inline VecF d_times(const std::byte* w, size_t stride, float power) {
    return _mm256_mul_ps(halves_of_rows(w, stride), _mm256_set1_ps(power));
}

struct LayoutIQ2_XXS {
    static constexpr size_t k_bytes = 66;
    const uint64_t* book = code_book_iq2_xxs();
    const uint64_t* signs = signs_of_7_bits();

    [[gnu::always_inline]] Vec scales(const std::byte* w) const {
        const VecF a = _mm256_castsi256_ps(load(w + 2)), b = _mm256_castsi256_ps(load(w + 34));
        const Vec rest = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)), 0xd8);
        return odd(lanes_in_both_halves(_mm256_srli_epi32(rest, 28)));
    }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const std::byte* at = w + 2 + 8 * k;
        magnitude =
            of_quads(book[byte_at(at)], book[byte_at(at + 1)], book[byte_at(at + 2)], book[byte_at(at + 3)]);
        sign = signs_of_sevens(signs, read<uint32_t>(at + 4));
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return d_times(w, stride, 0.125f);
    }
};

struct LayoutIQ2_XS {
    static constexpr size_t k_bytes = 74;
    const uint64_t* book = code_book_iq2_xs();
    const uint64_t* signs = signs_of_7_bits();

    [[gnu::always_inline]] Vec scales(const std::byte* w) const { return scales_of_16s(w + 66); }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const std::byte* at = w + 2 + 8 * k;
        const unsigned a = read<uint16_t>(at), b = read<uint16_t>(at + 2), c = read<uint16_t>(at + 4),
                       d = read<uint16_t>(at + 6);
        magnitude = of_quads(book[a & 511], book[b & 511], book[c & 511], book[d & 511]);
        sign = of_quads(signs[a >> 9], signs[b >> 9], signs[c >> 9], signs[d >> 9]);
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return d_times(w, stride, 0.125f);
    }
};

struct LayoutIQ2_S {
    static constexpr size_t k_bytes = 82;
    const uint64_t* book = code_book_iq2_s();

    [[gnu::always_inline]] Vec scales(const std::byte* w) const { return scales_of_16s(w + 74); }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const std::byte* at = w + 2 + 4 * k;
        const unsigned high = byte_at(w + 66 + k);
        magnitude = of_quads(
            book[byte_at(at) | (high << 8 & 0x300)], book[byte_at(at + 1) | (high << 6 & 0x300)],
            book[byte_at(at + 2) | (high << 4 & 0x300)], book[byte_at(at + 3) | (high << 2 & 0x300)]);
        sign = signs_of_bits(read<int32_t>(w + 34 + 4 * k));
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return d_times(w, stride, 0.125f);
    }
};

struct LayoutIQ3_XXS {
    static constexpr size_t k_bytes = 98;
    const uint32_t* book = code_book_iq3_xxs();
    const uint64_t* signs = signs_of_7_bits();

    [[gnu::always_inline]] Vec scales(const std::byte* w) const {
        return odd(lanes_in_both_halves(_mm256_srli_epi32(load(w + 66), 28)));
    }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const std::byte* at = w + 2 + 8 * k;
        const auto entry = [&](int i) __attribute__((always_inline)) {
            return static_cast<int32_t>(book[byte_at(at + i)]);
        };
        magnitude =
            _mm256_setr_epi32(entry(0), entry(1), entry(2), entry(3), entry(4), entry(5), entry(6), entry(7));
        sign = signs_of_sevens(signs, read<uint32_t>(w + 66 + 4 * k));
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return d_times(w, stride, 0.25f);
    }
};

struct LayoutIQ3_S {
    static constexpr size_t k_bytes = 110;
    const uint32_t* book = code_book_iq3_s();

    [[gnu::always_inline]] Vec scales(const std::byte* w) const {
        const Half bytes = _mm_cvtepu8_epi16(load4(w + 106));
        const Half nibbles = _mm_unpacklo_epi16(bytes, _mm_srli_epi16(bytes, 4));
        return odd(twice(_mm_and_si128(nibbles, _mm_set1_epi16(15))));
    }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const std::byte* at = w + 2 + 8 * k;
        const unsigned high = byte_at(w + 66 + k);
        const auto entry = [&](int i) __attribute__((always_inline)) {
            return static_cast<int32_t>(book[byte_at(at + i) | (high << (8 - i) & 0x100)]);
        };
        magnitude =
            _mm256_setr_epi32(entry(0), entry(1), entry(2), entry(3), entry(4), entry(5), entry(6), entry(7));
        sign = signs_of_bits(read<int32_t>(w + 74 + 4 * k));
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return halves_of_rows(w, stride);
    }
};

template <class Layout>
void matmul_book(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotSigned256<Layout>>(m) : matmul_tiles<TileSigned256<Layout>>(m);
}

}  // namespace

void matmul_iq2_xxs(const MatMul& m) { matmul_book<LayoutIQ2_XXS>(m); }
void matmul_iq2_xs(const MatMul& m) { matmul_book<LayoutIQ2_XS>(m); }
void matmul_iq2_s(const MatMul& m) { matmul_book<LayoutIQ2_S>(m); }
void matmul_iq3_xxs(const MatMul& m) { matmul_book<LayoutIQ3_XXS>(m); }
void matmul_iq3_s(const MatMul& m) { matmul_book<LayoutIQ3_S>(m); }

}  // namespace ft::avx2
