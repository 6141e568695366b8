#include "io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/buffer.h"
#include "io/memory_file.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
    void SetUp() override { fs::create_directories(folder_); }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    std::string make(const std::string& name, size_t n) const {
        std::ofstream out(path(name), std::ios::binary);
        for (size_t i = 0; i < n; i++) out.put(byte_at(i));
        return path(name);
    }
    static char byte_at(size_t i) { return static_cast<char>(i * 31 + i / 251); }

    std::string folder_ = fmt::format("{}freetoken_file_test_{}", ::testing::TempDir(), ::getpid());
};

std::string what_of(const std::string& path) {
    const Expected<std::unique_ptr<File>> file = File::open(path);
    return file ? "opened" : file.error().what;
}

TEST_F(FileTest, OnlyRegularFilesOpenAndNothingBlocks) {
    const std::string fifo = path("pipe.gguf");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const std::string link = path("link.gguf");
    fs::create_symlink("/nowhere/model.gguf", link);
    EXPECT_THAT(what_of(fifo), AllOf(HasSubstr("pipe.gguf"), HasSubstr("a pipe")));
    EXPECT_THAT(what_of(folder_), AllOf(HasSubstr(folder_), HasSubstr("a folder")));
    EXPECT_THAT(what_of("/dev/zero"), AllOf(HasSubstr("/dev/zero"), HasSubstr("a device")));
    EXPECT_THAT(what_of(link), AllOf(HasSubstr("link.gguf"), HasSubstr("No such file")));
    EXPECT_THAT(what_of(path("none.gguf")), AllOf(HasSubstr("none.gguf"), HasSubstr("No such file")));
    EXPECT_THAT(what_of(path(std::string(5000, 'x'))), AllOf(HasSubstr("xxx"), HasSubstr("too long")));
    EXPECT_EQ(what_of(make("with space 模型.gguf", 3)), "opened");
}

TEST_F(FileTest, AFileThatIsWrittenToIsNoticedAndAnotherOfItsNameDoesNotMatter) {
    const Expected<std::unique_ptr<File>> file = File::open(make("a", 1000));
    ASSERT_TRUE(file);
    fs::rename(make("b", 1000), path("a"));
    EXPECT_TRUE((*file)->check_unchanged());
    const Expected<std::unique_ptr<File>> other = File::open(path("a"));
    ASSERT_TRUE(other);
    fs::last_write_time(path("a"), fs::file_time_type::clock::now() + std::chrono::hours(1));
    const Status changed = (*other)->check_unchanged();
    ASSERT_FALSE(changed);
    EXPECT_THAT(changed.error().what, AllOf(HasSubstr("/a"), HasSubstr("written to")));
    EXPECT_TRUE((*file)->check_unchanged());
}

// Otherwise a write in the same tick of the clock would leave the file with the time that it was opened with.
TEST_F(FileTest, ReadingBeginsWhenTheTickOfTheLastWriteIsOver) {
    for (int i = 0; i < 5; i++) {
        const Expected<std::unique_ptr<File>> file = File::open(make("fresh", 10));
        ASSERT_TRUE(file);
        timespec now = {};
        ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
        EXPECT_GT(now.tv_sec * 1'000'000'000 + now.tv_nsec, (*file)->identity().written_ns);
    }
}

TEST_F(FileTest, AFileOfAnotherLengthHasChangedToo) {
    const std::string name = make("a", 1000);
    const auto written = fs::last_write_time(name);
    const Expected<std::unique_ptr<File>> file = File::open(name);
    ASSERT_TRUE(file);
    for (const auto& [bytes, why] : {std::pair{1001, "written to"}, std::pair{999, "ends at byte 999"}}) {
        fs::resize_file(name, static_cast<uintmax_t>(bytes));
        fs::last_write_time(name, written);
        const Status changed = (*file)->check_unchanged();
        ASSERT_FALSE(changed);
        EXPECT_THAT(changed.error().what, HasSubstr(why));
    }
}

TEST_F(FileTest, ReadsAndSaysWhereAFileEnds) {
    const Expected<std::unique_ptr<File>> file = File::open(make("a", 1000));
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->size(), 1000u);
    std::vector<std::byte> bytes(10);
    ASSERT_TRUE((*file)->read_at(990, bytes));
    EXPECT_EQ(static_cast<char>(bytes[9]), byte_at(999));
    const Status late = (*file)->read_at(995, bytes);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Code::truncated);
    EXPECT_THAT(late.error().what, AllOf(HasSubstr("/a"), HasSubstr("byte 1000"), HasSubstr("byte 995")));
}

// The file's own pages may be in the cache or not; every mix must give the same bytes.
TEST_F(FileTest, BulkReadsGiveTheBytesForEveryOffsetAndAddress) {
    constexpr size_t k_size = 5 * 4096 + 123;
    const std::string name = make("bulk", k_size);
    const Expected<std::unique_ptr<File>> file = File::open(name);
    ASSERT_TRUE(file);
    Buffer<std::byte> scratch(3 * 4096, 4096);
    Buffer<std::byte> target(k_size + 8192, 4096);
    const int fd = ::open(name.c_str(), O_RDONLY);
    ::fsync(fd);
    for (const size_t shift : {0, 1, 32, 4095}) {
        for (const size_t offset : {0, 1, 32, 4095, 4096, 9000, 20480}) {
            for (const size_t bytes : {1, 511, 4096, 9001, 20480}) {
                if (offset + bytes > k_size) continue;
                ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
                std::byte keep{};
                ASSERT_EQ(::pread(fd, &keep, 1, 4096), 1);  // one page is cached
                std::memset(target.data(), 0xEE, target.size());
                ASSERT_TRUE((*file)->read_bulk(offset, target.span().subspan(shift, bytes), scratch.span()));
                for (size_t i = 0; i < bytes; i++)
                    ASSERT_EQ(static_cast<char>(target[shift + i]), byte_at(offset + i))
                        << shift << " " << offset;
                ASSERT_EQ(target[shift + bytes], std::byte{0xEE}) << "wrote past the range";
            }
        }
    }
    ::close(fd);
}

TEST_F(FileTest, AFileThatIsCutWhileOpenIsAnError) {
    const std::string name = make("cut", 100000);
    const Expected<std::unique_ptr<File>> file = File::open(name);
    ASSERT_TRUE(file);
    fs::resize_file(name, 50000);
    Buffer<std::byte> scratch(2 * 4096, 4096);
    std::vector<std::byte> bytes(90000);
    const Status read = (*file)->read_at(0, bytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::truncated);
    const Status bulk = (*file)->read_bulk(0, bytes, scratch.span());
    ASSERT_FALSE(bulk);
    EXPECT_EQ(bulk.error().code, Code::truncated);
    EXPECT_THAT(bulk.error().what, AllOf(HasSubstr("/cut"), HasSubstr("byte 50000")));
}

TEST(MemoryFile, ReadsWithinItsBytes) {
    const MemoryFile file("m", "hello");
    std::array<std::byte, 3> bytes{};
    ASSERT_TRUE(file.read_at(2, bytes));
    EXPECT_EQ(static_cast<char>(bytes[2]), 'o');
    EXPECT_FALSE(file.read_at(3, bytes));
    EXPECT_FALSE(file.read_at(~uint64_t{0}, bytes));
}

}  // namespace
}  // namespace ft
