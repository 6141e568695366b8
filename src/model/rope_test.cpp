#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ft {
namespace {

RopeParams plain(RopeKind kind, int64_t n_rot) {
    RopeParams p;
    p.kind = kind;
    p.n_rot = n_rot;
    return p;
}

std::vector<float> turned(const Rope& rope, std::vector<float> x, int64_t position) {
    std::vector<float> table(2 * rope.n_pair());
    rope.table(position, table.data());
    rope.rotate(x.data(), 1, static_cast<int64_t>(x.size()), table.data());
    return x;
}

TEST(Rope, PositionZeroChangesNothing) {
    const std::vector<float> x = {1, 2, 3, 4, 5, 6};
    for (RopeKind kind : {RopeKind::norm, RopeKind::neox})
        EXPECT_EQ(turned(Rope(plain(kind, 4), {}), x, 0), x);
}

TEST(Rope, PairsAreNeighboursOrHalvesAndTheRestStays) {
    const float c0 = static_cast<float>(std::cos(3.0)), s0 = static_cast<float>(std::sin(3.0));
    const float c1 = static_cast<float>(std::cos(0.03)), s1 = static_cast<float>(std::sin(0.03));
    const std::vector<float> x = {1, 2, 3, 4, 5, 6};
    const auto norm = turned(Rope(plain(RopeKind::norm, 4), {}), x, 3);
    EXPECT_FLOAT_EQ(norm[0], 1 * c0 - 2 * s0);
    EXPECT_FLOAT_EQ(norm[1], 1 * s0 + 2 * c0);
    EXPECT_FLOAT_EQ(norm[2], 3 * c1 - 4 * s1);
    const auto neox = turned(Rope(plain(RopeKind::neox, 4), {}), x, 3);
    EXPECT_FLOAT_EQ(neox[0], 1 * c0 - 3 * s0);
    EXPECT_FLOAT_EQ(neox[2], 1 * s0 + 3 * c0);
    EXPECT_FLOAT_EQ(neox[3], 2 * s1 + 4 * c1);
    EXPECT_EQ(neox[4], 5);
    EXPECT_EQ(neox[5], 6);
}

TEST(Rope, ScalingStretchesPositionsAndFactorsDivideAngles) {
    RopeParams linear = plain(RopeKind::norm, 2);
    linear.scaling = RopeScaling::linear;
    linear.factor = 4;
    EXPECT_EQ(turned(Rope(linear, {}), {1, 0}, 8), turned(Rope(plain(RopeKind::norm, 2), {}), {1, 0}, 2));
    EXPECT_EQ(turned(Rope(plain(RopeKind::norm, 2), {4.0f}), {1, 0}, 8), turned(Rope(linear, {}), {1, 0}, 8));
}

// YaRN (arXiv 2309.00071): fast pairs keep their angle, slow ones are divided by the factor, cosines and
// sines are multiplied by 1 + 0.1 ln(factor).
TEST(Rope, YarnKeepsFastPairsAndStretchesSlowOnes) {
    RopeParams yarn = plain(RopeKind::norm, 64);
    yarn.scaling = RopeScaling::yarn;
    yarn.factor = 8;
    yarn.n_ctx_original = 4096;
    const Rope rope(yarn, {});
    std::vector<float> table(64);
    rope.table(1, table.data());
    const double m = 1 + 0.1 * std::log(8.0);
    EXPECT_NEAR(table[0], m * std::cos(1.0), 1e-6);
    EXPECT_NEAR(table[32 + 31], m * std::sin(std::pow(10000.0, -62.0 / 64) / 8), 1e-9);
}

}  // namespace
}  // namespace ft
