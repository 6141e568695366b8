#include "base/double_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ft {
namespace {

TEST(DoubleMath, AgreesWithTheLibraryToAFewUnits) {
    for (int i = 0; i < 20000; i++) {
        const double t = i * 0.137 - 1300.0, angle = i * 13.7 + 0.01 * i;
        EXPECT_NEAR(sin_f64(angle), std::sin(angle), 1e-14) << angle;
        EXPECT_NEAR(cos_f64(angle), std::cos(angle), 1e-14) << angle;
        EXPECT_NEAR(sin_f64(t), std::sin(t), 1e-14) << t;
        const double e = t / 4.0, x = 1e-6 + i * 0.731;
        EXPECT_NEAR(exp_f64(e), std::exp(e), 4e-15 * std::exp(e)) << e;
        EXPECT_NEAR(log_f64(x), std::log(x), 2e-15 * (1 + std::fabs(std::log(x)))) << x;
    }
    EXPECT_NEAR(pow_f64(1e7, -2.0 * 31 / 128), std::pow(1e7, -2.0 * 31 / 128), 1e-15);
    EXPECT_EQ(exp_f64(0.0), 1.0);
    EXPECT_EQ(log_f64(1.0), 0.0);
    EXPECT_EQ(sin_f64(0.0), 0.0);
    EXPECT_EQ(cos_f64(0.0), 1.0);
}

}  // namespace
}  // namespace ft
