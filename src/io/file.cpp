#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>

#include "base/bytes.h"
#include "io/blocks.h"

namespace ft {

namespace {

constexpr int k_probes = 4;

struct Descriptor {
    int fd = -1;
    explicit Descriptor(int number) : fd(number) {}
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
};

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileIdentity identity_of(int fd) {
    struct stat info = {};
    if (::fstat(fd, &info) != 0) return {};
    return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim)};
}

// Times of files are those of a clock that ticks some hundred times a second: a write in the tick of an
// earlier one leaves the same time. Whoever knows a file by its time begins to read when that tick is over.
void wait_for_next_tick(int64_t written_ns) {
    constexpr int64_t k_another_clock = 1'000'000'000;  // a time so far ahead is another machine's
    timespec now = {}, tick = {};
    ::clock_getres(CLOCK_REALTIME_COARSE, &tick);
    for (;;) {
        ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
        const int64_t ahead = written_ns - nanoseconds(now);
        if (ahead < 0 || ahead > k_another_clock) return;
        std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds(tick)));
    }
}

// The size as it is now, to say how much is left of a file that was cut while it was open.
uint64_t size_now(int fd) {
    struct stat info = {};
    return ::fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

class DiskFile final : public File {
 public:
    DiskFile(std::string path, int fd, int direct_fd, int direct_refusal)
        : File(std::move(path)),
          cached_(fd),
          direct_(direct_fd),
          direct_refusal_(direct_refusal),
          identity_(identity_of(fd)) {}

    uint64_t size() const override { return identity_.bytes; }
    FileIdentity identity() const override { return identity_; }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override;
    Status read_bulk(uint64_t offset, std::span<std::byte> to, std::span<std::byte> scratch) const override;
    Status read_blocks(uint64_t offset, std::span<std::byte> to) const override;
    Status check_unchanged() const override;
    int direct_descriptor() const override { return direct_.fd; }
    int direct_refusal() const override { return direct_refusal_; }

 private:
    bool seems_cached(uint64_t offset, uint64_t bytes) const;
    size_t read_from_cache(uint64_t offset, std::span<std::byte> to) const;
    Status read_direct(uint64_t offset, std::span<std::byte> to, std::span<std::byte> scratch) const;
    Error cut_at(uint64_t offset, uint64_t bytes) const;

    Descriptor cached_;
    Descriptor direct_;  // -1 where the file system has no O_DIRECT, or the process no descriptor left
    int direct_refusal_;
    FileIdentity identity_;
};

std::string_view kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISSOCK(mode)) return "a socket";
    return "not a regular file";
}

Error not_regular(const std::string& path, mode_t mode) {
    return Error{Code::invalid, fmt::format("{}: this is {}, not a file", path_text(path), kind_of(mode)),
                 S_ISDIR(mode) ? "Name a file inside it." : "Name a regular file on a drive."};
}

Error DiskFile::cut_at(uint64_t offset, uint64_t bytes) const {
    return ends_early(offset, bytes, size_now(cached_.fd));
}

Status DiskFile::check_unchanged() const {
    const FileIdentity now = identity_of(cached_.fd);
    if (now.bytes < identity_.bytes) return cut_at(0, identity_.bytes);
    if (now.written_ns == identity_.written_ns && now.bytes == identity_.bytes) return {};
    return Error{Code::io, fmt::format("{}: the file was written to while it was in use", path_text(path())),
                 "Start again with the file as it is now."};
}

Status DiskFile::read_at(uint64_t offset, std::span<std::byte> to) const {
    size_t done = 0;
    while (done < to.size()) {
        const ssize_t got =
            ::pread(cached_.fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(path(), fmt::format("read at byte {}", offset + done), errno);
        if (got == 0) return cut_at(offset, to.size());
        done += static_cast<size_t>(got);
    }
    return {};
}

// Whether a few bytes of the range, each time others, are all in the page cache. A byte that is not may bring
// its page in, so fixed places would look cached after a few loads, and a long read that misses would start
// reading ahead.
bool DiskFile::seems_cached(uint64_t offset, uint64_t bytes) const {
    std::minstd_rand random(
        static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
    for (int i = 0; i < k_probes; i++) {
        std::byte byte{};
        if (read_from_cache(offset + random() % bytes, {&byte, 1}) == 0) return false;
    }
    return true;
}

// Copies what the page cache holds from `offset` on, up to the first page that is not there.
size_t DiskFile::read_from_cache(uint64_t offset, std::span<std::byte> to) const {
    size_t done = 0;
    while (done < to.size()) {
        struct iovec part = {to.data() + done, to.size() - done};
        const ssize_t got = ::preadv2(cached_.fd, &part, 1, static_cast<off_t>(offset + done), RWF_NOWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    return done;
}

Status DiskFile::read_direct(uint64_t offset, std::span<std::byte> to, std::span<std::byte> scratch) const {
    uint64_t at = offset;
    const uint64_t end = offset + to.size();
    while (at < end) {
        std::byte* target = to.data() + (at - offset);
        const uint64_t skip = at % k_file_block;
        const bool congruent = (reinterpret_cast<uintptr_t>(target) - at) % k_file_block == 0;
        const bool straight = congruent && skip == 0 && end - at >= k_file_block;
        // Straight into the target where the addresses allow it; else whole blocks into scratch, then copied.
        const uint64_t blocks =
            straight ? (end - at) / k_file_block * k_file_block
            : congruent && skip != 0
                ? k_file_block
                : std::min<uint64_t>(round_up(end, k_file_block) - (at - skip), scratch.size());
        std::byte* into = straight ? target : scratch.data();
        const ssize_t got = ::pread(direct_.fd, into, blocks, static_cast<off_t>(at - skip));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EINVAL)
            return read_at(at, to.subspan(at - offset));  // larger blocks, or no O_DIRECT
        if (got < 0) return system_error(path(), fmt::format("read at byte {}", at), errno);
        if (static_cast<uint64_t>(got) <= skip) return cut_at(offset, to.size());
        const uint64_t fresh = std::min<uint64_t>(static_cast<uint64_t>(got) - skip, end - at);
        if (!straight) std::memcpy(target, scratch.data() + skip, fresh);
        at += fresh;
    }
    return {};
}

Status DiskFile::read_bulk(uint64_t offset, std::span<std::byte> to, std::span<std::byte> scratch) const {
    if (direct_.fd < 0 || scratch.size() < k_file_block) return read_at(offset, to);
    if (to.empty()) return {};
    const size_t done = seems_cached(offset, to.size()) ? read_from_cache(offset, to) : 0;
    if (done == to.size()) return {};
    return read_direct(offset + done, to.subspan(done), scratch);
}

// What a direct read leaves open (an end that is no block's, a file system that takes the flag and then
// refuses) is read plainly, which also finds the words for what is wrong.
Status DiskFile::read_blocks(uint64_t offset, std::span<std::byte> to) const {
    if (direct_.fd < 0) return read_at(offset, to);
    const BlockRange blocks = covering_blocks(offset, to);
    const uint64_t needed = offset - blocks.offset + to.size();
    const ssize_t got =
        ::pread(direct_.fd, blocks.to.data(), blocks.to.size(), static_cast<off_t>(blocks.offset));
    if (got >= 0 && static_cast<uint64_t>(got) >= needed) return {};
    return read_at(offset, to);
}

}  // namespace

Expected<std::unique_ptr<File>> File::open(const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return system_error(path, "open", errno);
    if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return system_error(path, "open", errno);
    // No reading ahead: a probe for cached bytes must not fetch megabytes that are then read past the cache
    // as well.
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    const int direct_fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
    const int direct_refusal = direct_fd < 0 ? errno : 0;
    // The name may have come to stand for something else since stat(): what counts is what is open.
    auto file = std::make_unique<DiskFile>(path, fd, direct_fd, direct_refusal);
    if (::fstat(fd, &info) != 0) return system_error(path, "open", errno);
    if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
    wait_for_next_tick(file->identity().written_ns);
    return std::unique_ptr<File>(std::move(file));
}

Status File::read_bulk(uint64_t offset, std::span<std::byte> to, std::span<std::byte>) const {
    return read_at(offset, to);
}

Status File::read_blocks(uint64_t offset, std::span<std::byte> to) const { return read_at(offset, to); }

Error File::ends_early(uint64_t offset, uint64_t bytes, uint64_t actual_size) const {
    return Error{Code::truncated,
                 fmt::format("{}: the file ends at byte {}, but {} bytes from byte {} on are needed",
                             path_text(path_), actual_size, bytes, offset),
                 "It is cut short, or was changed while it was read: get the file again."};
}

}  // namespace ft
