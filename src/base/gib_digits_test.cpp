#include "base/gib_digits.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(GibDigits, AreAsManyAsTellTwoAmountsApart) {
    EXPECT_EQ(gib_digits(8 * k_gib, 4 * k_gib), 2);
    EXPECT_EQ(gib_digits(8 * k_gib, 8 * k_gib), 2) << "equal amounts may look equal";
    EXPECT_EQ(gib_digits(300 * k_mib, 299 * k_mib), 3) << "0.293 and 0.292";
    EXPECT_EQ(gib_digits(k_gib, k_gib - 100 * k_kib), 4) << "1.0000 and 0.9999";
    EXPECT_EQ(gib_digits(k_gib, k_gib - 1), 9);
}

TEST(GibDigits, ABudgetRoundedDownIsNeverBelowWhatIsNeeded) {
    EXPECT_DOUBLE_EQ(gib_rounded_down(3 * k_gib / 2, k_gib), 1.5);
    EXPECT_DOUBLE_EQ(gib_rounded_down(k_gib + k_mib, k_gib), 1.0);
    for (const uint64_t bytes : {k_gib + 12345, 300 * k_mib, 7 * k_gib - 1})
        for (const uint64_t below : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, 100 * k_kib, 50 * k_mib}) {
            const double value = gib_rounded_down(bytes, bytes - below);
            EXPECT_GE(value * static_cast<double>(k_gib), static_cast<double>(bytes - below));
            EXPECT_LE(value * static_cast<double>(k_gib), static_cast<double>(bytes));
        }
}

}  // namespace
}  // namespace ft
