// Rows of `doctor` on made-up drives.
#include "cli/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"

namespace ft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Drive drive_with(DriveKind kind, uint64_t free_gib) {
    Drive drive;
    drive.device = kind == DriveKind::nvme ? "nvme0n1" : "sda";
    drive.file_system = "ext4";
    drive.mount_point = "/data";
    drive.kind = kind;
    drive.read_ahead_kb = 128;
    drive.free_bytes = free_gib * k_gib;
    return drive;
}

DriveProfile reads_at(double gb_per_second) {
    return {.rates = {{2 * k_mib, 4, gb_per_second}}, .latency_us = 90};
}

TEST(Doctor, TheDrivesRowHasItsFiguresAndAdviceWhereItIsSlow) {
    const Check good = drive_check(drive_with(DriveKind::nvme, 100), reads_at(2.5));
    EXPECT_EQ(good.state, State::ok);
    EXPECT_THAT(good.value,
                AllOf(HasSubstr("NVMe nvme0n1"), HasSubstr("100.00 GiB free"), HasSubstr("read_ahead_kb 128"),
                      HasSubstr("2.50 GB/s"), HasSubstr("90 us")));
    for (const DriveKind kind : {DriveKind::rotating, DriveKind::network, DriveKind::windows}) {
        const Check slow = drive_check(drive_with(kind, 100), reads_at(2.5));
        EXPECT_EQ(slow.state, State::warning) << drive_kind_name(kind);
        EXPECT_FALSE(slow.advice.empty());
    }
    EXPECT_THAT(drive_check(drive_with(DriveKind::windows, 100), reads_at(1)).advice, HasSubstr("WSL2"));
    EXPECT_EQ(drive_check(drive_with(DriveKind::nvme, 100), reads_at(0.1)).state, State::warning);
    EXPECT_EQ(drive_check(drive_with(DriveKind::nvme, 100), {}).state, State::warning) << "not measured";
}

TEST(Doctor, AModelThatDoesNotFitIsAProblemWithARemedy) {
    const Machine machine{.ram_total = 64 * k_gib, .ram_available = 60 * k_gib, .card = {}};
    const Check small = plan_check({machine, example_shape(), {.ram_budget = k_gib / 10}});
    EXPECT_EQ(small.state, State::problem);
    EXPECT_THAT(small.value, HasSubstr("are missing"));
    EXPECT_THAT(small.advice, HasSubstr("memory.ram_budget (--ram) to "));
    const Check barred = plan_check({machine, example_shape(), {.cpu_offload = false}});
    EXPECT_EQ(barred.state, State::problem);
    EXPECT_THAT(barred.advice, HasSubstr("Set memory.cpu_offload to true"));
    const Check good = plan_check({machine, example_shape(), {.ram_budget = 8 * k_gib}});
    EXPECT_EQ(good.state, State::ok);
    EXPECT_THAT(good.value, HasSubstr(" of 8.00 GiB of RAM, for 8192 tokens"));
}

TEST(Doctor, SwapDirNamesItsDriveAndWhatACopyLacks) {
    const Check good = swap_dir_check("/data/swap", drive_with(DriveKind::nvme, 20), {15 * k_gib, ""});
    EXPECT_EQ(good.state, State::ok);
    EXPECT_THAT(good.value, AllOf(HasSubstr("/data/swap"), HasSubstr("nvme0n1"), HasSubstr("20.00 GiB free"),
                                  HasSubstr("takes 15.00 GiB")));
    const Check full = swap_dir_check("/data/swap", drive_with(DriveKind::nvme, 20), {23 * k_gib, ""});
    EXPECT_EQ(full.state, State::warning);
    EXPECT_THAT(full.value, AllOf(HasSubstr("20.00 GiB free"), HasSubstr("takes 23.00 GiB")));
    EXPECT_THAT(full.advice, HasSubstr("3.00 GiB more"));
    const Check slow = swap_dir_check("/data/swap", drive_with(DriveKind::rotating, 20), {0, ""});
    EXPECT_EQ(slow.state, State::warning);
    EXPECT_THAT(slow.value, AllOf(HasSubstr("rotating disk sda"), Not(HasSubstr("copy"))));
    EXPECT_THAT(slow.advice, HasSubstr("NVMe"));
    const Check unused =
        swap_dir_check("/dev/shm", drive_with(DriveKind::memory, 1), {0, "it lies in memory"});
    EXPECT_EQ(unused.state, State::ok);
    EXPECT_THAT(unused.value,
                AllOf(HasSubstr("nothing is copied there: it lies in memory"), Not(HasSubstr("takes"))));
    EXPECT_EQ(swap_dir_check("/data/swap", drive_with(DriveKind::nvme, 1), {0, ""}).state, State::ok);
}

}  // namespace
}  // namespace ft::cli
