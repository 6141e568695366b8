#include "hub/part_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hub/server_for_test.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PartFileTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "freetoken-part-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    RemotePart part(uint64_t bytes = 100) const {
        return {.url = "http://x/m.gguf",
                .path = folder_ + "/o/r/m.gguf",
                .bytes = bytes,
                .sha256 = std::string(64, 'a'),
                .word = "o/r"};
    }
    std::string journal() const {
        std::ifstream in(ranges_path(part().path));
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // Two of four chunks of 30 bytes, then the file is closed.
    void write_half() const {
        auto file = PartFile::open(part(), 30);
        ASSERT_TRUE(file) << file.error().sentence();
        const std::string bytes = test_text(100);
        for (const size_t chunk : {0, 3}) {
            const auto of_chunk = std::as_bytes(std::span(bytes)).subspan(chunk * 30, chunk == 3 ? 10 : 30);
            ASSERT_TRUE(file->write(chunk * 30, of_chunk));
            ASSERT_TRUE(file->finish_chunk(chunk, chunk + 7));
        }
        EXPECT_EQ(file->done_bytes(), 40u);
    }

    std::string folder_;
};

TEST_F(PartFileTest, GoesOnWhereItWas) {
    write_half();
    const auto state = read_part_state(part().path);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->word, "o/r");
    EXPECT_EQ(state->bytes, 100u);
    EXPECT_EQ(state->done, 60u);  // counted in whole chunks
    auto again = PartFile::open(part(), 30);
    ASSERT_TRUE(again) << again.error().sentence();
    EXPECT_TRUE(again->has(0));
    EXPECT_FALSE(again->has(1));
    EXPECT_EQ(again->digest(3), 10u);
    EXPECT_FALSE(again->thrown_away());
    std::string read(30, ' ');
    ASSERT_TRUE(again->read(0, std::as_writable_bytes(std::span(read))));
    EXPECT_EQ(read, test_text(30));
    const size_t forgotten[] = {0};
    ASSERT_TRUE(again->forget_chunks(forgotten));
    EXPECT_FALSE(again->has(0));
}

TEST_F(PartFileTest, AJournalThatWasNotWrittenToItsEndCountsUpToThere) {
    write_half();
    std::ofstream(ranges_path(part().path), std::ios::app) << "1 00000000000";
    auto again = PartFile::open(part(), 30);
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->has(1));
    EXPECT_TRUE(again->has(3));
    EXPECT_THAT(journal(), testing::EndsWith("3 000000000000000a\n"));
}

TEST_F(PartFileTest, AnotherContentOrADamagedJournalBeginsAnew) {
    const auto opened_anew = [&](const RemotePart& other) {
        const auto file = PartFile::open(other, 30);
        return file && file->done_bytes() == 0 && file->thrown_away();
    };
    write_half();
    RemotePart other = part();
    other.sha256 = std::string(64, 'b');
    EXPECT_TRUE(opened_anew(other));
    write_half();
    EXPECT_TRUE(opened_anew(part(101)));
    for (const char* text : {"", "freetoken-part-1 \n",
                             "freetoken-part-1 {\"bytes\":\"x\",\"chunk\":[]}\n0 1\n", "\n\n", "{}"}) {
        write_half();
        std::ofstream(ranges_path(part().path)) << text;
        EXPECT_TRUE(opened_anew(part())) << text;
    }
}

TEST_F(PartFileTest, OfAFileWithoutDigestTheMarkOfTheServerCounts) {
    RemotePart one = part();
    one.sha256 = "";
    one.etag = "\"1\"";
    {
        auto file = PartFile::open(one, 30);
        ASSERT_TRUE(file && file->finish_chunk(0, 1));
    }
    EXPECT_TRUE(PartFile::open(one, 30)->has(0));
    one.etag = "\"2\"";
    EXPECT_FALSE(PartFile::open(one, 30)->has(0));
}

TEST_F(PartFileTest, OneProcessAtATime) {
    const auto first = PartFile::open(part(), 30);
    ASSERT_TRUE(first);
    const auto second = PartFile::open(part(), 30);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().sentence(), HasSubstr("another freetoken is downloading"));
}

TEST_F(PartFileTest, TakesItsNameAtTheEnd) {
    {
        auto file = PartFile::open(part(), 30);
        ASSERT_TRUE(file);
        EXPECT_FALSE(fs::exists(part().path));
        ASSERT_TRUE(file->commit());
    }
    EXPECT_TRUE(fs::exists(part().path));
    EXPECT_FALSE(fs::exists(part_path(part().path)));
    EXPECT_FALSE(fs::exists(ranges_path(part().path)));
}

TEST_F(PartFileTest, LinksInItsPlaceAreNotFollowed) {
    fs::create_directories(folder_ + "/o/r");
    std::ofstream(folder_ + "/precious") << "text";
    fs::create_symlink(folder_ + "/precious", part_path(part().path));
    const auto file = PartFile::open(part(), 30);
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().sentence(), HasSubstr("a link, not a file"));
    EXPECT_EQ(fs::file_size(folder_ + "/precious"), 4u);
}

TEST_F(PartFileTest, OnlyRegularFilesInThePlaceOfItsJournalCount) {
    fs::create_directories(folder_ + "/o/r");
    const std::string path = ranges_path(part().path);
    const auto said = [&] {
        const auto file = PartFile::open(part(), 30);
        EXPECT_FALSE(read_part_state(part().path));
        fs::remove(path);
        return file ? "opened" : file.error().sentence();
    };
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(said(), HasSubstr(".part.ranges: this is no regular file"));
    fs::create_symlink("/dev/zero", path);
    EXPECT_THAT(said(), HasSubstr(".part.ranges: this is a link, not a file"));
    fs::create_directory(path);
    EXPECT_THAT(said(), HasSubstr(".part.ranges: this is no regular file"));
    EXPECT_TRUE(PartFile::open(part(), 30));
}

}  // namespace
}  // namespace ft
