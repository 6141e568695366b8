// Blocks of 32 with linear codes.
//   Q4_0: @0 d f16, @2 qs[16]                        code - 8
//   Q4_1: @0 d, @2 m f16, @4 qs[16]
//   Q5_0: @0 d f16, @2 fifth bits u32, @6 qs[16]     code - 16
//   Q5_1: @0 d, @2 m f16, @4 fifth bits u32, @8 qs[16]
//   Q8_0: @0 d f16, @2 codes i8 [32]
// qs: the low nibbles are columns 0..15, the high ones 16..31.
#include "kernels/avx2/dot_blocks32.h"
#include "kernels/avx2/matmul_types.h"

namespace ft::avx2 {

namespace {

// Columns of 8 rows from the nibbles at w.
[[gnu::always_inline]] inline void tile_nibbles(const std::byte* w, size_t stride, Vec* q) {
    Vec bytes[4];
    interleave_rows(w, stride, bytes);
    for (int i = 0; i < 4; i++) {
        q[i] = low_nibbles(bytes[i]);
        q[4 + i] = high_nibbles(bytes[i]);
    }
}

// Fifth bits of columns 4i .. 4i+3 of 8 rows, as 16 or 0; bits: the 32 bits of each row in its lane.
template <int i>
[[gnu::always_inline]] inline Vec fifth_bits(Vec bits) {
    constexpr char k = i / 2;
    const Vec spread = both_halves(k, k, k, k, k + 4, k + 4, k + 4, k + 4, k + 8, k + 8, k + 8, k + 8, k + 12,
                                   k + 12, k + 12, k + 12);
    const Vec mask = _mm256_set1_epi32(i % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010));
    const Vec masked = _mm256_and_si256(_mm256_shuffle_epi8(bits, spread), mask);
    return _mm256_and_si256(_mm256_cmpeq_epi8(masked, mask), _mm256_set1_epi8(16));
}

template <int i>
[[gnu::always_inline]] inline void add_fifth_bits(Vec bits, Vec* q) {
    q[i] = _mm256_or_si256(q[i], fifth_bits<i>(bits));
    if constexpr (i < 7) add_fifth_bits<i + 1>(bits, q);
}

template <int offset>
struct Nibbles {
    [[gnu::always_inline]] static Vec row_codes(const std::byte* block) {
        return all_nibbles(block + offset);
    }
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, Vec* q) {
        tile_nibbles(w + offset, stride, q);
    }
};

// The fifth bits are the 4 bytes before the nibbles.
template <int offset>
struct FiveBits {
    [[gnu::always_inline]] static Vec row_codes(const std::byte* block) {
        return _mm256_or_si256(all_nibbles(block + offset),
                               bytes_of_bits(read<int32_t>(block + offset - 4), 16));
    }
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, Vec* q) {
        tile_nibbles(w + offset, stride, q);
        add_fifth_bits<0>(dwords_of_rows(w + offset - 4, stride), q);
    }
};

struct OnlyD {
    static constexpr bool k_mins = false;
    [[gnu::always_inline]] static void scales(const std::byte* w, size_t stride, VecF& d, VecF&) {
        d = halves_of_rows(w, stride);
    }
};
struct DAndM {
    static constexpr bool k_mins = true;
    [[gnu::always_inline]] static void scales(const std::byte* w, size_t stride, VecF& d, VecF& m) {
        half_pairs_of_rows(w, stride, d, m);
    }
};

struct LayoutQ4_0 : Nibbles<2>, OnlyD {
    static constexpr size_t k_bytes = 18;
    static constexpr int k_less = 8, k_largest = 15;
};
struct LayoutQ4_1 : Nibbles<4>, DAndM {
    static constexpr size_t k_bytes = 20;
    static constexpr int k_less = 0, k_largest = 15;
};
struct LayoutQ5_0 : FiveBits<6>, OnlyD {
    static constexpr size_t k_bytes = 22;
    static constexpr int k_less = 16, k_largest = 31;
};
struct LayoutQ5_1 : FiveBits<8>, DAndM {
    static constexpr size_t k_bytes = 24;
    static constexpr int k_less = 0, k_largest = 31;
};

struct LayoutQ8_0 {
    static constexpr size_t k_bytes = 34;
    [[gnu::always_inline]] static Vec row_codes(const std::byte* block) { return load(block + 2); }
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, Vec* q) {
        interleave_rows(w + 2, stride, q);
        interleave_rows(w + 18, stride, q + 4);
    }
    [[gnu::always_inline]] static VecF scales(const std::byte* w, size_t stride) {
        return halves_of_rows(w, stride);
    }
};

template <class Layout>
void matmul_unsigned(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotUnsigned32<Layout>>(m) : matmul_tiles<TileUnsigned32<Layout>>(m);
}

}  // namespace

void matmul_q4_0(const MatMul& m) { matmul_unsigned<LayoutQ4_0>(m); }
void matmul_q4_1(const MatMul& m) { matmul_unsigned<LayoutQ4_1>(m); }
void matmul_q5_0(const MatMul& m) { matmul_unsigned<LayoutQ5_0>(m); }
void matmul_q5_1(const MatMul& m) { matmul_unsigned<LayoutQ5_1>(m); }
void matmul_q8_0(const MatMul& m) {
    m.n_token < 3 ? matmul_rows<DotSigned32<LayoutQ8_0>>(m) : matmul_tiles<TileSigned32<LayoutQ8_0>>(m);
}

}  // namespace ft::avx2
