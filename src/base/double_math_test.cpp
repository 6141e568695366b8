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

TEST(DoubleMath, ExpSaturatesInsteadOfWrapping) {
    EXPECT_NEAR(exp_f64(709.3) / std::exp(709.3), 1.0, 1e-14);
    EXPECT_NEAR(exp_f64(-707.5) / std::exp(-707.5), 1.0, 1e-14);
    for (const double x : {709.5, 1e4, 1e300, HUGE_VAL}) EXPECT_EQ(exp_f64(x), HUGE_VAL) << x;
    for (const double x : {-709.0, -1e4, -1e300, -HUGE_VAL}) EXPECT_EQ(exp_f64(x), 0.0) << x;
    EXPECT_TRUE(std::isnan(exp_f64(std::nan(""))));
}

}  // namespace
}  // namespace ft
