#include "io/folder_lock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace ft {
namespace {

class FolderLockTest : public ::testing::Test {
 protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    bool is_free() const { return FolderLock::share(folder_).has_value(); }
    static void nobody_waits() { ADD_FAILURE() << "waited for a lock that nobody has"; }
    std::string folder_ = fmt::format("{}freetoken_folder_lock_{}", ::testing::TempDir(), ::getpid());
};

TEST_F(FolderLockTest, ManyShareItOrOneHasItAndTheFolderStaysEmpty) {
    {
        const auto one = FolderLock::share(folder_), other = FolderLock::share(folder_);
        EXPECT_TRUE(one && other);
    }
    {
        const FolderLock mine = FolderLock::take(folder_, nobody_waits);
        EXPECT_FALSE(is_free());
        EXPECT_TRUE(std::filesystem::is_empty(folder_));
    }
    EXPECT_TRUE(is_free());
}

TEST_F(FolderLockTest, WhoeverWaitsGoesOnWhenTheHolderIsKilled) {
    std::array<int, 2> held{};
    ASSERT_EQ(::pipe(held.data()), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        const FolderLock mine = FolderLock::take(folder_, [] {});
        (void)!::write(held[1], "x", 1);
        ::pause();
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(held[0], &byte, 1), 1);
    EXPECT_FALSE(is_free());
    int waits = 0;
    {
        const FolderLock mine = FolderLock::take(folder_, [&] {
            waits++;
            ::kill(holder, SIGKILL);
        });
        EXPECT_FALSE(is_free());
    }
    EXPECT_EQ(waits, 1);
    ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
    for (const int fd : held) ::close(fd);
}

TEST_F(FolderLockTest, WhereThereAreNoLocksNobodyIsKeptOut) {
    const FolderLock mine = FolderLock::take(folder_ + "/none", nobody_waits);
    EXPECT_TRUE(FolderLock::share(folder_ + "/none"));
    const FolderLock other = FolderLock::take(folder_ + "/none", nobody_waits);
}

}  // namespace
}  // namespace ft
