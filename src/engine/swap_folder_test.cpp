// memory.swap_dir: what is copied, when, and that no answer depends on the copy.
#include "engine/swap_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "device/drive.h"
#include "engine/golden_models.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Expected<DriveComparison> faster(const std::string&, const std::string&, const BeforeMeasuring&) {
    return DriveComparison{true, "said by a test"};
}
Expected<DriveComparison> slower(const std::string&, const std::string&, const BeforeMeasuring&) {
    return DriveComparison{false, "said by a test"};
}

class SwapFolderTest : public ::testing::TestWithParam<const char*> {
 protected:
    void SetUp() override { fs::create_directories(folder_); }
    void TearDown() override { fs::remove_all(folder_); }
    LoadOptions options(CompareDrives compare = &faster) const {
        LoadOptions options = streaming_options(GetParam(), 0.3);
        options.swap_dir = folder_;
        options.compare_drives = std::move(compare);
        return options;
    }
    std::vector<fs::path> files() const {
        std::vector<fs::path> all;
        for (const auto& file : fs::directory_iterator(folder_)) all.push_back(file.path());
        return all;
    }
    std::vector<float> expected() const {
        const auto whole = load(options_for(GetParam()));
        return whole ? logits_of(*whole) : std::vector<float>();
    }
    std::string folder_ = fmt::format("{}freetoken_swap_test_{}", ::testing::TempDir(), ::getpid());
};

TEST_P(SwapFolderTest, ExpertsAreCopiedOnceAndAnswersAreTheSame) {
    const auto want = expected();
    for (const bool threads : {false, true}) {
        LoadOptions how = options();
        how.reads_by_threads = threads;
        auto engine = load(how);
        ASSERT_NE(engine, nullptr);
        EXPECT_TRUE(engine->reads_pack());
        EXPECT_TRUE(same_bits(logits_of(*engine), want)) << threads;
        EXPECT_GT(engine->expert_stats().misses, 0u);
        ASSERT_EQ(files().size(), 1u);
        const auto written = fs::last_write_time(files()[0]);
        ASSERT_NE(load(how), nullptr);
        EXPECT_EQ(fs::last_write_time(files()[0]), written);
    }
}

TEST_P(SwapFolderTest, ADamagedCopyIsMendedAndMadeAnew) {
    const auto want = expected();
    ASSERT_NE(load(options()), nullptr);
    const fs::path pack = files()[0];
    std::fstream(pack, std::ios::in | std::ios::out | std::ios::binary)
        .write("damage everywhere at the start", 30);
    {
        std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
        for (uint64_t at = 0; at < fs::file_size(pack) / 2; at += 4096)
            file.seekp(static_cast<std::streamoff>(at)).write("damage", 6);
    }
    auto engine = load(options());
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(same_bits(logits_of(*engine), want));
    EXPECT_TRUE(files().empty());
    engine = load(options());
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->reads_pack());
    EXPECT_TRUE(same_bits(logits_of(*engine), want));
}

INSTANTIATE_TEST_SUITE_P(Goldens, SwapFolderTest,
                         testing::Values("qwen3moe-layermix", "mixtral-q8-split", "qwen35moe-gateup-q8"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

class OneSwapFolder : public SwapFolderTest {};

TEST_P(OneSwapFolder, OnASlowerDriveTheModelFileIsReadAndALineSaysWhy) {
    testing::internal::CaptureStderr();
    auto engine = load(options(&slower));
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_NE(engine, nullptr);
    EXPECT_FALSE(engine->reads_pack());
    EXPECT_TRUE(files().empty());
    EXPECT_THAT(said, HasSubstr("the model file itself is read: said by a test"));
}

TEST_P(OneSwapFolder, OnTheModelsOwnDriveNothingIsMeasuredOrCopied) {
    const auto refuse = []() -> Status { return Error{Code::too_large, "no room to measure", ""}; };
    const auto compare = [&](const std::string& folder) {
        const auto drives = compare_drives(golden(GetParam()), folder, refuse);
        return drives ? *drives : DriveComparison{true, drives.error().what};
    };
    EXPECT_FALSE(compare(fs::path(golden(GetParam())).parent_path().string()).faster);
    EXPECT_FALSE(compare(FREETOKEN_SOURCE_DIR).faster);
    EXPECT_THAT(compare(FREETOKEN_SOURCE_DIR).why, HasSubstr("own drive"));
    const auto shared_memory = drive_of("/dev/shm");
    if (!shared_memory || shared_memory->kind != DriveKind::memory) return;
    EXPECT_THAT(compare("/dev/shm").why, HasSubstr("lies in memory"));
}

TEST(SwapFolder, ADiskThatTurnsIsWarnedOfByItsName) {
    Drive drive;
    drive.device = "sda";
    for (const DriveKind kind : {DriveKind::nvme, DriveKind::solid_state, DriveKind::virtual_drive}) {
        drive.kind = kind;
        EXPECT_EQ(slow_folder_warning("/data/swap", drive), "");
    }
    drive.kind = DriveKind::rotating;
    const std::string warning = slow_folder_warning("/data/swap", drive);
    EXPECT_THAT(warning, AllOf(HasSubstr("memory.swap_dir"), HasSubstr("/data/swap"), HasSubstr("(sda)")));
}

TEST_P(OneSwapFolder, AllInRamCopiesNothing) {
    LoadOptions how = options();
    how.ram_budget = {};
    auto engine = load(how);
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->experts_resident());
    EXPECT_TRUE(files().empty());
}

TEST_P(OneSwapFolder, TooLittleSpaceIsRefusedWithTheNumbers) {
    const auto refused = SwapFolder::choose(folder_, golden(GetParam()), uint64_t{1} << 60, &faster);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_THAT(refused.error().what, HasSubstr("1073741824.00 GiB"));
    EXPECT_THAT(refused.error().what, HasSubstr(folder_));
    EXPECT_TRUE(SwapFolder::choose(folder_, golden(GetParam()), uint64_t{1} << 60, &slower));
}

TEST_P(OneSwapFolder, TooLittleSpaceIsRefusedBeforeADriveIsMeasured) {
    int measured = 0;
    const auto measure = [&](const std::string&, const std::string&,
                             const BeforeMeasuring& before) -> Expected<DriveComparison> {
        if (Status s = before(); !s) return s.error();
        measured++;
        return DriveComparison{false, "measured by a test"};
    };
    const auto refused = SwapFolder::choose(folder_, golden(GetParam()), uint64_t{1} << 60, measure);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_THAT(refused.error().what, HasSubstr("1073741824.00 GiB"));
    EXPECT_EQ(measured, 0);
    EXPECT_TRUE(SwapFolder::choose(folder_, golden(GetParam()), 1, measure));
    EXPECT_EQ(measured, 1);
}

TEST_P(OneSwapFolder, ACopyThatFailsLeavesTheModelFile) {
    LoadOptions how = options();
    const std::string gone = folder_ + "/gone";
    how.swap_dir = gone;
    fs::create_directories(gone);
    how.compare_drives = &faster;
    // the folder vanishes between the choice and the copy, as a drive does that is pulled out
    const auto open_file = how.open_file;
    how.open_file = [=](const std::string& path) {
        fs::remove_all(gone);
        return open_file(path);
    };
    testing::internal::CaptureStderr();
    auto engine = load(how);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_NE(engine, nullptr);
    EXPECT_FALSE(engine->reads_pack());
    EXPECT_THAT(said, HasSubstr("the model file itself is read"));
    EXPECT_TRUE(same_bits(logits_of(*engine), expected()));
}

INSTANTIATE_TEST_SUITE_P(Goldens, OneSwapFolder, testing::Values("qwen3moe-q4km"),
                         [](const auto&) { return std::string("qwen3moe"); });

}  // namespace
}  // namespace ft
