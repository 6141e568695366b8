#include "quant/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ft {
namespace {

constexpr float k_infinity = std::numeric_limits<float>::infinity();

double half_value(int h) {
    const int exponent = h >> 10 & 31;
    const int fraction = h & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}

TEST(Half, EveryPatternConvertsExactlyAndBack) {
    for (int h = 0; h < 65536; h++) {
        const auto half = static_cast<uint16_t>(h);
        const float value = half_to_float(half);
        ASSERT_EQ(std::signbit(value), h >= 0x8000) << h;
        if ((h & 0x7c00) == 0x7c00) {
            if ((h & 0x3ff) != 0) {
                ASSERT_TRUE(std::isnan(value)) << h;
                ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << h;
                continue;
            }
            ASSERT_TRUE(std::isinf(value)) << h;
        } else {
            ASSERT_EQ(static_cast<double>(value), half_value(h)) << h;
        }
        ASSERT_EQ(float_to_half(value), half) << h;
    }
}

TEST(Half, RoundsToNearestAndTiesToEven) {
    for (int h = 0; h < 0x7bff; h++) {
        const double low = half_value(h);
        const double high = half_value(h + 1);
        const auto middle = static_cast<float>((low + high) / 2);  // 12 bits: exact
        for (const bool negative : {false, true}) {
            const float sign = negative ? -1.0f : 1.0f;
            const int sign_bit = negative ? 0x8000 : 0;
            ASSERT_EQ(float_to_half(sign * middle), sign_bit | (h % 2 == 0 ? h : h + 1)) << h;
            ASSERT_EQ(float_to_half(sign * std::nextafter(middle, 0.0f)), sign_bit | h) << h;
            ASSERT_EQ(float_to_half(sign * std::nextafter(middle, k_infinity)), sign_bit | (h + 1)) << h;
        }
    }
}

TEST(Half, TooLargeBecomesInfinityAndTooSmallZero) {
    EXPECT_EQ(float_to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
    EXPECT_EQ(float_to_half(-1e30f), 0xfc00);
    EXPECT_EQ(float_to_half(-k_infinity), 0xfc00);
    EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);
    EXPECT_EQ(float_to_half(-0x1p-149f), 0x8000);
    EXPECT_EQ(float_to_half(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
}

TEST(Bf16, EveryPatternConvertsExactlyAndBack) {
    for (int b = 0; b < 65536; b++) {
        const auto bits = static_cast<uint16_t>(b);
        const float value = bf16_to_float(bits);
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(bf16_to_float(float_to_bf16(value)))) << b;
        } else {
            ASSERT_EQ(float_to_bf16(value), bits) << b;
        }
    }
}

TEST(Bf16, RoundsToNearestAndTiesToEven) {
    for (int b = 0; b < 0x7f80; b++) {
        const auto middle = std::bit_cast<float>(static_cast<uint32_t>(b) << 16 | 0x8000u);
        ASSERT_EQ(float_to_bf16(middle), b % 2 == 0 ? b : b + 1) << b;
        ASSERT_EQ(float_to_bf16(std::nextafter(middle, 0.0f)), b) << b;
        ASSERT_EQ(float_to_bf16(-std::nextafter(middle, k_infinity)), 0x8000 | (b + 1)) << b;
    }
    EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
    EXPECT_EQ(float_to_bf16(1.0f), 0x3f80);
}

}  // namespace
}  // namespace ft
