// AVX2 vocabulary of the matrix kernels: loads of unaligned fields, trees of sums, conversions.
//
// Only for translation units compiled with the AVX2 flags (sources.cmake). Everything is always inlined: a
// shared copy could be the one that the linker keeps for code that must run without AVX2, and a call would
// send registers through memory.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ft::avx2 {

using Vec = __m256i;   // integers: 32 i8, 16 i16 or 8 i32
using VecF = __m256;   // 8 f32
using Half = __m128i;  // half a Vec

template <class T>
[[gnu::always_inline]] inline T lesser(T a, T b) {
    return a < b ? a : b;
}

template <class T>
[[gnu::always_inline]] inline T read(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

[[gnu::always_inline]] inline Vec load(const void* at) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}
[[gnu::always_inline]] inline Half load16(const void* at) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
}
[[gnu::always_inline]] inline Half load8(const void* at) { return _mm_cvtsi64_si128(read<int64_t>(at)); }
[[gnu::always_inline]] inline Half load4(const void* at) { return _mm_cvtsi32_si128(read<int32_t>(at)); }
[[gnu::always_inline]] inline Half load2(const void* at) { return _mm_cvtsi32_si128(read<uint16_t>(at)); }
[[gnu::always_inline]] inline void save(void* at, Vec v) {
    _mm256_storeu_si256(static_cast<__m256i*>(at), v);
}

// The same 16 bytes in both halves; two pieces of 16 bytes side by side; the same 4 bytes in every 32-bit
// lane.
[[gnu::always_inline]] inline Vec twice(Half v) { return _mm256_broadcastsi128_si256(v); }
[[gnu::always_inline]] inline Vec load16_twice(const void* at) { return twice(load16(at)); }
[[gnu::always_inline]] inline Vec join(Half low, Half high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
[[gnu::always_inline]] inline Vec load16_pair(const void* low, const void* high) {
    return join(load16(low), load16(high));
}
[[gnu::always_inline]] inline Vec load4_everywhere(const void* at) {
    return _mm256_set1_epi32(read<int32_t>(at));
}

// Holds a running sum in its register. Without it compilers regroup the integer adds of a tile into trees and
// spill, which costs up to half of the speed.
[[gnu::always_inline]] inline void keep(Vec& v) { asm volatile("" : "+x"(v)); }
[[gnu::always_inline]] inline void keep(VecF& v) { asm volatile("" : "+x"(v)); }

// A constant that stays in a register or on the stack. Compilers build constants anew from general registers
// inside loops, three instructions each, when they run out of vector registers.
[[gnu::always_inline]] inline Vec pinned(Vec v) {
    asm("" : "+x"(v));
    return v;
}

// Neighbours of two registers added: with 16-, 32- and 64-bit items the first levels of a tree over four
// registers.
[[gnu::always_inline]] inline Vec add_pairs16(Vec a, Vec b) {
    return _mm256_add_epi16(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
}
[[gnu::always_inline]] inline Vec add_pairs16_by32(Vec a, Vec b) {
    return _mm256_add_epi16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
[[gnu::always_inline]] inline Vec add_pairs32(Vec a, Vec b) {
    return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
[[gnu::always_inline]] inline Vec add_pairs64(Vec a, Vec b) {
    return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

// Half h of lane r = sum of the 4 lanes of half h of v[r], r < 4.
[[gnu::always_inline]] inline Vec sum_lanes4(const Vec* v) {
    return add_pairs64(add_pairs32(v[0], v[1]), add_pairs32(v[2], v[3]));
}
// Lane r of the result = sum of the 8 lanes of v[r]: 21 operations for 8 rows.
[[gnu::always_inline]] inline Vec sum_lanes8(const Vec* v) {
    const Vec a = sum_lanes4(v), b = sum_lanes4(v + 4);
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

// The f16 at w, w + stride, ... of 8 rows.
[[gnu::always_inline]] inline VecF halves_of_rows(const std::byte* w, size_t stride) {
    const Half a = _mm_unpacklo_epi16(load2(w), load2(w + stride));
    const Half b = _mm_unpacklo_epi16(load2(w + 2 * stride), load2(w + 3 * stride));
    const Half c = _mm_unpacklo_epi16(load2(w + 4 * stride), load2(w + 5 * stride));
    const Half d = _mm_unpacklo_epi16(load2(w + 6 * stride), load2(w + 7 * stride));
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d)));
}

// The 4 bytes at w of rows a, b, c, d.
[[gnu::always_inline]] inline Half dwords_of_4_rows(const std::byte* w, size_t stride, size_t a, size_t b,
                                                    size_t c, size_t d) {
    return _mm_unpacklo_epi64(_mm_unpacklo_epi32(load4(w + a * stride), load4(w + b * stride)),
                              _mm_unpacklo_epi32(load4(w + c * stride), load4(w + d * stride)));
}
[[gnu::always_inline]] inline Vec dwords_of_rows(const std::byte* w, size_t stride) {
    return join(dwords_of_4_rows(w, stride, 0, 1, 2, 3), dwords_of_4_rows(w, stride, 4, 5, 6, 7));
}

// The two neighbouring f16 at w, w + stride, ... of 8 rows.
[[gnu::always_inline]] inline void half_pairs_of_rows(const std::byte* w, size_t stride, VecF& first,
                                                      VecF& second) {
    const VecF a = _mm256_cvtph_ps(dwords_of_4_rows(w, stride, 0, 1, 4, 5));
    const VecF b = _mm256_cvtph_ps(dwords_of_4_rows(w, stride, 2, 3, 6, 7));
    first = _mm256_shuffle_ps(a, b, 0x88);
    second = _mm256_shuffle_ps(a, b, 0xdd);
}

// (d * da) * f32(sum), the term of every quantised dot product.
[[gnu::always_inline]] inline VecF scaled(VecF d, float da, Vec sum) {
    return _mm256_mul_ps(_mm256_mul_ps(d, _mm256_set1_ps(da)), _mm256_cvtepi32_ps(sum));
}

[[gnu::always_inline]] inline Vec low_nibbles(Vec v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
[[gnu::always_inline]] inline Vec high_nibbles(Vec v) { return low_nibbles(_mm256_srli_epi16(v, 4)); }
// 16 bytes: their low nibbles, then their high ones.
[[gnu::always_inline]] inline Vec all_nibbles(const void* at) {
    const Vec shift = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    return low_nibbles(_mm256_srlv_epi32(load16_twice(at), shift));
}

// 32 bits as bytes: byte i is `value` where bit i is set, else 0.
[[gnu::always_inline]] inline Vec bytes_of_bits(int32_t bits, char value) {
    const Vec spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2,
                                        2, 3, 3, 3, 3, 3, 3, 3, 3);
    const Vec mask = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    const Vec masked = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread), mask);
    return _mm256_and_si256(_mm256_cmpeq_epi8(masked, mask), _mm256_set1_epi8(value));
}

// Signed codes times activations, neighbours added: |w| * (x with w's sign). w may be -128, x may not.
[[gnu::always_inline]] inline Vec multiply_signed(Vec w, Vec x) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}

// Shuffle controls for each half of a register, from 16 constants.
[[gnu::always_inline]] inline Vec both_halves(char a, char b, char c, char d, char e, char f, char g, char h,
                                              char i, char j, char k, char l, char m, char n, char o,
                                              char p) {
    return twice(_mm_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p));
}

}  // namespace ft::avx2
