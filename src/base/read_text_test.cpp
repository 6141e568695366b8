#include "base/read_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/system_error.h"

namespace ft {
namespace {

class ReadTextTest : public ::testing::Test {
 protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string folder_ = fmt::format("{}freetoken_read_text_test_{}", ::testing::TempDir(), ::getpid());
};

std::string refusal(const std::string& path, uint64_t most = 100) {
    const Expected<std::string> text = read_text(path, most);
    return text ? "read: " + *text : text.error().sentence();
}

TEST_F(ReadTextTest, FilesUpToTheLimit) {
    const std::string path = folder_ + "/text";
    std::ofstream(path) << std::string(200'000, 'x');
    const Expected<std::string> whole = read_text(path, 200'000);
    ASSERT_TRUE(whole);
    EXPECT_EQ(*whole, std::string(200'000, 'x'));
    EXPECT_NE(refusal(path, 199'999).find("more than 199999 bytes"), std::string::npos);
}

TEST_F(ReadTextTest, APipeGivesWhatIsWrittenToIt) {
    const std::string path = folder_ + "/pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // a writer that is there already
    ASSERT_GE(fd, 0);
    std::jthread writer([fd] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(::write(fd, "1 2 3", 5), 5);
        ::close(fd);
    });
    const Expected<std::string> text = read_text(path, 100);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "1 2 3");
}

TEST_F(ReadTextTest, WhatCannotBeReadIsNamedAndNeverWaitedFor) {
    const std::string pipe = folder_ + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_NE(refusal(pipe).find("nobody writes"), std::string::npos);
    EXPECT_NE(refusal(folder_).find("folder"), std::string::npos);
    EXPECT_NE(refusal(folder_ + "/none").find("No such file"), std::string::npos);
    EXPECT_NE(refusal("/dev/zero").find("the limit"), std::string::npos);
    EXPECT_NE(refusal("/proc/self/mem").find("cannot read"), std::string::npos);
}

std::string kept_refusal(const std::string& path, uint64_t most = 100) {
    const Expected<std::string> text = read_kept_text(path, most);
    return text ? "read: " + *text : text.error().sentence();
}

TEST_F(ReadTextTest, OfKeptFilesOnlyRegularOnesCount) {
    const std::string pipe = folder_ + "/pipe", text = folder_ + "/text", link = folder_ + "/link";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // that never writes: nothing waits for it
    ASSERT_GE(writer, 0);
    std::ofstream(text) << "1 2 3";
    std::filesystem::create_symlink(text, link);
    EXPECT_EQ(kept_refusal(text), "read: 1 2 3");
    EXPECT_EQ(kept_refusal(link), "read: 1 2 3");
    for (const std::string& path : {pipe, folder_, std::string("/dev/zero")})
        EXPECT_NE(kept_refusal(path).find("no regular file"), std::string::npos) << kept_refusal(path);
    EXPECT_NE(kept_refusal(text, 4).find("more than 4 bytes"), std::string::npos);
    EXPECT_NE(kept_refusal(folder_ + "/none").find("No such file"), std::string::npos);
    ::close(writer);
}

TEST(SystemError, ReasonsThatPeopleMeetHaveARemedy) {
    for (const int number :
         {ENOENT, EACCES, ENOSPC, EROFS, EIO, EMFILE, ENAMETOOLONG, ELOOP, ETXTBSY, EDQUOT, EFBIG, ENXIO}) {
        const Error error = system_error("out.f32", "write", number);
        EXPECT_TRUE(error.what.starts_with("out.f32: cannot write: ")) << error.what;
        EXPECT_FALSE(error.remedy.empty()) << error.what;
    }
}

}  // namespace
}  // namespace ft
