// Q4_K and Q5_K: blocks of 256, 8 sub-blocks of 32 with 6-bit scales and mins.
//   @0 d f16, @2 dmin f16, @4 scales and mins [12]; Q4_K: @16 qs[128]; Q5_K: @16 fifth bits [32], @48 qs[128]
#include "kernels/avx2/dot_tile8.h"
#include "kernels/avx2/matmul_rows.h"
#include "kernels/avx2/matmul_types.h"
#include "kernels/avx2/pack_rows.h"

namespace ft::avx2 {

namespace {

// Bit j of each byte, as 16 or 0.
template <int j>
[[gnu::always_inline]] inline Vec fifth_bits(Vec high) {
    const Vec moved =
        j < 4 ? _mm256_slli_epi16(high, j < 4 ? 4 - j : 0) : _mm256_srli_epi16(high, j < 4 ? 0 : j - 4);
    return _mm256_and_si256(moved, _mm256_set1_epi8(16));
}

// Scales and mins of two rows, one in each half. Sub-blocks 0..3 and 4..7 apart, as 16 bits, twice in each
// half.
struct PairScales {
    Vec low, high;
    Vec mins;  // of sub-blocks 0..7

    // headers: the first 16 bytes of the two blocks
    [[gnu::always_inline]] explicit PairScales(Vec headers) {
        const Vec six_bits = twice(_mm_setr_epi32(0, 0x3f3f3f3f, 0x3f3f3f3f, 0));
        const Vec shift = twice(_mm_setr_epi32(0, 0, 4, 0));
        const Vec first = _mm256_and_si256(headers, six_bits);
        const Vec low_bits = low_nibbles(_mm256_srlv_epi32(_mm256_shuffle_epi32(headers, 0xff), shift));
        const Vec top_bits = _mm256_and_si256(_mm256_srli_epi32(headers, 2), _mm256_set1_epi8(0x30));
        const Vec last = _mm256_or_si256(low_bits, top_bits);
        const Vec scale_items = both_halves(4, -1, 5, -1, 6, -1, 7, -1, 4, -1, 5, -1, 6, -1, 7, -1);
        const Vec min_items = both_halves(8, -1, 9, -1, 10, -1, 11, -1, 8, -1, 9, -1, 10, -1, 11, -1);
        low = _mm256_shuffle_epi8(first, scale_items);
        high = _mm256_shuffle_epi8(last, scale_items);
        mins = _mm256_unpacklo_epi64(_mm256_shuffle_epi8(first, min_items),
                                     _mm256_shuffle_epi8(last, min_items));
    }
};

// d, dmin of 8 rows from four registers of headers (row i in the low half of h[i], row i + 4 in the high
// one).
[[gnu::always_inline]] inline void header_floats(const Vec* h, VecF& d, VecF& dmin) {
    Vec v = _mm256_unpacklo_epi64(_mm256_unpacklo_epi32(h[0], h[1]), _mm256_unpacklo_epi32(h[2], h[3]));
    v = _mm256_shuffle_epi8(v, both_halves(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    v = _mm256_permute4x64_epi64(v, 0xd8);
    d = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
    dmin = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
}

// Codes of one row x activations, added up in 16 bits until each sub-block has two items in each half:
// sums[0] for sub-blocks 0..3, sums[1] for 4..7, their items in the order 0 1 2 3 0 1 2 3.
struct RowQ4K {
    static constexpr size_t k_bytes = 144;
    static constexpr int k_codes = 16;
    static constexpr bool k_halves_fit = true;  // 32 x 15 x 127 + 0 = 60,960 in two items of a half: 30,480
    template <int j>
    [[gnu::always_inline]] static Vec products(const std::byte* w, const int8_t* x) {
        const Vec q = load(w + k_codes + 32 * j);
        return add_pairs16(_mm256_maddubs_epi16(low_nibbles(q), load(x + 64 * j)),
                           _mm256_maddubs_epi16(high_nibbles(q), load(x + 64 * j + 32)));
    }
};

struct RowQ5K {
    static constexpr size_t k_bytes = 176;
    static constexpr int k_codes = 48;
    static constexpr bool k_halves_fit =
        false;  // 8 x 31 x 127 = 31,496 fits, the sum of both halves does not
    template <int j>
    [[gnu::always_inline]] static Vec products(const std::byte* w, const int8_t* x) {
        const Vec q = load(w + k_codes + 32 * j), high = load(w + 16);
        const Vec even = _mm256_or_si256(low_nibbles(q), fifth_bits<2 * j>(high));
        const Vec odd = _mm256_or_si256(high_nibbles(q), fifth_bits<2 * j + 1>(high));
        return add_pairs16(_mm256_maddubs_epi16(even, load(x + 64 * j)),
                           _mm256_maddubs_epi16(odd, load(x + 64 * j + 32)));
    }
};

template <class Row>
[[gnu::always_inline]] inline void sub_block_items(const std::byte* w, const int8_t* x, Vec* sums) {
    sums[0] = add_pairs16_by32(Row::template products<0>(w, x), Row::template products<1>(w, x));
    sums[1] = add_pairs16_by32(Row::template products<2>(w, x), Row::template products<3>(w, x));
}

// Two rows, a and b: the sum of scale x items in 4 lanes of the low half (a) and of the high half (b).
template <bool k_halves_fit>
[[gnu::always_inline]] inline Vec apply_scales(Vec a, Vec b, Vec scales) {
    const Vec low = _mm256_permute2x128_si256(a, b, 0x20), high = _mm256_permute2x128_si256(a, b, 0x31);
    if constexpr (k_halves_fit) return _mm256_madd_epi16(_mm256_add_epi16(low, high), scales);
    return _mm256_add_epi32(_mm256_madd_epi16(low, scales), _mm256_madd_epi16(high, scales));
}

// Rows i and i + 4 go together, so that one register holds the scales of both.
template <class Row>
struct DotK45 {
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = Row::k_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int, Ahead& ahead) {
        const int8_t* q = x.q + 256 * g;
        const Vec sums32 = load16_twice(x.s32 + 8 * g);
        Vec headers[4], scaled_sums[4], min_sums[4];
        for (int i = 0; i < 4; i++) {
            const std::byte *a = w + i * stride, *b = w + (i + 4) * stride;
            ahead.fetch(2 * Row::k_bytes);
            headers[i] = load16_pair(a, b);
            const PairScales s(headers[i]);
            min_sums[i] = _mm256_madd_epi16(s.mins, sums32);
            Vec items_a[2], items_b[2];
            sub_block_items<Row>(a, q, items_a);
            sub_block_items<Row>(b, q, items_b);
            scaled_sums[i] =
                _mm256_add_epi32(apply_scales<Row::k_halves_fit>(items_a[0], items_b[0], s.low),
                                 apply_scales<Row::k_halves_fit>(items_a[1], items_b[1], s.high));
        }
        VecF d, dmin;
        header_floats(headers, d, dmin);
        const float da = x.d[g];
        return _mm256_sub_ps(scaled(d, da, sum_lanes4(scaled_sums)), scaled(dmin, da, sum_lanes4(min_sums)));
    }
};

// The 8 scales and the 8 mins of one row, a byte each.
[[gnu::always_inline]] inline void split_scales(const std::byte* block, uint64_t& scales, uint64_t& mins) {
    const auto a = read<uint32_t>(block + 4), b = read<uint32_t>(block + 8), c = read<uint32_t>(block + 12);
    scales = (a & 0x3f3f3f3fu) | static_cast<uint64_t>((c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u)) << 32;
    mins = (b & 0x3f3f3f3fu) | static_cast<uint64_t>((c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u)) << 32;
}

// Scales, mins, d and dmin of 8 rows into half v of the tile.
[[gnu::always_inline]] inline void pack_headers(const std::byte* w, size_t stride, int v, Pack8& pack) {
    uint64_t scales[8], mins[8];
    for (int r = 0; r < 8; r++) split_scales(w + r * stride, scales[r], mins[r]);
    Half bytes[4];
    interleave_bytes(scales, bytes);
    for (int j = 0; j < 4; j++) {
        pack.scale[2 * j][v] = spread_unsigned<0>(bytes[j]);
        pack.scale[2 * j + 1][v] = spread_unsigned<1>(bytes[j]);
    }
    interleave_bytes(mins, bytes);
    for (int j = 0; j < 4; j++) pack.min[j][v] = spread_pairs(bytes[j]);
    half_pairs_of_rows(w, stride, pack.d[v], pack.dmin[v]);
}

struct TileQ4K {
    using Pack = Pack8;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = RowQ4K::k_bytes;
    static constexpr Tile8Form k_form = {.sub = 32, .per_scale = 32, .start = false, .mins = 8, .down = 0};

    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride) {
            for (int j = 0; j < 4; j++)
                for (int h = 0; h < 2; h++) {
                    Vec q[4];
                    interleave_rows(w + 16 + 32 * j + 16 * h, stride, q);
                    for (int c = 0; c < 4; c++) {
                        pack.w[16 * j + 4 * h + c][v] = low_nibbles(q[c]);
                        pack.w[16 * j + 8 + 4 * h + c][v] = high_nibbles(q[c]);
                    }
                }
            pack_headers(w, stride, v, pack);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile8<k_form, n_token>(pack, tokens, g, sums);
    }
};

struct TileQ5K {
    using Pack = Pack8;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = RowQ5K::k_bytes;
    static constexpr Tile8Form k_form = {.sub = 16, .per_scale = 32, .start = false, .mins = 8, .down = 0};

    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride) {
            for (int h = 0; h < 2; h++) {
                Vec high[4];
                interleave_rows(w + 16 + 16 * h, stride, high);
                pack_codes<0>(w + 16 * h, stride, high, &pack.w[4 * h], v);
                pack_codes<1>(w + 16 * h, stride, high, &pack.w[4 * h], v);
                pack_codes<2>(w + 16 * h, stride, high, &pack.w[4 * h], v);
                pack_codes<3>(w + 16 * h, stride, high, &pack.w[4 * h], v);
            }
            pack_headers(w, stride, v, pack);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile8<k_form, n_token>(pack, tokens, g, sums);
    }

 private:
    // Sub-blocks 2j and 2j + 1.
    template <int j>
    [[gnu::always_inline]] static void pack_codes(const std::byte* w, size_t stride, const Vec* high,
                                                  Vec (*out)[2], int v) {
        Vec q[4];
        interleave_rows(w + 48 + 32 * j, stride, q);
        for (int c = 0; c < 4; c++) {
            out[16 * j + c][v] = _mm256_or_si256(low_nibbles(q[c]), fifth_bits<2 * j>(high[c]));
            out[16 * j + 8 + c][v] = _mm256_or_si256(high_nibbles(q[c]), fifth_bits<2 * j + 1>(high[c]));
        }
    }
};

}  // namespace

void matmul_q4_k(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotK45<RowQ4K>>(m) : matmul_tiles<TileQ4K>(m);
}
void matmul_q5_k(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotK45<RowQ5K>>(m) : matmul_tiles<TileQ5K>(m);
}

}  // namespace ft::avx2
