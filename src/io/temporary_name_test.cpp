#include "io/temporary_name.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace ft {
namespace {

namespace fs = std::filesystem;

class TemporaryNameTest : public ::testing::Test {
 protected:
    void TearDown() override { fs::remove(path_); }
    TemporaryName made() {
        std::ofstream(path_) << "text";
        return TemporaryName(path_);
    }
    std::string path_ = ::testing::TempDir() + "freetoken_temporary_name_" + std::to_string(::getpid());
};

TEST_F(TemporaryNameTest, IsRemovedWhenGivenUp) {
    {
        const TemporaryName name = made();
    }
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(TemporaryNameTest, StaysWhenForgottenAlsoAfterItWasMoved) {
    {
        TemporaryName name = made();
        TemporaryName other = std::move(name);
        other.forget();
        EXPECT_TRUE(other.empty());
    }
    EXPECT_TRUE(fs::exists(path_));
}

TEST_F(TemporaryNameTest, IsRemovedByASignalThatEndsTheProgram) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        const pid_t child = ::fork();
        if (child == 0) {
            const TemporaryName name = made();
            std::raise(number);
            std::_Exit(1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number);
        EXPECT_FALSE(fs::exists(path_));
    }
}

}  // namespace
}  // namespace ft
