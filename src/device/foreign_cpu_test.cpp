#include "device/foreign_cpu.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(ForeignCpu, ShortTimesAreNotJudgedAndOwnWorkDoesNotCount) {
    const ForeignCpu watch;
    EXPECT_EQ(watch.share(), -1);
    const Seconds end = now_seconds() + 0.3;
    while (now_seconds() < end) {
    }
    const double share = watch.share();
    EXPECT_GE(share, 0.0);
    EXPECT_LE(share, 1.0);
}

}  // namespace
}  // namespace ft
