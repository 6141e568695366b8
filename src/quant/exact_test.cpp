// The order of operations of docs/arithmetic.md 1.1, 1.3, 1.4, on numbers where another gives other bits.
#include "quant/exact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "quant/half.h"
#include "quant/types.h"

namespace ft {
namespace {

// Activations as int8 that are written down rather than made.
struct Codes {
    std::vector<float> d;
    std::vector<int8_t> q;
    std::vector<int16_t> s16;

    Codes(std::vector<float> scales, std::vector<int8_t> codes) : d(std::move(scales)), q(std::move(codes)) {
        s16.resize(q.size() / 16);
        for (size_t i = 0; i < q.size(); i++) s16[i / 16] = static_cast<int16_t>(s16[i / 16] + q[i]);
    }
    ActRow row() const { return {nullptr, d.data(), q.data(), s16.data()}; }
};

float dot_floats(const std::vector<float>& w, const std::vector<float>& x) {
    ActRow row;
    row.x = x.data();
    return type_info(QuantType::F32)
        .dot(reinterpret_cast<const std::byte*>(w.data()), row, static_cast<int64_t>(w.size()));
}

TEST(FloatDot, LanesAreFusedAndAddedByHalving) {
    std::vector<float> w(64, 0.0f);
    std::vector<float> x(64, 1.0f);
    w[3] = -1.0f;
    w[35] = 1.0f + 0x1p-12f;  // the square loses its last bit unless multiply and add are one operation
    x[35] = 1.0f + 0x1p-12f;
    EXPECT_EQ(dot_floats(w, x), 0x1p-11f + 0x1p-24f);

    // Lanes 0 and 16 meet first, then 8: (1e8 - 1e8) + 1. By rising lane the 1 would be lost.
    std::vector<float> lanes(32, 0.0f);
    lanes[0] = 1e8f;
    lanes[8] = 1.0f;
    lanes[16] = -1e8f;
    EXPECT_EQ(dot_floats(lanes, std::vector<float>(32, 1.0f)), 1.0f);
    // Lanes 0 and 8 meet before 4, and 2 and 10 before 6.
    std::vector<float> more(32, 0.0f);
    more[0] = more[1] = 1e8f;
    more[4] = more[3] = 1.0f;
    more[8] = more[9] = -1e8f;
    EXPECT_EQ(dot_floats(more, std::vector<float>(32, 1.0f)), 2.0f);
}

TEST(FloatDot, GroupsOf256AreAddedFromTheLeft) {
    std::vector<float> w(600, 0.0f);
    w[0] = 1e8f;
    w[256] = 1.0f;
    w[512] = -1e8f;
    EXPECT_EQ(dot_floats(w, std::vector<float>(600, 1.0f)), 0.0f);
    w[256] = -1e8f;
    w[512] = 1.0f;
    EXPECT_EQ(dot_floats(w, std::vector<float>(600, 1.0f)), 1.0f);
    // Values 0 and 256 are both in lane 0, but of different groups.
    w.assign(257, 0.0f);
    w[0] = 1.0f;
    w[32] = 1e8f;
    w[256] = -1e8f;
    EXPECT_EQ(dot_floats(w, std::vector<float>(257, 1.0f)), 0.0f);
}

TEST(FloatDot, ARowWithoutValuesInALaneSkipsIt) {
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(dot_floats({inf}, {1.0f}), inf);  // a padded 0 * inf would be NaN
    EXPECT_EQ(dot_floats({2.0f, 3.0f, 5.0f}, {1.0f, 10.0f, 100.0f}), 532.0f);
}

std::vector<std::byte> q8_0_blocks(const std::vector<float>& d, int8_t code) {
    std::vector<std::byte> row(d.size() * 34, std::byte(code));
    for (size_t b = 0; b < d.size(); b++) store(&row[34 * b], float_to_half(d[b]));
    return row;
}

TEST(SmallBlockDot, ScalesAreMultipliedFirstAndBlocksAddedFromTheLeft) {
    const float d = 0.3330078125f;
    const auto sum = static_cast<float>(32 * 59 * 101);
    int other_orders = 0;
    for (int i = 1; i <= 20; i++) {
        const std::vector<float> da = {0.1f * static_cast<float>(i), 0.7f, 1.3e-3f};
        const Codes x(da, std::vector<int8_t>(96, 59));
        const std::vector<std::byte> row = q8_0_blocks({d, -d, d}, 101);
        float p = 0.0f;
        p = p + (d * da[0]) * sum;
        p = p + (-d * da[1]) * sum;
        p = p + (d * da[2]) * sum;
        EXPECT_EQ(type_info(QuantType::Q8_0).dot(row.data(), x.row(), 96), p);
        if ((d * da[0]) * sum != d * (da[0] * sum)) other_orders++;
    }
    EXPECT_GT(other_orders, 0) << "numbers that tell the orders apart";
}

TEST(SmallBlockDot, ARowOf320HasTwoGroups) {
    // The first block gives 2^25, the last two 2 each: alone a 2 is lost in rounding, together they are not.
    std::vector<float> da(10, 1.0f);
    std::vector<float> d(10, 0.0f);
    d[0] = da[0] = 1024.0f;
    d[8] = d[9] = 0x1p-4f;
    const Codes x(da, std::vector<int8_t>(320, 1));
    const std::vector<std::byte> row = q8_0_blocks(d, 1);
    EXPECT_EQ(type_info(QuantType::Q8_0).dot(row.data(), x.row(), 320), 0x1p25f + 4.0f);
    EXPECT_EQ(type_info(QuantType::Q8_0).dot(row.data(), x.row(), 288), 0x1p25f);
}

TEST(SmallBlockDot, SignedCodesReachTheirLimits) {
    const Codes x({1.0f}, std::vector<int8_t>(32, -127));
    const std::vector<std::byte> row = q8_0_blocks({1.0f}, -128);
    EXPECT_EQ(type_info(QuantType::Q8_0).dot(row.data(), x.row(), 32), 32.0f * 127.0f * 128.0f);
}

TEST(SmallBlockDot, TheOffsetIsAddedAfterTheScale) {
    const float d = 0.3330078125f;
    const float m = -1.2373046875f;
    const std::vector<float> da = {0.1f, 0.37f};
    std::vector<int8_t> q(64);
    for (int i = 0; i < 64; i++) q[i] = static_cast<int8_t>(3 * i - 60);
    const Codes x(da, q);
    std::vector<std::byte> row(40, std::byte{0xd5});  // low nibbles 5, high nibbles 13
    for (int b = 0; b < 2; b++) {
        store(&row[20 * b], float_to_half(d));
        store(&row[20 * b + 2], float_to_half(m));
    }
    float p = 0.0f;
    for (int b = 0; b < 2; b++) {
        const int low = x.s16[2 * b];
        const int high = x.s16[2 * b + 1];
        p = p + (d * da[b]) * static_cast<float>(5 * low + 13 * high);
        p = p + (m * da[b]) * static_cast<float>(low + high);
    }
    EXPECT_EQ(type_info(QuantType::Q4_1).dot(row.data(), x.row(), 64), p);
}

TEST(SmallBlockDot, Nvfp4TakesAStepPer16) {
    std::vector<int8_t> q(64);
    for (int i = 0; i < 64; i++) q[i] = static_cast<int8_t>(2 * i - 50);
    const std::vector<float> da = {0.1f, 0.37f};
    const Codes x(da, q);
    std::vector<std::byte> row(36, std::byte{0xa7});          // 7: code 12; 10: code -2
    const float scales[4] = {0.5f, 0.5625f, 0.875f, 1.375f};  // halves of 1, 1.125, 1.75, 2.75
    const uint8_t bytes[4] = {0x38, 0x39, 0x3e, 0x43};
    float p = 0.0f;
    for (int s = 0; s < 4; s++) {
        row[s] = std::byte(bytes[s]);
        int sum = 0;
        for (int i = 0; i < 16; i++) sum += (i < 8 ? 12 : -2) * q[16 * s + i];
        p = p + (scales[s] * da[s / 2]) * static_cast<float>(sum);
    }
    EXPECT_EQ(type_info(QuantType::NVFP4).dot(row.data(), x.row(), 64), p);
}

TEST(SuperBlockDot, TheMinimumIsTakenAwayAfterTheScale) {
    const float d = 0.3330078125f;
    const float dmin = 1.2373046875f;
    std::vector<int8_t> q(512);
    for (int i = 0; i < 512; i++) q[i] = static_cast<int8_t>(i * 37 % 255 - 127);
    const std::vector<float> da = {0.1f, 0.37f};
    const Codes x(da, q);
    std::vector<std::byte> row(2 * 84,
                               std::byte{0xe4});  // Q2_K: codes 0, 1, 2, 3 by 32 values; scales 4, mins 14
    float groups[2];
    for (int g = 0; g < 2; g++) {
        store(&row[84 * g + 80], float_to_half(d));
        store(&row[84 * g + 82], float_to_half(dmin));
        int sum = 0;
        int min_sum = 0;
        for (int i = 0; i < 256; i++) {
            sum += 4 * (i / 32 % 4) * q[256 * g + i];
            min_sum += 14 * q[256 * g + i];
        }
        groups[g] = (d * da[g]) * static_cast<float>(sum);
        groups[g] = groups[g] - (dmin * da[g]) * static_cast<float>(min_sum);
    }
    EXPECT_EQ(type_info(QuantType::Q2_K).dot(row.data(), x.row(), 512), groups[0] + groups[1]);
}

TEST(SuperBlockDot, TheLargestSumFitsAndIsRoundedOnce) {
    std::vector<std::byte> row(210, std::byte{0});        // Q6_K: every code is -32
    std::fill_n(row.begin() + 192, 16, std::byte{0x80});  // every scale -128
    store(&row[208], float_to_half(0.1f));
    const float d = half_to_float(float_to_half(0.1f));
    const Codes x({0.3f}, std::vector<int8_t>(256, 127));
    EXPECT_EQ(type_info(QuantType::Q6_K).dot(row.data(), x.row(), 256),
              (d * 0.3f) * (32.0f * 128 * 127 * 256));
}

TEST(SuperBlockDot, ASingleGroupKeepsMinusZero) {
    std::vector<std::byte> row(66, std::byte{0x55});  // TQ2_0: every code 0
    store(&row[64], float_to_half(-1.0f));
    const Codes x({1.0f}, std::vector<int8_t>(256, 5));
    EXPECT_TRUE(std::signbit(type_info(QuantType::TQ2_0).dot(row.data(), x.row(), 256)));
}

}  // namespace
}  // namespace ft
