// IQ1_S and IQ1_M: blocks of 256, values -1, 0, 1 from a code book, all shifted by an eighth up or down for
// 32 (IQ1_S) or 8 (IQ1_M) columns. In eighths: 8 x value +- 1, and d takes the 2^-3.
//   IQ1_S: @0 d f16, @2 indexes u8 [32], @34 per 32 columns a u16: 4 x 3 more bits of index, 3 bits of scale,
//   the shift IQ1_M: @0 indexes u8 [32], @32 per 8 columns a nibble: 3 more bits of index, the shift; @48 u16
//   [4]: four 3-bit scales
//          for 16 columns each, and in the top nibble a quarter of d (f16)
// Scales are 2s + 1.
#include "kernels/avx2/code_books.h"
#include "kernels/avx2/dot_signed256.h"
#include "kernels/avx2/matmul_types.h"

namespace ft::avx2 {

namespace {

[[gnu::always_inline]] inline unsigned byte_at(const std::byte* at) { return static_cast<unsigned>(*at); }

// Four book entries, each with its shift (1 or -1) in every byte.
[[gnu::always_inline]] inline void shifted(const uint64_t* book, const unsigned* index, Vec shifts,
                                           Vec& magnitude, Vec& sign) {
    const Vec eighths =
        _mm256_setr_epi64x(static_cast<int64_t>(book[index[0]]), static_cast<int64_t>(book[index[1]]),
                           static_cast<int64_t>(book[index[2]]), static_cast<int64_t>(book[index[3]]));
    sign = _mm256_add_epi8(eighths, shifts);
    magnitude = _mm256_abs_epi8(sign);
}

struct LayoutIQ1_S {
    static constexpr size_t k_bytes = 50;
    const uint64_t* book = code_book_iq1();

    [[gnu::always_inline]] Vec scales(const std::byte* w) const {
        const Half s = _mm_and_si128(_mm_srli_epi16(load16(w + 34), 11), _mm_set1_epi16(14));
        return twice(_mm_or_si128(s, _mm_set1_epi16(1)));
    }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const unsigned high = read<uint16_t>(w + 34 + 2 * k);
        const std::byte* at = w + 2 + 4 * k;
        const unsigned index[4] = {byte_at(at) | (high << 8 & 0x700), byte_at(at + 1) | (high << 5 & 0x700),
                                   byte_at(at + 2) | (high << 2 & 0x700),
                                   byte_at(at + 3) | (high >> 1 & 0x700)};
        shifted(book, index, _mm256_set1_epi8((high & 0x8000) != 0 ? -1 : 1), magnitude, sign);
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        return _mm256_mul_ps(halves_of_rows(w, stride), _mm256_set1_ps(0.125f));
    }
};

struct LayoutIQ1_M {
    static constexpr size_t k_bytes = 56;
    const uint64_t* book = code_book_iq1();

    // Word i has the scales of columns 64i .. 64i + 63; half L takes those of 16L .. in each 32.
    [[gnu::always_inline]] Vec scales(const std::byte* w) const {
        const Vec words = _mm256_shuffle_epi8(twice(load8(w + 48)),
                                              both_halves(0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7));
        const Vec to_top =
            _mm256_setr_epi16(1 << 13, 1 << 7, 1 << 13, 1 << 7, 1 << 13, 1 << 7, 1 << 13, 1 << 7, 1 << 10,
                              1 << 4, 1 << 10, 1 << 4, 1 << 10, 1 << 4, 1 << 10, 1 << 4);
        const Vec s = _mm256_srli_epi16(_mm256_mullo_epi16(words, to_top), 13);
        return _mm256_add_epi16(_mm256_add_epi16(s, s), _mm256_set1_epi16(1));
    }
    template <int k>
    [[gnu::always_inline]] void codes(const std::byte* w, Vec& magnitude, Vec& sign) const {
        const unsigned high = read<uint16_t>(w + 32 + 2 * k);
        const std::byte* at = w + 4 * k;
        const unsigned index[4] = {byte_at(at) | (high << 8 & 0x700), byte_at(at + 1) | (high << 4 & 0x700),
                                   byte_at(at + 2) | (high & 0x700), byte_at(at + 3) | (high >> 4 & 0x700)};
        const Vec bit = _mm256_setr_epi64x(0x0008, 0x0080, 0x0800, 0x8000);
        const Vec up =
            _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(high), bit), _mm256_setzero_si256());
        // -1 where the shift is down: 1 - 2 = -1; up is all ones (-1) or 0.
        const Vec shifts = _mm256_sub_epi8(_mm256_set1_epi8(-1), _mm256_add_epi8(up, up));
        shifted(book, index, shifts, magnitude, sign);
    }
    [[gnu::always_inline]] VecF d(const std::byte* w, size_t stride) const {
        alignas(16) uint16_t bits[8];
        for (size_t r = 0; r < 8; r++) {
            const auto words = read<uint64_t>(w + r * stride + 48);
            bits[r] = static_cast<uint16_t>((words >> 12 & 0xf) | (words >> 24 & 0xf0) |
                                            (words >> 36 & 0xf00) | (words >> 48 & 0xf000));
        }
        return _mm256_mul_ps(_mm256_cvtph_ps(load16(bits)), _mm256_set1_ps(0.125f));
    }
};

template <class Layout>
void matmul_iq1(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotSigned256<Layout>>(m) : matmul_tiles<TileSigned256<Layout>>(m);
}

}  // namespace

void matmul_iq1_s(const MatMul& m) { matmul_iq1<LayoutIQ1_S>(m); }
void matmul_iq1_m(const MatMul& m) { matmul_iq1<LayoutIQ1_M>(m); }

}  // namespace ft::avx2
