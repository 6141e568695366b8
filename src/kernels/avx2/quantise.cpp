// Activations as int8 (arithmetic.md 1.2) with the sums that the AVX2 kernels start from.
#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul.h"
#include "kernels/avx2/simd.h"

namespace ft {

namespace {

using namespace avx2;

// The largest magnitude of n values as its bits. As integers, infinities and NaNs come last.
[[gnu::always_inline]] inline int32_t largest_bits(const float* x, int n) {
    const Vec magnitude = _mm256_set1_epi32(0x7fffffff);
    Vec most = _mm256_setzero_si256();
    for (int i = 0; i < n; i += 8) most = _mm256_max_epi32(most, _mm256_and_si256(load(x + i), magnitude));
    Half m = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return _mm_cvtsi128_si32(m);
}

// 32 values times `inverse`, rounded to the nearest integers, ties to even.
[[gnu::always_inline]] inline Vec round32(const float* x, VecF inverse) {
    const auto eight = [&](int i) __attribute__((always_inline)) {
        return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
    };
    const Vec bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(eight(0), eight(1)), _mm256_packs_epi32(eight(2), eight(3)));
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

[[gnu::always_inline]] inline float from_bits(int32_t bits) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
}

// One block of n values -> codes; returns d.
[[gnu::always_inline]] inline float quantise_block(const float* x, int n, int8_t* q) {
    constexpr int32_t k_infinity = 0x7f800000, k_nan = 0x7fc00000;
    const int32_t bits = largest_bits(x, n);
    const float amax = from_bits(bits);
    const float inverse = 127.0f / amax;
    if (bits >= k_infinity || read<int32_t>(&inverse) >= k_infinity) {
        std::memset(q, 0, static_cast<size_t>(n));
        return bits >= k_infinity ? from_bits(k_nan) : 0.0f;
    }
    const VecF factor = _mm256_set1_ps(inverse);
    for (int i = 0; i < n; i += 32) save(q + i, round32(x + i, factor));
    return amax / 127.0f;
}

// The sums of 16 codes: those at 0, 1 mod 4 and those at 2, 3 mod 4.
struct Sums16 {
    int first, second;
    [[gnu::always_inline]] explicit Sums16(const int8_t* q) {
        Half v = _mm_maddubs_epi16(_mm_set1_epi8(1), load16(q));
        v = _mm_add_epi16(v, _mm_shuffle_epi32(v, 0x4e));
        v = _mm_add_epi16(v, _mm_shuffle_epi32(v, 0xb1));
        const int32_t both = _mm_cvtsi128_si32(v);
        first = static_cast<int16_t>(both);
        second = both >> 16;
    }
};

void sums_of_256s(int64_t n, const ActParts& parts, std::byte* blob) {
    const auto* q = reinterpret_cast<const int8_t*>(blob + parts.q);
    auto* s16 = reinterpret_cast<int16_t*>(blob + parts.s16);
    auto* s32 = reinterpret_cast<int16_t*>(blob + parts.s32);
    auto* start = reinterpret_cast<int16_t*>(blob + parts.start);
    for (int64_t i = 0; i < n / 16; i++) {
        const Sums16 sums(q + 16 * i);
        s16[i] = static_cast<int16_t>(sums.first + sums.second);
        start[2 * i] = static_cast<int16_t>(-32 * sums.first);
        start[2 * i + 1] = static_cast<int16_t>(-32 * sums.second);
        if (i % 2 == 1) s32[i / 2] = static_cast<int16_t>(s16[i - 1] + s16[i]);
    }
}

void sums_of_32s(int64_t n, const ActParts& parts, std::byte* blob) {
    const auto* q = reinterpret_cast<const int8_t*>(blob + parts.q);
    auto* s16 = reinterpret_cast<int16_t*>(blob + parts.s16);
    auto* start = reinterpret_cast<int16_t*>(blob + parts.start);
    for (int64_t i = 0; i < n / 32; i++) {
        const Sums16 a(q + 32 * i), b(q + 32 * i + 16);
        s16[2 * i] = static_cast<int16_t>(a.first + a.second);
        s16[2 * i + 1] = static_cast<int16_t>(b.first + b.second);
        start[2 * i] = static_cast<int16_t>(-16 * (a.first + b.first));
        start[2 * i + 1] = static_cast<int16_t>(-16 * (a.second + b.second));
    }
}

}  // namespace

void quantise_avx2(ActKind kind, const float* x, int64_t n, std::byte* blob) {
    if (kind == ActKind::f32) {
        std::memcpy(blob, x, static_cast<size_t>(n) * sizeof(float));
        return;
    }
    const ActParts parts = act_parts(kind, n);
    auto* d = reinterpret_cast<float*>(blob + parts.d);
    auto* q = reinterpret_cast<int8_t*>(blob + parts.q);
    if (kind == ActKind::q8_256) {
        for (int64_t i = 0; i < n; i += 256) d[i / 256] = quantise_block(x + i, 256, q + i);
        sums_of_256s(n, parts, blob);
    } else {
        for (int64_t i = 0; i < n; i += 32) d[i / 32] = quantise_block(x + i, 32, q + i);
        sums_of_32s(n, parts, blob);
    }
}

}  // namespace ft
