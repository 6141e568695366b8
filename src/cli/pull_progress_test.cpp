#include "cli/pull_progress.h"

#include <gtest/gtest.h>

namespace ft::cli {
namespace {

constexpr uint64_t k_test_gib = uint64_t{1} << 30;

TEST(PullProgress, SaysHowMuchHowFastAndHowLong) {
    EXPECT_EQ(transfer_note(k_test_gib, 4 * k_test_gib, 0), "1.00 GiB of 4.00 GiB");
    EXPECT_EQ(transfer_note(k_test_gib, 4 * k_test_gib, 50e6), "1.00 GiB of 4.00 GiB, 50 MB/s, 64 s left");
    EXPECT_EQ(transfer_note(k_test_gib, 4 * k_test_gib, 2.5e6),
              "1.00 GiB of 4.00 GiB, 2.5 MB/s, 21 min left");
    EXPECT_EQ(transfer_note(4 * k_test_gib, 4 * k_test_gib, 1e6), "4.00 GiB of 4.00 GiB, 1.0 MB/s");
}

TEST(TransferRate, IsThatOfTheLastSeconds) {
    TransferRate rate;
    EXPECT_EQ(rate.per_second(), 0);
    rate.add(0, 0);
    rate.add(0.01, 1'000'000);  // too soon after the last
    EXPECT_EQ(rate.per_second(), 0);
    for (int second = 1; second <= 30; second++) rate.add(second, static_cast<uint64_t>(second) * 1'000'000);
    EXPECT_DOUBLE_EQ(rate.per_second(), 1e6);
    for (int second = 31; second <= 50; second++) rate.add(second, 30'000'000);
    EXPECT_DOUBLE_EQ(rate.per_second(), 0);
    rate.add(51, 0);  // begun anew
    rate.add(53, 4'000'000);
    EXPECT_DOUBLE_EQ(rate.per_second(), 2e6);
}

}  // namespace
}  // namespace ft::cli
