// The 16-bit float formats of files, exactly: half (5 bits of exponent) and bfloat16 (the upper half of an
// f32). To f32 every pattern converts without rounding, subnormals included; from f32 to the nearest, ties to
// even, overflow to infinity. A NaN stays a NaN of the same sign. Plain arithmetic, so that every machine
// gives the same bits.
#pragma once

#include <bit>
#include <cstdint>

namespace ft {

inline float half_to_float(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t magnitude = (half & 0x7fffu) << 13;  // exponent and fraction at an f32's places
    uint32_t bits = 0;
    if (magnitude >= 0x1fu << 23) {
        bits = magnitude | 0xffu << 23;  // infinity, NaN
    } else {
        // The exponents' offsets are 15 and 127. The product is exact, for subnormals too.
        bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    }
    return std::bit_cast<float>(sign | bits);
}

inline uint16_t float_to_half(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half = 0;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u;  // NaN
    } else if (magnitude >= 0x477ff000u) {
        half = 0x7c00u;                    // from 65520 on, half a step above the largest half
    } else if (magnitude < 0x38800000u) {  // below 2^-14: 0.5 has the step of the subnormal halves, 2^-24
        half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    } else {
        half = ((magnitude + 0xfffu + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
    }
    return static_cast<uint16_t>(sign | half);
}

inline float bf16_to_float(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

inline uint16_t float_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

}  // namespace ft
