// Reads in flight, by io_uring and by threads: the same bytes, the same errors.
#include "io/read_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/buffer.h"
#include "io/blocks.h"
#include "io/memory_file.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::byte byte_at(uint64_t i) { return static_cast<std::byte>(i * 31 + i / 251); }

class ReadQueueTest : public ::testing::TestWithParam<ReadMethod> {
 protected:
    void SetUp() override {
        std::ofstream out(path_, std::ios::binary);
        for (uint64_t i = 0; i < k_bytes; i++) out.put(static_cast<char>(byte_at(i)));
        out.close();
        auto file = File::open(path_);
        ASSERT_TRUE(file);
        file_ = std::move(*file);
        const File* files[] = {file_.get()};
        auto queue = ReadQueue::open(files, GetParam());
        if (!queue) GTEST_SKIP() << queue.error().what;
        queue_ = std::move(*queue);
    }
    void TearDown() override {
        queue_.reset();
        fs::remove(path_);
    }

    // A target for bytes [offset, offset + bytes), with room for whole blocks around it.
    std::span<std::byte> target(uint64_t offset, uint64_t bytes) {
        memory_.emplace_back(most_covering_bytes(bytes), k_file_block);
        return {memory_.back().data() + offset % k_file_block, bytes};
    }
    std::vector<ReadDone> all_done() {
        std::vector<ReadDone> done;
        while (queue_->in_flight() > 0) queue_->collect(done, true);
        return done;
    }

    static constexpr uint64_t k_bytes = 3'000'017;
    std::string path_ = fmt::format("{}freetoken_read_queue_test_{}", ::testing::TempDir(), ::getpid());
    std::unique_ptr<File> file_;
    std::unique_ptr<ReadQueue> queue_;
    std::vector<Buffer<std::byte>> memory_;
};

TEST_P(ReadQueueTest, EveryByteLandsInItsPlaceUpToTheEndOfTheFile) {
    std::vector<Read> reads;
    for (uint64_t offset = 5; offset < k_bytes; offset += 7001)
        reads.push_back(
            {file_.get(), offset, target(offset, std::min<uint64_t>(6007, k_bytes - offset)), offset});
    queue_->submit(reads);
    const auto done = all_done();
    ASSERT_EQ(done.size(), reads.size());
    for (const ReadDone& one : done) EXPECT_TRUE(one.status) << one.tag;
    for (const Read& read : reads)
        for (size_t i = 0; i < read.to.size(); i++)
            ASSERT_EQ(read.to[i], byte_at(read.offset + i)) << read.offset;
}

TEST_P(ReadQueueTest, AFileThatWasCutIsAnErrorOfThatReadWithItsOffset) {
    fs::resize_file(path_, 1'000'000);
    const Read reads[] = {{file_.get(), 100, target(100, 500), 1},
                          {file_.get(), 2'000'000, target(2'000'000, 500), 2}};
    queue_->submit(reads);
    for (const ReadDone& one : all_done()) {
        EXPECT_EQ(static_cast<bool>(one.status), one.tag == 1);
        if (one.status) continue;
        EXPECT_THAT(one.status.error().what,
                    AllOf(HasSubstr("read_queue_test"), HasSubstr("2000000"), HasSubstr("1000000")));
    }
}

TEST_P(ReadQueueTest, ClosingWaitsForWhatIsInFlight) {
    std::vector<Read> reads;
    for (int i = 0; i < 20; i++) reads.push_back({file_.get(), 0, target(0, 100'000), 0});
    queue_->submit(reads);
    queue_.reset();
    memory_.clear();  // an address sanitizer would see a read that still writes here
}

INSTANTIATE_TEST_SUITE_P(Methods, ReadQueueTest, testing::Values(ReadMethod::io_uring, ReadMethod::threads),
                         [](const auto& info) {
                             return info.param == ReadMethod::io_uring ? "io_uring" : "threads";
                         });

// A ring needs a descriptor of its own; a process that has none left is refused one, as by any other limit.
TEST(ReadQueue, WhereARingIsRefusedThreadsRead) {
    const std::string path = fmt::format("{}freetoken_no_ring_{}", ::testing::TempDir(), ::getpid());
    std::ofstream(path, std::ios::binary) << std::string(100'000, 'x');
    auto file = File::open(path);
    ASSERT_TRUE(file);
    const File* files[] = {file->get()};
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{3, before.rlim_max};
    testing::internal::CaptureStderr();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    auto queue = ReadQueue::open(files);
    const auto forced = ReadQueue::open(files, ReadMethod::io_uring);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(forced);
    ASSERT_TRUE(queue);
    EXPECT_EQ((*queue)->method(), "threads");
    EXPECT_THAT(said, HasSubstr("experts are read by threads"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    Buffer<std::byte> memory(most_covering_bytes(50'000), k_file_block);
    const Read read{file->get(), 4096, {memory.data(), 50'000}, 7};
    (*queue)->submit({&read, 1});
    std::vector<ReadDone> done;
    (*queue)->collect(done, true);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_TRUE(done[0].status);
    EXPECT_EQ(memory[49'999], std::byte{'x'});
    fs::remove(path);
}

TEST(ReadQueue, WhereDescriptorsRanOutTheyAreWhatIsNamed) {
    const std::string path = fmt::format("{}freetoken_last_descriptor_{}", ::testing::TempDir(), ::getpid());
    std::ofstream(path, std::ios::binary) << std::string(100'000, 'x');
    const int next = ::dup(0);  // the lowest number that is free
    ASSERT_GE(next, 0);
    ::close(next);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
    auto file = File::open(path);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->direct_descriptor(), -1);
    EXPECT_EQ((*file)->direct_refusal(), EMFILE);
    const File* files[] = {file->get()};
    const auto ring = ReadQueue::open(files, ReadMethod::io_uring);
    ASSERT_FALSE(ring);
    EXPECT_THAT(ring.error().what, HasSubstr("Too many open files"));
    fs::remove(path);
}

TEST(ReadQueue, FilesWithoutDirectReadsAreReadByThreads) {
    const MemoryFile file("memory", std::string(10'000, 'x'));
    const File* files[] = {&file};
    auto queue = ReadQueue::open(files);
    ASSERT_TRUE(queue);
    EXPECT_EQ((*queue)->method(), "threads");
    EXPECT_FALSE(ReadQueue::open(files, ReadMethod::io_uring));
    Buffer<std::byte> to(most_covering_bytes(5000), k_file_block);
    const Read read{&file, 0, to.span().first(5000), 7};
    (*queue)->submit({&read, 1});
    std::vector<ReadDone> done;
    (*queue)->collect(done, true);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].tag, 7u);
    EXPECT_TRUE(done[0].status);
    EXPECT_EQ(to[4999], static_cast<std::byte>('x'));
}

}  // namespace
}  // namespace ft
