#include "io/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"

namespace ft {
namespace {

using ::testing::HasSubstr;

// A file of 64 MiB whose bytes follow from their offset; reads may be slow, and fail where a range touches a
// byte.
class FakeFile final : public File {
 public:
    explicit FakeFile(std::string path) : File(std::move(path)) {}

    uint64_t size() const override { return 64 * k_mib; }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override {
        reads++;
        const Inside inside(*this);
        if (other != nullptr && !comes([&] { return other->reads > 0; })) missed_other++;
        comes([&] { return most_at_once >= gather; });
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        if (bad_byte >= offset && bad_byte < offset + to.size()) return system_error(path(), "read", EIO);
        if (offset + to.size() > end) return ends_early(offset, to.size(), end);
        for (size_t i = 0; i < to.size(); i++) to[i] = byte_at(offset + i);
        return {};
    }
    FileIdentity identity() const override {
        FileIdentity who;
        who.device = device;
        return who;
    }
    static std::byte byte_at(uint64_t offset) { return static_cast<std::byte>(offset * 131 + offset / 4099); }

    uint64_t bad_byte = UINT64_MAX;
    uint64_t end = UINT64_MAX;
    std::chrono::milliseconds delay{0};
    mutable std::atomic<int> reads = 0;
    mutable std::atomic<int> most_at_once = 0;
    uint64_t device = 0;
    const FakeFile* other = nullptr;  // no read ends before one of this file has begun
    mutable std::atomic<int> missed_other = 0;
    int gather = 0;  // no read ends before so many were under way at once

 private:
    // Whether it does, within two seconds.
    static bool comes(FunctionRef<bool()> it) {
        for (int i = 0; i < 2000 && !it(); i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return it();
    }
    struct Inside {
        explicit Inside(const FakeFile& file) : at_once(file.at_once_) {
            const int now = ++at_once;
            int most = file.most_at_once;
            while (most < now && !file.most_at_once.compare_exchange_weak(most, now)) {
            }
        }
        ~Inside() { at_once--; }
        std::atomic<int>& at_once;
    };
    mutable std::atomic<int> at_once_ = 0;
};

TEST(Load, FillsEveryRangeOfEveryFile) {
    const FakeFile a("a");
    const FakeFile b("b");
    std::vector<std::vector<std::byte>> targets;
    std::vector<LoadRange> ranges;
    const auto want = [&](const File& file, uint64_t offset, size_t bytes) {
        targets.emplace_back(bytes);
        ranges.push_back({&file, offset, {}});
    };
    want(b, 5 * k_mib - 7, 7 * k_mib);
    want(a, 0, 1);
    want(a, 2 * k_mib, 2 * k_mib);
    want(a, 100, 0);
    want(b, 64 * k_mib - 5, 5);
    for (size_t i = 0; i < ranges.size(); i++) ranges[i].to = targets[i];
    for (const int reads_in_flight : {1, 3, 8}) {
        for (auto& target : targets) std::fill(target.begin(), target.end(), std::byte{0});
        uint64_t last_done = 0;
        uint64_t last_total = 0;
        LoadSettings settings;
        settings.reads_in_flight = reads_in_flight;
        settings.progress = [&](uint64_t done, uint64_t total) { last_done = done, last_total = total; };
        ASSERT_TRUE(load_ranges(ranges, settings));
        EXPECT_EQ(last_done, last_total);
        EXPECT_EQ(last_total, 9 * k_mib + 6);
        for (size_t i = 0; i < ranges.size(); i++)
            for (size_t at = 0; at < targets[i].size(); at += 509)
                ASSERT_EQ(targets[i][at], FakeFile::byte_at(ranges[i].offset + at)) << i << " " << at;
    }
}

TEST(Load, NeighboursAreReadTogether) {
    const FakeFile file("a");
    std::vector<std::byte> target(2 * k_mib);
    std::vector<LoadRange> ranges;
    for (size_t i = 0; i < 1000; i++)
        ranges.push_back({&file, i * 2000, std::span(target).subspan(i * 2000, 2000)});
    ASSERT_TRUE(load_ranges(ranges));
    EXPECT_EQ(file.reads, 1);
    for (size_t at = 0; at < 2000000; at++) ASSERT_EQ(target[at], FakeFile::byte_at(at));
}

TEST(Load, NothingToLoadIsDone) { EXPECT_TRUE(load_ranges({})); }

TEST(Load, AFailedReadEndsItWithTheFilesName) {
    FakeFile file("broken.gguf");
    file.bad_byte = 5 * k_mib;
    std::vector<std::byte> target(60 * k_mib);
    const LoadRange range{&file, 0, target};
    const Status status = load_ranges({&range, 1});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::io);
    EXPECT_THAT(status.error().what, HasSubstr("broken.gguf"));
    EXPECT_LT(file.reads, 30) << "the other reads went on";
}

TEST(Load, AFileThatWasCutIsAnError) {
    FakeFile file("cut.gguf");
    file.end = 3 * k_mib;
    std::vector<std::byte> target(8 * k_mib);
    const LoadRange range{&file, 0, target};
    const Status status = load_ranges({&range, 1});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::truncated);
    EXPECT_THAT(status.error().what, HasSubstr("cut.gguf"));
}

TEST(Load, ReadsOverlap) {
    FakeFile file("slow");
    file.delay = std::chrono::milliseconds(30);
    std::vector<std::byte> target(16 * k_mib);  // 8 chunks
    const LoadRange range{&file, 0, target};
    ASSERT_TRUE(load_ranges({&range, 1}));
    EXPECT_EQ(file.reads, 8);
    EXPECT_GT(file.most_at_once, 1) << "one after the other";
}

// A split model whose parts lie on two drives takes as long as the larger part, not as both: with every
// reader held up in one file, nobody would ever come to the other.
TEST(Load, DrivesAreReadAtTheSameTime) {
    FakeFile a("a"), b("b");
    a.device = 1;
    b.device = 2;
    a.other = &b;
    b.other = &a;
    std::vector<std::byte> of_a(32 * k_mib), of_b(32 * k_mib);
    const LoadRange ranges[] = {{&a, 0, of_a}, {&b, 0, of_b}};
    ASSERT_TRUE(load_ranges(ranges));
    EXPECT_EQ(a.missed_other + b.missed_other, 0);
    EXPECT_EQ(a.reads + b.reads, 32);
    for (const auto* target : {&of_a, &of_b})
        for (size_t at = 0; at < target->size(); at += 4093) ASSERT_EQ((*target)[at], FakeFile::byte_at(at));
}

// The readers of a drive that is done help with the other.
TEST(Load, AllReadersServeADriveThatIsLeft) {
    FakeFile small("a"), large("b");
    small.device = 1;
    large.device = 2;
    large.gather = 8;
    std::vector<std::byte> of_small(2 * k_mib), of_large(48 * k_mib);
    const LoadRange ranges[] = {{&small, 0, of_small}, {&large, 0, of_large}};
    ASSERT_TRUE(load_ranges(ranges));
    EXPECT_EQ(large.reads, 24);
    EXPECT_EQ(large.most_at_once, 8) << "readers rested";
}

TEST(Load, StopsBetweenReads) {
    FakeFile file("slow");
    file.delay = std::chrono::milliseconds(5);
    std::vector<std::byte> target(60 * k_mib);
    const LoadRange range{&file, 0, target};
    std::stop_source stop;
    LoadSettings settings;
    settings.reads_in_flight = 1;
    settings.stop = stop.get_token();
    stop.request_stop();
    const Status status = load_ranges({&range, 1}, settings);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().what, HasSubstr("stopped"));
    EXPECT_LT(file.reads, 3);
}

// A file whose reads find no memory, as the scratch of a loading thread may.
class GreedyFile final : public File {
 public:
    GreedyFile() : File("greedy.gguf") {}
    uint64_t size() const override { return k_mib; }
    Status read_at(uint64_t, std::span<std::byte>) const override { throw std::bad_alloc(); }
};

TEST(Load, MemoryThatALoadingThreadDoesNotGetIsAnError) {
    const GreedyFile file;
    std::vector<std::byte> to(1000);
    const LoadRange range{&file, 0, to};
    const Status status = load_ranges({&range, 1}, {});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::too_large);
    EXPECT_THAT(status.error().what, HasSubstr("no memory"));
}

}  // namespace
}  // namespace ft
