// Unpacking of weight rows for tiles: the bytes of 8 rows brought side by side.
#pragma once

#include "kernels/avx2/simd.h"

namespace ft::avx2 {

// 16 bytes of each of 8 rows: lane r of out[c] = bytes 4c .. 4c+3 of the row at w + r * stride. 8 shuffles.
[[gnu::always_inline]] inline void interleave_rows(const std::byte* w, size_t stride, Vec* out) {
    const Vec t0 = load16_pair(w, w + 4 * stride), t1 = load16_pair(w + stride, w + 5 * stride);
    const Vec t2 = load16_pair(w + 2 * stride, w + 6 * stride),
              t3 = load16_pair(w + 3 * stride, w + 7 * stride);
    const Vec a = _mm256_unpacklo_epi32(t0, t1), b = _mm256_unpackhi_epi32(t0, t1);
    const Vec c = _mm256_unpacklo_epi32(t2, t3), d = _mm256_unpackhi_epi32(t2, t3);
    out[0] = _mm256_unpacklo_epi64(a, c);
    out[1] = _mm256_unpackhi_epi64(a, c);
    out[2] = _mm256_unpacklo_epi64(b, d);
    out[3] = _mm256_unpackhi_epi64(b, d);
}

// 8 bytes of each of 8 rows: byte j of rows 0..7 in the 8 bytes j % 2 of out[j / 2].
[[gnu::always_inline]] inline void interleave_bytes(const uint64_t* rows, Half* out) {
    const auto pair = [&](int r) __attribute__((always_inline)) {
        return _mm_unpacklo_epi8(_mm_cvtsi64_si128(static_cast<int64_t>(rows[r])),
                                 _mm_cvtsi64_si128(static_cast<int64_t>(rows[r + 1])));
    };
    const Half r01 = pair(0), r23 = pair(2), r45 = pair(4), r67 = pair(6);
    const Half a = _mm_unpacklo_epi16(r01, r23), b = _mm_unpackhi_epi16(r01, r23);
    const Half c = _mm_unpacklo_epi16(r45, r67), d = _mm_unpackhi_epi16(r45, r67);
    out[0] = _mm_unpacklo_epi32(a, c);
    out[1] = _mm_unpackhi_epi32(a, c);
    out[2] = _mm_unpacklo_epi32(b, d);
    out[3] = _mm_unpackhi_epi32(b, d);
}

// Of 16 bytes (as interleave_bytes leaves them) the 8 bytes `half`: byte r as both 16-bit items of lane r.
template <int half>
[[gnu::always_inline]] inline Vec spread_unsigned(Half bytes) {
    constexpr char k = 8 * half;
    const Vec control = _mm256_setr_epi8(k, -1, k, -1, k + 1, -1, k + 1, -1, k + 2, -1, k + 2, -1, k + 3, -1,
                                         k + 3, -1, k + 4, -1, k + 4, -1, k + 5, -1, k + 5, -1, k + 6, -1,
                                         k + 6, -1, k + 7, -1, k + 7, -1);
    return _mm256_shuffle_epi8(twice(bytes), control);
}
template <int half>
[[gnu::always_inline]] inline Vec spread_signed(Half bytes) {
    constexpr char k = 8 * half;
    const Vec control =
        _mm256_setr_epi8(-1, k, -1, k, -1, k + 1, -1, k + 1, -1, k + 2, -1, k + 2, -1, k + 3, -1, k + 3, -1,
                         k + 4, -1, k + 4, -1, k + 5, -1, k + 5, -1, k + 6, -1, k + 6, -1, k + 7, -1, k + 7);
    return _mm256_srai_epi16(_mm256_shuffle_epi8(twice(bytes), control), 8);
}

// Bytes 2j and 2j+1 of rows 0..7 (one register of interleave_bytes) as the two 16-bit items of lane r.
[[gnu::always_inline]] inline Vec spread_pairs(Half bytes) {
    const Vec control = _mm256_setr_epi8(0, -1, 8, -1, 1, -1, 9, -1, 2, -1, 10, -1, 3, -1, 11, -1, 4, -1, 12,
                                         -1, 5, -1, 13, -1, 6, -1, 14, -1, 7, -1, 15, -1);
    return _mm256_shuffle_epi8(twice(bytes), control);
}

// 8 registers of 16-bit items, one per row: half L of out[k] = item k of half L of rows 0..7.
[[gnu::always_inline]] inline void interleave_items(const Vec* rows, Vec* out) {
    for (int h = 0; h < 2; h++) {
        Vec pairs[4], fours[4];
        for (int r = 0; r < 4; r++)
            pairs[r] = h == 0 ? _mm256_unpacklo_epi16(rows[2 * r], rows[2 * r + 1])
                              : _mm256_unpackhi_epi16(rows[2 * r], rows[2 * r + 1]);
        for (int r = 0; r < 2; r++) {
            fours[r] = _mm256_unpacklo_epi32(pairs[2 * r], pairs[2 * r + 1]);
            fours[2 + r] = _mm256_unpackhi_epi32(pairs[2 * r], pairs[2 * r + 1]);
        }
        for (int i = 0; i < 2; i++) {
            out[4 * h + 2 * i] = _mm256_unpacklo_epi64(fours[2 * i], fours[2 * i + 1]);
            out[4 * h + 2 * i + 1] = _mm256_unpackhi_epi64(fours[2 * i], fours[2 * i + 1]);
        }
    }
}

// 8 items of 16 bits, each twice in its lane.
[[gnu::always_inline]] inline Vec twice_in_lanes(Half items) {
    return join(_mm_unpacklo_epi16(items, items), _mm_unpackhi_epi16(items, items));
}

}  // namespace ft::avx2
