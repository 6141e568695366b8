#include "device/profile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device/drive.h"
#include "device/gpu.h"
#include "device/ram_speed.h"
#include "device/wsl.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

// A folder that is gone after the test.
class Folder {
 public:
    Folder() {
        std::string form = testing::TempDir() + "/freetoken-profile-XXXXXX";
        path_ = mkdtemp(form.data());
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const {
        const fs::path file = path_ + "/" + name;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

 private:
    std::string path_;
};

MachineProfile some_profile() {
    MachineProfile profile;
    profile.ram_read_gb_per_second = 21.5;
    profile.cpu_read_gb_per_second = 9.25;
    profile.cpu_gflops = 130;
    profile.drive = {.rates = {{65536, 1, 0.5}, {65536, 4, 0.75}}, .latency_us = 80};
    return profile;
}

TEST(ProfileFile, GivesBackWhatWasWritten) {
    const Folder folder;
    const std::string inside = folder.path() + "/not/yet/there";
    ASSERT_TRUE(write_profile(inside, "cpu", "drive a", some_profile()));
    const MachineProfile read = read_profile(inside, "cpu", "drive a");
    EXPECT_EQ(read.ram_read_gb_per_second, 21.5);
    EXPECT_EQ(read.cpu_read_gb_per_second, 9.25);
    EXPECT_EQ(read.cpu_gflops, 130);
    EXPECT_EQ(read.drive.latency_us, 80);
    ASSERT_EQ(read.drive.rates.size(), 2u);
    EXPECT_EQ(read.drive.rates[1].depth, 4);
    EXPECT_EQ(read.drive.best_gb_per_second(), 0.75);
    EXPECT_EQ(std::distance(fs::directory_iterator(inside), fs::directory_iterator()), 1)
        << "a file was left over";
}

TEST(DriveProfile, LongStepsStreamAtTheMiddleOfLongReads) {
    constexpr uint64_t k_short = 65536, k_long = 2 << 20;
    DriveProfile drive{.rates = {{k_short, 16, 9}, {k_long, 1, 8}, {k_long, 4, 2}, {k_long, 16, 3}}};
    EXPECT_EQ(drive.streaming_gb_per_second(), 2.5);
    drive.rates.push_back({k_long / 4, 16, 7});
    EXPECT_EQ(drive.streaming_gb_per_second(), 3);
    EXPECT_EQ((DriveProfile{.rates = {{k_short, 4, 0.5}}}).streaming_gb_per_second(), 0.5);
    EXPECT_EQ(DriveProfile{}.streaming_gb_per_second(), 0);
}

TEST(ProfileFile, KeepsDrivesApartAndForgetsAnotherMachine) {
    const Folder folder;
    ASSERT_TRUE(write_profile(folder.path(), "cpu", "drive a", some_profile()));
    EXPECT_TRUE(read_profile(folder.path(), "cpu", "drive b").drive.rates.empty());
    EXPECT_EQ(read_profile(folder.path(), "cpu", "drive b").ram_read_gb_per_second, 21.5);
    EXPECT_EQ(read_profile(folder.path(), "other cpu", "drive a").ram_read_gb_per_second, 0);
    MachineProfile other = some_profile();
    other.drive.latency_us = 99;
    ASSERT_TRUE(write_profile(folder.path(), "cpu", "drive b", other));
    EXPECT_EQ(read_profile(folder.path(), "cpu", "drive a").drive.latency_us, 80);
    EXPECT_EQ(read_profile(folder.path(), "cpu", "drive b").drive.latency_us, 99);
}

TEST(ProfileFile, ADamagedOneCountsAsNone) {
    const Folder folder;
    ASSERT_TRUE(write_profile(folder.path(), "cpu", "a", some_profile()));
    for (const char* text :
         {"", "{", "[]", "null", "7", R"({"version":3})", R"({"version":"1","hardware":"cpu"})",
          R"({"version":3,"hardware":"cpu","ram_read":"fast","cpu_read":-1,"drives":7})",
          R"({"version":3,"hardware":"cpu","drives":{"a":{"rates":[[1,2],["x",1,1]]}}})",
          R"({"version":3,"hardware":"cpu","drives":{"a":{"rates":7}}})", "\xff\xfe\x00"}) {
        folder.write("machine-profile.json", text);
        const MachineProfile read = read_profile(folder.path(), "cpu", "a");
        EXPECT_EQ(read.ram_read_gb_per_second, 0) << text;
        EXPECT_EQ(read.cpu_read_gb_per_second, 0) << text;
        EXPECT_TRUE(read.drive.rates.empty()) << text;
        ASSERT_TRUE(write_profile(folder.path(), "cpu", "a", some_profile())) << text;
        EXPECT_EQ(read_profile(folder.path(), "cpu", "a").cpu_gflops, 130) << text;
    }
}

TEST(ProfileFile, APipeADeviceOrAnEndlessFileCountsAsDamaged) {
    const Folder folder;
    const std::string path = folder.path() + "/machine-profile.json";
    const auto read = [&] { return read_profile(folder.path(), "cpu", "drive a").ram_read_gb_per_second; };
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(read(), 0);
    ASSERT_TRUE(write_profile(folder.path(), "cpu", "drive a", some_profile()));  // in the pipe's place
    EXPECT_EQ(read(), 21.5);
    std::ofstream(path, std::ios::app) << std::string(1 << 20, ' ');
    EXPECT_EQ(read(), 0);
    fs::remove(path);
    fs::create_symlink("/dev/zero", path);
    EXPECT_EQ(read(), 0);
    ASSERT_TRUE(write_profile(folder.path(), "cpu", "drive a", some_profile()));
    EXPECT_EQ(read(), 21.5);
}

TEST(ProfileFile, OneThatWasMeasuredBesideBusyProgramsIsMeasuredAgainLater) {
    const Folder folder;
    MachineProfile busy = some_profile();
    busy.foreign_cpu = 0.5;
    busy.measured_at = 1000;
    ASSERT_TRUE(write_profile(folder.path(), "cpu", "a", busy));
    const MachineProfile read = read_profile(folder.path(), "cpu", "a");
    EXPECT_FALSE(read.is_doubtful(1100));
    EXPECT_TRUE(read.is_doubtful(2000));
    busy.foreign_cpu = 0.05;
    EXPECT_FALSE(busy.is_doubtful(2000));
}

TEST(ProfileFile, SaysWhyItCannotTakeItsName) {
    const Folder folder;
    fs::create_directory(folder.path() + "/machine-profile.json");
    const Status s = write_profile(folder.path(), "cpu", "drive a", some_profile());
    ASSERT_FALSE(s);
    EXPECT_NE(s.error().what.find("Is a directory"), std::string::npos) << s.error().what;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);  // nothing stays beside it
}

TEST(ProfileFile, SaysWhereItCannotBeWritten) {
    const Folder folder;
    folder.write("file", "");
    const Status written = write_profile(folder.path() + "/file", "cpu", "a", some_profile());
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().what.find("file"), std::string::npos);
}

TEST(Drive, NamesTheDriveOfAPartitionAndItsKind) {
    const auto here = drive_of(testing::TempDir());
    ASSERT_TRUE(here);
    EXPECT_GT(here->total_bytes, 0u);
    EXPECT_FALSE(here->identity().empty());
    const auto missing = drive_of("/no/such/folder");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().what.find("/no/such/folder"), std::string::npos);
}

TEST(Drive, IsMeasuredWithAFileOfItsOwnThatIsGoneAfterwards) {
    const Folder folder;
    const auto profile = measure_drive_of_folder(folder.path(), 0.05);
    ASSERT_TRUE(profile) << profile.error().sentence();
    EXPECT_EQ(profile->rates.size(), 9u);
    EXPECT_GT(profile->best_gb_per_second(), 0);
    EXPECT_GT(profile->latency_us, 0);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    EXPECT_FALSE(measure_drive_of_folder(folder.path() + "/none", 0.05));
}

TEST(Drive, IsNotMeasuredWithAFileThatSaysNothing) {
    const Folder folder;
    folder.write("small", "x");
    EXPECT_FALSE(measure_drive(folder.path() + "/small", 0.05));
    EXPECT_FALSE(measure_drive(folder.path() + "/missing", 0.05));
    EXPECT_FALSE(measure_drive(folder.path(), 0.05));
}

TEST(RamSpeed, IsAPositiveNumber) { EXPECT_GT(measure_ram_read(2, 0.01), 0.1); }

TEST(Wsl, IsToldByTheKernelsName) {
    const Folder folder;
    EXPECT_FALSE(is_wsl(folder.path()));
    folder.write("proc/sys/kernel/osrelease", "6.1.0-25-amd64\n");
    EXPECT_FALSE(is_wsl(folder.path()));
    folder.write("proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
    EXPECT_TRUE(is_wsl(folder.path()));
}

TEST(Gpu, AreReadFromTheFilesOfTheSystem) {
    const Folder folder;
    EXPECT_TRUE(find_gpus(folder.path()).empty());
    folder.write("sys/class/drm/card0/device/vendor", "0x1234\n");  // the screen of a virtual machine
    folder.write("sys/class/drm/card0-HDMI-A-1/status", "connected\n");
    EXPECT_TRUE(find_gpus(folder.path()).empty());
    folder.write("sys/class/drm/card1/device/vendor", "0x1002\n");
    folder.write("sys/class/drm/card1/device/device", "0x73bf\n");
    folder.write("sys/class/drm/card1/device/mem_info_vram_total", "17163091968\n");
    folder.write("sys/class/drm/card1/device/mem_info_vram_used", "512000000\n");
    folder.write("proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n");
    folder.write("proc/driver/nvidia/gpus/0000:01:00.0/information",
                 "Model: \t\t NVIDIA GeForce RTX 3060\nIRQ:   \t\t 180\n");
    const auto gpus = find_gpus(folder.path());
    ASSERT_EQ(gpus.size(), 2u);
    EXPECT_EQ(gpus[0].name, "NVIDIA GeForce RTX 3060");
    EXPECT_EQ(gpus[0].driver, "nvidia 550.54.14");
    EXPECT_EQ(gpus[1].vendor, "AMD");
    EXPECT_EQ(gpus[1].total_bytes, 17163091968u);
    EXPECT_EQ(gpus[1].used_bytes, 512000000u);
}

}  // namespace
}  // namespace ft
