#include "cli/history_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace ft::cli {
namespace {

class History : public testing::Test {
 protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "freetoken-history-" + std::to_string(getpid());
        std::filesystem::create_directories(folder_);
        path_ = folder_ + "/history";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::vector<std::string> entries() {
        const auto read = HistoryFile(path_).read();
        EXPECT_TRUE(read) << (read ? "" : read.error().sentence());
        return read ? *read : std::vector<std::string>();
    }
    std::string content() {
        std::ostringstream text;
        text << std::ifstream(path_, std::ios::binary).rdbuf();
        return text.str();
    }
    // Neither reading nor appending touches the file, and both say why.
    void expect_refused(const std::string& why) {
        const auto read = HistoryFile(path_).read();
        const Status appended = HistoryFile(path_).append("x");
        ASSERT_FALSE(read);
        ASSERT_FALSE(appended);
        EXPECT_NE(read.error().what.find(why), std::string::npos) << read.error().what;
        EXPECT_NE(appended.error().what.find(why), std::string::npos) << appended.error().what;
    }

    std::string folder_, path_;
};

TEST_F(History, EntriesComeBackAsTheyWere) {
    const std::vector<std::string> typed = {"one", "two\nlines", "back\\slash \\n", "用 \t"};
    HistoryFile file(path_);
    for (const std::string& entry : typed) ASSERT_TRUE(file.append(entry));
    EXPECT_EQ(entries(), typed);
    struct stat info{};
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_TRUE(HistoryFile("").append("x"));
    EXPECT_TRUE(HistoryFile("").read()->empty());
}

TEST_F(History, ChatsThatRunAtOnceKeepEachOthersEntries) {
    std::vector<std::thread> chats;
    for (int chat = 0; chat < 4; chat++)
        chats.emplace_back([this, chat] {
            HistoryFile file(path_);
            for (int i = 0; i < 50; i++)
                EXPECT_TRUE(file.append(std::to_string(chat) + "." + std::to_string(i)));
        });
    for (std::thread& chat : chats) chat.join();
    EXPECT_EQ(entries().size(), 200u);
}

TEST_F(History, OnlyTheNewestAreReadAndALongFileIsCut) {
    HistoryFile file(path_);
    ASSERT_TRUE(file.append(std::string(16 * 1024, 'x')));
    ASSERT_TRUE(file.append(std::string(16 * 1024 + 1, 'y')));  // left out
    EXPECT_EQ(entries().size(), 1u);
    std::string many;
    for (int i = 0; i < 300'000; i++) many += "entry\n";
    many += "last\n";
    for (int i = 0; i < 2; i++) std::ofstream(path_, std::ios::app | std::ios::binary) << many;
    const auto cut_to = entries();
    EXPECT_EQ(cut_to.size(), k_history_entries);
    EXPECT_EQ(cut_to.back(), "last");
    EXPECT_LT(std::filesystem::file_size(path_), 20'000u);
    EXPECT_EQ(entries(), cut_to);
}

TEST_F(History, WhatIsNotOursStaysAsItIs) {
    std::ofstream(path_) << "a diary\n";
    expect_refused("another kind");
    EXPECT_EQ(content(), "a diary\n");

    std::filesystem::rename(path_, folder_ + "/diary");
    std::filesystem::create_symlink(folder_ + "/diary", path_);
    expect_refused("symbolic link");
    EXPECT_EQ(content(), "a diary\n");

    std::filesystem::remove(path_);
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    expect_refused("no regular file");

    std::filesystem::remove(path_);
    std::filesystem::create_directory(path_);
    expect_refused("directory");
}

TEST_F(History, OthersMayNoLongerReadIt) {
    ASSERT_TRUE(HistoryFile(path_).append("one"));
    ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
    EXPECT_EQ(entries().size(), 1u);
    struct stat info{};
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(History, AFullDriveCostsTheNewestEntryAlone) {
    ASSERT_TRUE(HistoryFile(path_).append("one"));
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = std::filesystem::file_size(path_) + 3;  // a part of the entry would fit
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status appended = HistoryFile(path_).append("another");
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(appended);
    EXPECT_EQ(entries(), std::vector<std::string>{"one"});
    ASSERT_TRUE(HistoryFile(path_).append("two"));
    EXPECT_EQ(entries(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(History, AnEntryThatWasCutDoesNotSpoilTheNext) {
    ASSERT_TRUE(HistoryFile(path_).append("one"));
    std::ofstream(path_, std::ios::app) << "tw";
    ASSERT_TRUE(HistoryFile(path_).append("three"));
    EXPECT_EQ(entries(), (std::vector<std::string>{"one", "tw", "three"}));
}

}  // namespace
}  // namespace ft::cli
