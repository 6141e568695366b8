// Q3_K and Q2_K: blocks of 256, 16 sub-blocks of 16, two low bits of a code from qs: columns 128n + 32t + l
// are bits 2t of byte 32n + l.
//   Q3_K: @0 third bits [32] (bit i of byte l: columns 32i + l), @32 qs[64], @96 scales 6 bits [12], @108 d
//   f16;
//         code - 4, scale - 32
//   Q2_K: @0 scales (low nibbles) and mins (high ones) [16], @16 qs[64], @80 d f16, @82 dmin f16
#include "kernels/avx2/dot_sub16.h"
#include "kernels/avx2/matmul_types.h"

namespace ft::avx2 {

namespace {

// Bits 2t and 2t + 1 of each byte as bits `to` and to + 1, all others 0.
template <int t, int to>
[[gnu::always_inline]] inline Vec two_bits(Vec qs) {
    constexpr int k_left = to - 2 * t;
    const Vec moved = k_left > 0 ? _mm256_slli_epi16(qs, k_left > 0 ? k_left : 0)
                                 : _mm256_srli_epi16(qs, k_left > 0 ? 0 : -k_left);
    return _mm256_and_si256(moved, _mm256_set1_epi8(3 << to));
}

// Bit i of each byte as 32 or 0.
template <int i>
[[gnu::always_inline]] inline Vec third_bit(Vec bits) {
    const Vec moved =
        i < 5 ? _mm256_slli_epi16(bits, i < 5 ? 5 - i : 0) : _mm256_srli_epi16(bits, i < 5 ? 0 : i - 5);
    return _mm256_and_si256(moved, _mm256_set1_epi8(32));
}

// The codes are taken times 8, so that what is taken off them, 4, is the 32 that Token::start stands for.
struct LayoutQ3K {
    static constexpr size_t k_bytes = 110;
    static constexpr int k_d = 108;
    static constexpr int k_down = 3;

    template <int n>
    [[gnu::always_inline]] static void codes(Vec qs, Vec bits, Vec* q) {
        q[0] = _mm256_or_si256(two_bits<0, 3>(qs), third_bit<4 * n>(bits));
        q[1] = _mm256_or_si256(two_bits<1, 3>(qs), third_bit<4 * n + 1>(bits));
        q[2] = _mm256_or_si256(two_bits<2, 3>(qs), third_bit<4 * n + 2>(bits));
        q[3] = _mm256_or_si256(two_bits<3, 3>(qs), third_bit<4 * n + 3>(bits));
    }
    template <int n>
    [[gnu::always_inline]] static void row_codes(const std::byte* w, Vec* q) {
        codes<n>(load(w + 32 + 32 * n), load(w), q);
    }
    template <int n>
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, int h, Vec (*q)[4]) {
        Vec qs[4], bits[4], out[4];
        interleave_rows(w + 32 + 32 * n + 16 * h, stride, qs);
        interleave_rows(w + 16 * h, stride, bits);
        for (int c = 0; c < 4; c++) {
            codes<n>(qs[c], bits[c], out);
            for (int i = 0; i < 4; i++) q[i][c] = out[i];
        }
    }
    // Scale j: its low four bits are nibble j of the first 8 bytes (low ones first), its upper two bits 2 (j
    // / 4) of byte 8 + j % 4.
    [[gnu::always_inline]] static Half scales(const std::byte* w) {
        const Half first = load8(w + 96);
        const Half low =
            _mm_and_si128(_mm_unpacklo_epi64(first, _mm_srli_epi16(first, 4)), _mm_set1_epi8(15));
        const Half last = _mm_set1_epi32(read<int32_t>(w + 104));
        const Half high = _mm_and_si128(_mm_srlv_epi32(last, _mm_setr_epi32(0, 2, 4, 6)), _mm_set1_epi8(3));
        return _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi16(high, 4)), _mm_set1_epi8(32));
    }
};

[[gnu::always_inline]] inline void codes_q2_k(Vec qs, Vec* q) {
    q[0] = two_bits<0, 0>(qs);
    q[1] = two_bits<1, 0>(qs);
    q[2] = two_bits<2, 0>(qs);
    q[3] = two_bits<3, 0>(qs);
}

struct DotQ2K {
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = 84;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int, Ahead& ahead) {
        const int8_t* q = x.q + 256 * g;
        const Vec sums16 = load(x.s16 + 16 * g);
        Vec sums[8], min_sums[8];
        for (int r = 0; r < 8; r++) {
            ahead.fetch(k_group_bytes);
            const std::byte* row = w + r * stride;
            const Vec both = load16_twice(row);
            // Scales in the order of the items below: half L has those of sub-blocks 2p + L. Mins in their
            // own order.
            const Vec scales = _mm256_shuffle_epi8(
                low_nibbles(both),
                _mm256_setr_epi8(0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10, -1, 12, -1, 14, -1, 1, -1, 3, -1, 5,
                                 -1, 7, -1, 9, -1, 11, -1, 13, -1, 15, -1));
            const Vec mins = _mm256_shuffle_epi8(
                high_nibbles(both),
                _mm256_setr_epi8(0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1, 6, -1, 7, -1, 8, -1, 9, -1, 10, -1,
                                 11, -1, 12, -1, 13, -1, 14, -1, 15, -1));
            const Vec a = items<0>(row, q), b = items<1>(row, q);
            // One item for each sub-block: 16 x 3 x 127 = 6,096.
            const Vec all = _mm256_add_epi16(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
            sums[r] = _mm256_madd_epi16(all, scales);
            min_sums[r] = _mm256_madd_epi16(mins, sums16);
        }
        VecF d, dmin;
        half_pairs_of_rows(w + 80, stride, d, dmin);
        const float da = x.d[g];
        return _mm256_sub_ps(scaled(d, da, sum_lanes8(sums)), scaled(dmin, da, sum_lanes8(min_sums)));
    }

 private:
    // Half L: items 0 2 4 6 0 2 4 6 of the sub-blocks 8n + 2p + L.
    template <int n>
    [[gnu::always_inline]] static Vec items(const std::byte* w, const int8_t* x) {
        Vec q[4], p[4];
        codes_q2_k(load(w + 16 + 32 * n), q);
        for (int i = 0; i < 4; i++) p[i] = _mm256_maddubs_epi16(q[i], load(x + 128 * n + 32 * i));
        return add_pairs16_by32(add_pairs16(p[0], p[1]), add_pairs16(p[2], p[3]));
    }
};

struct TileQ2K {
    using Pack = Pack8;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = 84;
    static constexpr Tile8Form k_form = {.sub = 16, .per_scale = 16, .start = false, .mins = 16, .down = 0};

    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride) {
            for (int n = 0; n < 2; n++)
                for (int h = 0; h < 2; h++) {
                    Vec qs[4], out[4];
                    interleave_rows(w + 16 + 32 * n + 16 * h, stride, qs);
                    for (int c = 0; c < 4; c++) {
                        codes_q2_k(qs[c], out);
                        for (int i = 0; i < 4; i++) pack.w[32 * n + 8 * i + 4 * h + c][v] = out[i];
                    }
                }
            pack_scales(w, stride, v, pack);
            half_pairs_of_rows(w + 80, stride, pack.d[v], pack.dmin[v]);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile8<k_form, n_token>(pack, tokens, g, sums);
    }

 private:
    static void pack_scales(const std::byte* w, size_t stride, int v, Pack& pack) {
        const Half nibble = _mm_set1_epi8(15);
        for (int n = 0; n < 2; n++) {
            uint64_t rows[8];
            for (int r = 0; r < 8; r++) rows[r] = read<uint64_t>(w + r * stride + 8 * n);
            Half bytes[4];
            interleave_bytes(rows, bytes);
            for (int j = 0; j < 4; j++) {
                const Half scales = _mm_and_si128(bytes[j], nibble);
                pack.scale[8 * n + 2 * j][v] = spread_unsigned<0>(scales);
                pack.scale[8 * n + 2 * j + 1][v] = spread_unsigned<1>(scales);
                pack.min[4 * n + j][v] = spread_pairs(_mm_and_si128(_mm_srli_epi16(bytes[j], 4), nibble));
            }
        }
    }
};

}  // namespace

void matmul_q2_k(const MatMul& m) { m.n_token < 2 ? matmul_rows<DotQ2K>(m) : matmul_tiles<TileQ2K>(m); }
void matmul_q3_k(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotSub16<LayoutQ3K>>(m) : matmul_tiles<TileSub16<LayoutQ3K>>(m);
}

}  // namespace ft::avx2
