#include "io/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputFileTest : public ::testing::Test {
 protected:
    void SetUp() override { fs::create_directories(folder_); }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    size_t n_files() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }
    static std::string content(const std::string& path) {
        std::ostringstream out;
        out << std::ifstream(path, std::ios::binary).rdbuf();
        return out.str();
    }
    static void put(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

    std::string folder_ = fmt::format("{}freetoken_output_test_{}", ::testing::TempDir(), ::getpid());
};

Status write_text(OutputFile& file, std::string_view text) {
    return file.write(std::as_bytes(std::span(text.data(), text.size())));
}

// Writes all of `text`; the error of whichever step fails.
Status write_all(const std::string& path, std::string_view text) {
    Expected<OutputFile> file = OutputFile::create(path);
    if (!file) return file.error();
    if (Status s = write_text(*file, text); !s) return s.error();
    return file->commit();
}

TEST_F(OutputFileTest, AppearsWholeOnCommit) {
    const std::string target = path("out");
    Expected<OutputFile> file = OutputFile::create(target);
    ASSERT_TRUE(file);
    const std::string large(1 << 20, 'x');
    ASSERT_TRUE(write_text(*file, large));
    ASSERT_TRUE(write_text(*file, "end"));
    EXPECT_FALSE(fs::exists(target));
    ASSERT_TRUE(file->commit());
    EXPECT_EQ(content(target), large + "end");
    EXPECT_EQ(n_files(), 1u);
}

TEST_F(OutputFileTest, WithoutCommitNothingIsLeftAndTheOldFileStays) {
    put(path("old"), "kept");
    for (const char* name : {"old", "new"}) {
        Expected<OutputFile> file = OutputFile::create(path(name));
        ASSERT_TRUE(file);
        ASSERT_TRUE(write_text(*file, std::string(1 << 20, 'x')));
    }
    EXPECT_EQ(content(path("old")), "kept");
    EXPECT_EQ(n_files(), 1u);
}

TEST_F(OutputFileTest, ReplacesAFileAndKeepsItsRights) {
    put(path("old"), "kept");
    ASSERT_EQ(::chmod(path("old").c_str(), 0640), 0);
    ASSERT_TRUE(write_all(path("old"), "new"));
    EXPECT_EQ(content(path("old")), "new");
    struct stat info = {};
    ASSERT_EQ(::stat(path("old").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0640u);
    EXPECT_EQ(n_files(), 1u);
}

TEST_F(OutputFileTest, ALinkStaysAndItsTargetIsReplaced) {
    put(path("real"), "kept");
    fs::create_symlink(path("real"), path("link"));
    ASSERT_TRUE(write_all(path("link"), "new"));
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(content(path("real")), "new");
}

TEST_F(OutputFileTest, ErrorsNameTheTarget) {
    const auto what = [](const std::string& target) {
        const Status status = write_all(target, "text");
        return status ? "written" : status.error().what;
    };
    EXPECT_THAT(what(path("none/x.f32")), AllOf(HasSubstr("none/x.f32"), HasSubstr("No such file")));
    EXPECT_THAT(what(folder_), AllOf(HasSubstr(folder_), HasSubstr("folder")));
    EXPECT_THAT(what("/dev/full"), AllOf(HasSubstr("/dev/full"), HasSubstr("space")));
    EXPECT_THAT(what(path("x") + "/"), HasSubstr("x/"));
    EXPECT_EQ(n_files(), 0u);
}

TEST_F(OutputFileTest, LargeAndSmallWritesKeepTheirOrderAcrossASync) {
    auto file = OutputFile::create(path("out"));
    ASSERT_TRUE(file);
    std::string all;
    for (const size_t bytes : {size_t{3}, size_t{700'000}, size_t{5}, size_t{300'000}, size_t{1}}) {
        const std::string part(bytes, static_cast<char>('a' + all.size() % 26));
        all += part;
        ASSERT_TRUE(file->write(std::as_bytes(std::span(part))));
        ASSERT_TRUE(bytes != 5 || file->sync());
    }
    ASSERT_TRUE(file->commit());
    EXPECT_EQ(content(path("out")), all);
}

TEST_F(OutputFileTest, NoRightToWriteIsRespected) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
    put(path("old"), "kept");
    ASSERT_EQ(::chmod(path("old").c_str(), 0440), 0);
    EXPECT_FALSE(write_all(path("old"), "new"));
    EXPECT_EQ(content(path("old")), "kept");
}

TEST_F(OutputFileTest, WhatIsNoRegularFileIsWrittenDirectly) {
    EXPECT_TRUE(write_all("/dev/null", "text"));
    const std::string fifo = path("pipe");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const Status unread = write_all(fifo, "text");
    ASSERT_FALSE(unread);
    EXPECT_THAT(unread.error().sentence(), AllOf(HasSubstr("pipe"), HasSubstr("Nobody reads")));
    const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    EXPECT_TRUE(write_all(fifo, "through the pipe"));
    std::string received(100, '\0');
    received.resize(static_cast<size_t>(::read(reader, received.data(), received.size())));
    ::close(reader);
    EXPECT_EQ(received, "through the pipe");
    EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(OutputFileTest, AFileThatTheCallerHoldsOpenIsWrittenOnFromWhereItStands) {
    const std::string held = path("held");
    const int fd = ::open(held.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::write(fd, "before ", 7), 7);
    EXPECT_TRUE(write_all(fmt::format("/proc/self/fd/{}", fd), "the result"));
    ASSERT_EQ(::write(fd, " after", 6), 6);
    ::close(fd);
    EXPECT_EQ(content(held), "before the result after");
}

TEST_F(OutputFileTest, AFileBelowDevIsAFileLikeAnyOther) {
    const std::string shared = fmt::format("/dev/shm/freetoken-output-test-{}", ::getpid());
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written to";
    put(shared, "a longer text than the new one");
    EXPECT_TRUE(write_all(shared, "new"));
    EXPECT_EQ(content(shared), "new");
    fs::remove(shared);
    EXPECT_TRUE(write_all(shared, "created"));
    EXPECT_EQ(content(shared), "created");
    fs::remove(shared);
}

TEST_F(OutputFileTest, ALinkToNothingIsFollowed) {
    fs::create_symlink("later", path("link"));
    ASSERT_TRUE(write_all(path("link"), "new"));
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(content(path("later")), "new");
    fs::create_symlink("circle", path("circle"));
    const Status circle = write_all(path("circle"), "new");
    ASSERT_FALSE(circle);
    EXPECT_THAT(circle.error().sentence(), HasSubstr("links lead in a circle"));
}

TEST_F(OutputFileTest, OfResultsThatBelongTogetherAllAppearOrNone) {
    const auto write_both = [&](const std::string& second) {
        Expected<OutputFile> a = OutputFile::create(path("a")), b = OutputFile::create(second);
        check(a && b, "both can be created");
        check(write_text(*a, "one") && write_text(*b, "two"), "the texts are gathered in memory");
        OutputFile* const both[] = {&*a, &*b};
        return commit_all(both);
    };
    const Status full = write_both("/dev/full");
    ASSERT_FALSE(full);
    EXPECT_THAT(full.error().what, HasSubstr("/dev/full"));
    EXPECT_EQ(n_files(), 0u);
    EXPECT_TRUE(write_both(path("b")));
    EXPECT_EQ(content(path("a")) + content(path("b")), "onetwo");
    // A target that has become a folder meanwhile is refused by the last step.
    fs::remove(path("a"));
    fs::remove(path("b"));
    Expected<OutputFile> a = OutputFile::create(path("a")), b = OutputFile::create(path("b"));
    ASSERT_TRUE(a && b);
    fs::create_directories(path("b/inside"));
    OutputFile* const both[] = {&*a, &*b};
    EXPECT_FALSE(commit_all(both));
    EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(OutputFileTest, TheSameFileIsKnownUnderOtherNames) {
    put(path("real"), "text");
    fs::create_symlink("real", path("link"));
    fs::create_hard_link(path("real"), path("hard"));
    EXPECT_TRUE(is_same_file(path("real"), path("link")));
    EXPECT_TRUE(is_same_file(path("real"), path("hard")));
    EXPECT_FALSE(is_same_file(path("real"), path("new")));
    EXPECT_TRUE(is_same_file(path("new"), folder_ + "/./new"));
    EXPECT_FALSE(is_same_file(path("new"), path("other")));
    EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
}

TEST_F(OutputFileTest, AFolderIsAskedWhetherItTakesFilesAndKeepsNone) {
    EXPECT_TRUE(check_takes_files(folder_));
    EXPECT_EQ(n_files(), 0u);
    for (const std::string& none : {std::string("/proc"), path("missing")}) {
        const Status refused = check_takes_files(none);
        ASSERT_FALSE(refused) << none;
        EXPECT_THAT(refused.error().what, HasSubstr(none + ": no file can be made there: "));
        EXPECT_THAT(refused.error().remedy, HasSubstr("can be written to"));
    }
}

}  // namespace
}  // namespace ft
