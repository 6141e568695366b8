#include "device/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "device/cgroup.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

// A folder that stands in for the root of the file system.
class Machine : public testing::Test {
 protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "freetoken_device_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root = name;
        write("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 5 kB\nMemAvailable:    8388608 kB\n");
    }
    void TearDown() override { fs::remove_all(root); }
    void write(const std::string& path, const std::string& text) {
        fs::create_directories(fs::path(root + path).parent_path());
        std::ofstream(root + path) << text;
    }
    Ram ram() {
        const auto found = read_ram(root);
        EXPECT_TRUE(found);
        return *found;
    }
    std::string root;
};

TEST_F(Machine, WithoutGroupsMeminfoDecides) {
    EXPECT_EQ(ram().total_bytes, 16 * k_gib);
    EXPECT_EQ(ram().available_bytes, 8 * k_gib);
    EXPECT_FALSE(cgroup_cpu_quota(root));
}

TEST_F(Machine, NoMeminfoIsAnError) {
    fs::remove(root + "/proc/meminfo");
    const auto none = read_ram(root);
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().sentence(), testing::HasSubstr("/proc/meminfo"));
}

TEST_F(Machine, Version2LimitsOfEveryLevelCount) {
    write("/proc/self/cgroup", "0::/a/b\n");
    write("/sys/fs/cgroup/a/b/memory.max", "max\n");
    write("/sys/fs/cgroup/a/memory.max", "4294967296\n");
    write("/sys/fs/cgroup/a/memory.current", "3221225472\n");
    write("/sys/fs/cgroup/a/memory.stat",
          "anon 1073741824\nfile 2147483648\ninactive_file 1073741824\nactive_file 1073741824\n");
    EXPECT_EQ(ram().total_bytes, 4 * k_gib);
    EXPECT_EQ(ram().available_bytes, 3 * k_gib);  // 4 - (3 - 2 of page cache)
    write("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    ASSERT_TRUE(cgroup_cpu_quota(root));
    EXPECT_DOUBLE_EQ(*cgroup_cpu_quota(root), 1.5);
}

TEST_F(Machine, Version1LimitsCount) {
    write("/proc/self/cgroup", "4:memory:/g\n3:cpu,cpuacct:/g\n0::/\n");
    write("/sys/fs/cgroup/memory/g/memory.limit_in_bytes", "2147483648\n");
    write("/sys/fs/cgroup/memory/g/memory.usage_in_bytes", "1073741824\n");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "-1\n");
    write("/sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(ram().total_bytes, 2 * k_gib);
    EXPECT_EQ(ram().available_bytes, 1 * k_gib);
    EXPECT_FALSE(cgroup_cpu_quota(root));
    write("/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "50000\n");
    ASSERT_TRUE(cgroup_cpu_quota(root));
    EXPECT_DOUBLE_EQ(*cgroup_cpu_quota(root), 0.5);
    EXPECT_EQ(physical_cores(root), 1);
}

TEST_F(Machine, AFullGroupHasNothingLeft) {
    write("/proc/self/cgroup", "0::/\n");
    write("/sys/fs/cgroup/memory.max", "1000\n");
    write("/sys/fs/cgroup/memory.current", "2000\n");
    EXPECT_EQ(ram().available_bytes, 0u);
}

TEST(Cpu, ThisMachineIsDescribed) {
    const auto found = read_ram();
    ASSERT_TRUE(found);
    EXPECT_GT(found->total_bytes, 64 * k_mib);
    EXPECT_GT(found->available_bytes, 0u);
    EXPECT_LE(found->available_bytes, found->total_bytes);
    EXPECT_GE(physical_cores(), 1);
    EXPECT_LE(physical_cores(), sysconf(_SC_NPROCESSORS_CONF));
}

// In a process of its own, since neither can be undone for certain: exit status 0 is success.
int status_of(int (*body)()) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(Cpu, CoresFollowTheAffinity) {
    EXPECT_EQ(status_of([] {
                  cpu_set_t mine, one;
                  sched_getaffinity(0, sizeof mine, &mine);
                  CPU_ZERO(&one);
                  int cpu = 0;
                  while (!CPU_ISSET(cpu, &mine)) ++cpu;
                  CPU_SET(cpu, &one);
                  if (sched_setaffinity(0, sizeof one, &one) != 0) return 2;
                  return physical_cores() == 1 ? 0 : 1;
              }),
              0);
}

}  // namespace
}  // namespace ft
