// Direct reads of a grid of sizes and depths. Threads with one blocking read each stand for the depth: what a
// drive delivers does not depend on the interface that asks. It does depend on the memory that it writes to:
// a read into huge pages, as expert slots are, is a few pieces, into small ones it is hundreds, and a virtual
// drive may give half the rate; and into memory that its last read has left in a cache, which slots never
// are, it may be a fifth faster.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory_map.h"
#include "base/system_error.h"
#include "device/drive.h"

namespace ft {

namespace {

constexpr uint64_t k_block = 4096;
constexpr uint64_t k_sizes[] = {64 * k_kib, 512 * k_kib, 2 * k_mib};
constexpr int k_depths[] = {1, 4, 16};
constexpr int k_rounds = 2;
constexpr uint64_t k_least_file = 8 * k_mib;
constexpr uint64_t k_own_file = 64 * k_mib;
constexpr uint64_t k_memory = 128 * k_mib;  // that is read into, in turn

class OpenFile {
 public:
    OpenFile() = default;
    explicit OpenFile(int fd) : fd_(fd) {}
    OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    ~OpenFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    int fd() const { return fd_; }

 private:
    int fd_ = -1;
};

// A place for a read: a sequence that visits the whole file and never the same block soon again.
uint64_t place(uint64_t number, uint64_t file_bytes, uint64_t read_bytes) {
    const uint64_t places = (file_bytes - read_bytes) / k_block + 1;
    uint64_t x = number * 0x9E3779B97F4A7C15ull;
    x ^= x >> 29;
    return x % places * k_block;
}

struct Counted {
    uint64_t bytes = 0, reads = 0;
    double seconds = 0;
    int error_number = 0;
};

// Reads of one size from `depth` threads until the time is over, each to the next place of `memory`.
Counted read_for(int fd, std::span<std::byte> memory, uint64_t file_bytes, uint64_t read_bytes, int depth,
                 double seconds, uint64_t first) {
    std::atomic<uint64_t> next{first}, bytes{0}, reads{0};
    std::atomic<int> error_number{0};
    const uint64_t part = round_up(read_bytes, k_block);
    const Seconds start = now_seconds();
    const auto work = [&] {
        do {
            const uint64_t number = next.fetch_add(1);
            std::byte* const to = memory.data() + number % (memory.size() / part) * part;
            const ssize_t n =
                ::pread(fd, to, read_bytes, static_cast<off_t>(place(number, file_bytes, read_bytes)));
            if (n <= 0) {
                if (n < 0 && errno == EINTR) continue;
                error_number = n < 0 ? errno : EIO;
                return;
            }
            bytes += static_cast<uint64_t>(n);
            reads++;
        } while (now_seconds() - start < seconds);
    };
    std::vector<std::jthread> threads;
    try {
        for (int i = 1; i < depth; i++) threads.emplace_back(work);
    } catch (const std::system_error&) {
        // with fewer reads at a time the rate is the one that this limit on threads allows
    }
    work();
    threads.clear();
    return {bytes, reads, now_seconds() - start, error_number};
}

Expected<DriveProfile> measure(const std::string& path, int fd, uint64_t file_bytes, double seconds) {
    DriveProfile profile;
    static_assert(k_memory >= 2 * std::ranges::max(k_sizes) * std::ranges::max(k_depths));
    const auto memory = MemoryMap::reserve(k_memory, true);
    if (!memory) return memory.error();
    const std::span<std::byte> buffers(memory->data(), memory->size());
    // the system's zeros are written before the clock runs
    for (uint64_t i = 0; i < k_memory; i += k_block) buffers[i] = std::byte{1};
    uint64_t number = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    // The grid is gone over twice and the better rate counts: a virtual drive's host fetches some of a file
    // from further away, and a busy drive rests for others, which holds one part of a measurement up and not
    // both.
    for (const uint64_t size : k_sizes)
        for (const int depth : k_depths) profile.rates.push_back({size, depth, 0});
    profile.latency_us = std::numeric_limits<double>::infinity();
    const double each = seconds / (k_rounds * static_cast<double>(profile.rates.size() + 1));
    for (int round = 0; round < k_rounds; round++) {
        const Counted small = read_for(fd, buffers, file_bytes, k_block, 1, each, number);
        if (small.error_number != 0) return system_error(path, "read", small.error_number);
        const double latency = small.seconds * 1e6 / static_cast<double>(std::max<uint64_t>(1, small.reads));
        profile.latency_us = std::min(profile.latency_us, latency);
        for (DriveRate& rate : profile.rates) {
            number += 1'000'003;
            const Counted n = read_for(fd, buffers, file_bytes, std::min(rate.read_bytes, file_bytes),
                                       rate.depth, each, number);
            if (n.error_number != 0) return system_error(path, "read", n.error_number);
            rate.gb_per_second = std::max(rate.gb_per_second, static_cast<double>(n.bytes) / n.seconds / 1e9);
        }
    }
    return profile;
}

// Past the page cache where the file system can; what the cache holds is dropped before.
OpenFile open_direct(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
    if (fd < 0) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return OpenFile(fd);
}

// Filled with bytes that no drive compresses.
Status write_own_file(int fd, const std::string& path) {
    const uint64_t part = 2 * k_mib;
    const auto buffer = MemoryMap::reserve(part);
    if (!buffer) return buffer.error();
    uint64_t state = 1;
    for (uint64_t done = 0; done < k_own_file; done += part) {
        for (uint64_t i = 0; i < part; i += 8) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            store(buffer->data() + i, state);
        }
        const ssize_t n = ::write(fd, buffer->data(), part);
        if (n != static_cast<ssize_t>(part)) return system_error(path, "write", n < 0 ? errno : ENOSPC);
    }
    if (::fsync(fd) != 0) return system_error(path, "write", errno);
    return {};
}

}  // namespace

Expected<DriveProfile> measure_drive(const std::string& file, double seconds) {
    const OpenFile open = open_direct(file);
    if (open.fd() < 0) return system_error(file, "open", errno);
    struct stat status{};
    if (::fstat(open.fd(), &status) != 0) return system_error(file, "read", errno);
    if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) < k_least_file)
        return Error{Code::invalid, fmt::format("{}: too small to measure a drive with", printable(file)),
                     ""};
    return measure(file, open.fd(), static_cast<uint64_t>(status.st_size), seconds);
}

Expected<DriveProfile> measure_drive_of_folder(const std::string& folder, double seconds) {
    std::string path = folder + "/drive-speed-XXXXXX";
    const OpenFile file(::mkostemp(path.data(), O_CLOEXEC));
    if (file.fd() < 0) return system_error(folder, "write a file to", errno);
    const OpenFile direct = open_direct(path);
    ::unlink(path.c_str());
    if (direct.fd() < 0) return system_error(path, "open", errno);
    if (Status s = write_own_file(file.fd(), path); !s) return s.error();
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
    return measure(path, direct.fd(), k_own_file, seconds);
}

}  // namespace ft
