#include "cli/token_rate.h"

#include <gtest/gtest.h>

namespace ft::cli {
namespace {

TEST(TokenRate, PausesDoNotCount) {
    TokenRate rate;
    EXPECT_EQ(rate.per_second(), 0);
    rate.add(100, 0.1);  // an answer of a tenth of a second
    rate.add(0, 0);
    EXPECT_DOUBLE_EQ(rate.per_second(), 1000);
    rate.add(300, 0.9);
    EXPECT_DOUBLE_EQ(rate.per_second(), 400);
}

TEST(TokenRate, ForgetsWhatIsOlderThanAMinute) {
    TokenRate rate;
    rate.add(1000, 0.5);
    for (int i = 0; i < 59; i++) rate.add(10, 1);
    EXPECT_GT(rate.per_second(), 20);
    rate.add(10, 1);
    EXPECT_DOUBLE_EQ(rate.per_second(), 10);
    for (int i = 0; i < 60; i++) rate.add(0, 0);
    EXPECT_EQ(rate.per_second(), 0);
}

}  // namespace
}  // namespace ft::cli
