// Eight f32 lanes in a 256-bit register, for math_source.h and the elementwise loops. Only for files compiled
// for AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ft {
namespace {

struct Lane8 {
    struct Bits {
        __m256i b;
        static Bits of(uint32_t value) { return {_mm256_set1_epi32(static_cast<int>(value))}; }
        friend Bits operator+(Bits x, Bits y) { return {_mm256_add_epi32(x.b, y.b)}; }
        friend Bits operator-(Bits x, Bits y) { return {_mm256_sub_epi32(x.b, y.b)}; }
        friend Bits operator<<(Bits x, int n) { return {_mm256_slli_epi32(x.b, n)}; }
        friend Bits operator>>(Bits x, int n) { return {_mm256_srai_epi32(x.b, n)}; }
    };
    struct Mask {
        __m256 m;
    };

    __m256 v;
    static Lane8 of(float value) { return {_mm256_set1_ps(value)}; }
    static Lane8 load(const float* at) { return {_mm256_loadu_ps(at)}; }
    void store(float* at) const { _mm256_storeu_ps(at, v); }
    static Lane8 from_bits(Bits x) { return {_mm256_castsi256_ps(x.b)}; }
    static Lane8 from_int(Bits x) { return {_mm256_cvtepi32_ps(x.b)}; }
    friend Bits bits(Lane8 x) { return {_mm256_castps_si256(x.v)}; }
    friend Lane8 operator+(Lane8 x, Lane8 y) { return {_mm256_add_ps(x.v, y.v)}; }
    friend Lane8 operator-(Lane8 x, Lane8 y) { return {_mm256_sub_ps(x.v, y.v)}; }
    friend Lane8 operator*(Lane8 x, Lane8 y) { return {_mm256_mul_ps(x.v, y.v)}; }
    friend Lane8 operator/(Lane8 x, Lane8 y) { return {_mm256_div_ps(x.v, y.v)}; }
    friend Lane8 fma(Lane8 x, Lane8 y, Lane8 z) { return {_mm256_fmadd_ps(x.v, y.v, z.v)}; }
    friend Mask below(Lane8 x, Lane8 y) { return {_mm256_cmp_ps(x.v, y.v, _CMP_LT_OQ)}; }
    friend Mask is_nan(Lane8 x) { return {_mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q)}; }
    friend Lane8 select(Mask mask, Lane8 yes, Lane8 no) { return {_mm256_blendv_ps(no.v, yes.v, mask.m)}; }
    friend Lane8 negated(Lane8 x) { return {_mm256_xor_ps(x.v, _mm256_set1_ps(-0.0f))}; }
    friend Lane8 magnitude(Lane8 x) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x.v)}; }
    friend Lane8 with_sign_of(Lane8 sign, Lane8 x) {
        return {_mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0f), sign.v), magnitude(x).v)};
    }
};

}  // namespace
}  // namespace ft
