#include "quant/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/buffer.h"

namespace ft {
namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_inf = std::numeric_limits<float>::infinity();

struct Made {
    Buffer<std::byte> blob;
    ActRow row;
};

Made make(ActKind kind, const std::vector<float>& x) {
    const auto n = static_cast<int64_t>(x.size());
    Made made;
    made.blob = Buffer<std::byte>(act_layout(kind, n).end);
    std::fill_n(made.blob.data(), made.blob.size(), std::byte{0x55});
    make_activations(kind, x.data(), n, made.blob.data());
    made.row = act_row(kind, made.blob.data(), n);
    return made;
}

TEST(Activations, FloatsStayAsTheyAre) {
    const Made made = make(ActKind::f32, {1.5f, -0.0f, 3.0f});
    EXPECT_EQ(made.row.x[0], 1.5f);
    EXPECT_TRUE(std::signbit(made.row.x[1]));
    EXPECT_EQ(made.row.x[2], 3.0f);
    EXPECT_EQ(act_layout(ActKind::f32, 3).end, 64u);
}

TEST(Activations, PartsLieAtMultiplesOf64AndDoNotOverlap) {
    for (const ActKind kind : {ActKind::q8_256, ActKind::q8_32}) {
        const int block = kind == ActKind::q8_256 ? 256 : 32;
        for (int64_t n = block; n <= 20 * block; n += block) {
            const ActLayout layout = act_layout(kind, n);
            EXPECT_EQ(layout.d, 0u);
            EXPECT_EQ((layout.q | layout.s16 | layout.end) % 64, 0u);
            EXPECT_GE(layout.q, static_cast<size_t>(n / block) * 4);
            EXPECT_GE(layout.s16 - layout.q, static_cast<size_t>(n));
            EXPECT_GE(layout.end - layout.s16, static_cast<size_t>((n / 16 + 15) / 16 * 16) * 2);
        }
    }
}

TEST(Activations, TiesGoToTheEvenCode) {
    std::vector<float> x(32, 0.0f);
    x[0] = -127.0f;  // the scale is 1, and so is 127 / amax
    const float values[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, 0.49999997f, 0.50000006f};
    const int codes[] = {0, 2, 2, 0, -2, -2, 126, 0, 1};
    std::copy(std::begin(values), std::end(values), x.begin() + 1);
    const Made made = make(ActKind::q8_32, x);
    EXPECT_EQ(made.row.d[0], 1.0f);
    EXPECT_EQ(made.row.q[0], -127);
    for (int i = 0; i < 9; i++) EXPECT_EQ(made.row.q[1 + i], codes[i]) << values[i];
}

TEST(Activations, TheScaleIsMultipliedByTheRoundedInverse) {
    std::vector<float> x(256);
    for (int i = 0; i < 256; i++) x[i] = std::sin(static_cast<float>(i)) * 0.37f;
    x[100] = -0.913f;
    const Made made = make(ActKind::q8_256, x);
    const float inverse = 127.0f / 0.913f;
    EXPECT_EQ(made.row.d[0], 0.913f / 127.0f);
    for (int i = 0; i < 256; i++) {
        const float scaled = x[i] * inverse;
        EXPECT_EQ(made.row.q[i], std::nearbyint(scaled)) << i;
    }
    EXPECT_EQ(made.row.q[100], -127);
}

TEST(Activations, BlocksHaveScalesOfTheirOwn) {
    std::vector<float> x(96, 1.0f);
    x[32] = 254.0f;
    x[64] = k_nan;
    const Made made = make(ActKind::q8_32, x);
    EXPECT_EQ(made.row.d[0], 1.0f / 127.0f);
    EXPECT_EQ(made.row.q[31], 127);
    EXPECT_EQ(made.row.d[1], 2.0f);
    EXPECT_EQ(made.row.q[33], 0);  // 0.5 goes to 0
    EXPECT_TRUE(std::isnan(made.row.d[2]));
}

TEST(Activations, WhatIsNotFiniteMakesTheBlockNaN) {
    for (const float bad : {k_nan, -k_nan, k_inf, -k_inf}) {
        std::vector<float> x(512, 2.0f);
        x[300] = bad;
        const Made made = make(ActKind::q8_256, x);
        EXPECT_EQ(made.row.d[0], 2.0f / 127.0f);
        EXPECT_TRUE(std::isnan(made.row.d[1]));
        for (int i = 0; i < 256; i++) {
            ASSERT_EQ(made.row.q[i], 127);
            ASSERT_EQ(made.row.q[256 + i], 0);
        }
    }
}

TEST(Activations, ZerosAndWhatIsTooSmallBecomeZeroWithScaleZero) {
    for (const float tiny : {0.0f, -0.0f, 0x1p-149f, -0x1p-130f, 0x1p-122f}) {
        const Made made = make(ActKind::q8_32, std::vector<float>(32, tiny));
        EXPECT_EQ(made.row.d[0], 0.0f) << tiny;
        EXPECT_FALSE(std::signbit(made.row.d[0]));
        for (int i = 0; i < 32; i++) ASSERT_EQ(made.row.q[i], 0) << tiny;
    }
}

TEST(Activations, TheSmallestAndLargestThatHaveAScale) {
    const float smallest = 0x1p-121f;  // 127 / 2^-121 is just below the largest f32; the scale is subnormal
    const Made small = make(ActKind::q8_32, std::vector<float>(32, smallest));
    EXPECT_EQ(small.row.d[0], smallest / 127.0f);
    EXPECT_GT(small.row.d[0], 0.0f);
    EXPECT_EQ(small.row.q[7], 127);
    const Made large = make(ActKind::q8_32, std::vector<float>(32, -std::numeric_limits<float>::max()));
    EXPECT_EQ(large.row.d[0], std::numeric_limits<float>::max() / 127.0f);
    EXPECT_EQ(large.row.q[7], -127);
}

TEST(Activations, SumsOf16CodesArePaddedWithZeros) {
    std::vector<float> x(32);
    for (int i = 0; i < 32; i++) x[i] = static_cast<float>(i < 16 ? 127 : -i);
    const Made made = make(ActKind::q8_32, x);
    EXPECT_EQ(made.row.s16[0], 16 * 127);
    EXPECT_EQ(made.row.s16[1], -(16 + 31) * 8);
    for (int i = 2; i < 16; i++) EXPECT_EQ(made.row.s16[i], 0);
}

}  // namespace
}  // namespace ft
