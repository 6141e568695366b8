#include "io/load.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"

namespace ft {

namespace {

constexpr uint64_t k_chunk_bytes = 2 * k_mib;
constexpr size_t k_block_bytes = 4096;
constexpr size_t k_worker_bytes = k_chunk_bytes + 2 * k_block_bytes;

// In the order of the files; neighbours in file and memory alike become one, so that only their outer ends
// are ragged.
std::vector<LoadRange> sorted_and_joined(std::span<const LoadRange> ranges) {
    std::vector<LoadRange> sorted(ranges.begin(), ranges.end());
    std::sort(sorted.begin(), sorted.end(), [](const LoadRange& a, const LoadRange& b) {
        return a.file != b.file ? std::less<>()(a.file, b.file) : a.offset < b.offset;
    });
    std::vector<LoadRange> joined;
    for (const LoadRange& range : sorted) {
        LoadRange* last = joined.empty() ? nullptr : &joined.back();
        const bool follows = last != nullptr && last->file == range.file &&
                             last->offset + last->to.size() == range.offset &&
                             last->to.data() + last->to.size() == range.to.data();
        if (follows) last->to = {last->to.data(), last->to.size() + range.to.size()};
        else joined.push_back(range);
    }
    return joined;
}

// Cut at multiples of k_chunk_bytes of the file, so that direct reads stay aligned.
std::vector<LoadRange> cut_into_chunks(std::span<const LoadRange> ranges) {
    std::vector<LoadRange> chunks;
    for (const LoadRange& range : sorted_and_joined(ranges)) {
        uint64_t done = 0;
        while (done < range.to.size()) {
            const uint64_t at = range.offset + done;
            const uint64_t bytes =
                std::min<uint64_t>(range.to.size() - done, k_chunk_bytes - at % k_chunk_bytes);
            chunks.push_back({range.file, at, range.to.subspan(done, bytes)});
            done += bytes;
        }
    }
    return chunks;
}

// What is to be read from one drive, in the order of its files.
struct DriveReads {
    uint64_t device = 0;
    std::vector<LoadRange> chunks = {};
    size_t next = 0;
};

// Apart by drive, so that a model whose parts lie on several is read from all of them at the same time.
std::vector<DriveReads> by_drive(std::span<const LoadRange> chunks) {
    std::vector<DriveReads> drives;
    for (const LoadRange& chunk : chunks) {
        const uint64_t device = chunk.file->identity().device;
        auto found = std::find_if(drives.begin(), drives.end(),
                                  [&](const DriveReads& drive) { return drive.device == device; });
        if (found == drives.end()) found = drives.insert(found, DriveReads{.device = device});
        found->chunks.push_back(chunk);
    }
    return drives;
}

// The reads that are still to do, taken by worker threads one by one. Owner of the lock: whoever touches a
// member.
class Loading {
 public:
    explicit Loading(std::span<const LoadRange> ranges) : drives_(by_drive(cut_into_chunks(ranges))) {
        for (const DriveReads& drive : drives_) {
            n_chunks_ += drive.chunks.size();
            for (const LoadRange& chunk : drive.chunks) total_ += chunk.to.size();
        }
    }

    size_t n_chunks() const { return n_chunks_; }

    // One worker: reads chunks until there are none, one failed, or it is asked to stop. Workers share the
    // drives, and help another one when theirs has nothing left.
    void work(size_t number, const std::stop_token& stop) {
        try {
            Buffer<std::byte> scratch(k_worker_bytes, k_block_bytes);
            while (!stop.stop_requested()) {
                const LoadRange* chunk = next(number);
                if (chunk == nullptr) return;
                finish(*chunk, chunk->file->read_bulk(chunk->offset, chunk->to, scratch.span()));
            }
        } catch (const std::bad_alloc&) {
            give_up(Error{Code::too_large, "no memory is left to read the model with",
                          "Close other programs, or raise the limit on memory."});
        }
    }

    // Waits until all is read; the calling thread reports the progress meanwhile.
    Status wait(const LoadSettings& settings) {
        std::unique_lock lock(mutex_);
        while (done_ < total_ && !failure_ && !settings.stop.stop_requested()) {
            if (changed_.wait_for(lock, std::chrono::milliseconds(100)) == std::cv_status::timeout)
                report(lock, settings);
        }
        end();
        if (failure_) return *failure_;
        if (done_ < total_) return Error{Code::io, "loading was stopped", ""};
        report(lock, settings);
        return {};
    }

 private:
    const LoadRange* next(size_t worker) {
        const std::lock_guard lock(mutex_);
        for (size_t i = 0; i < drives_.size(); i++) {
            DriveReads& drive = drives_[(worker + i) % drives_.size()];
            if (drive.next < drive.chunks.size()) return &drive.chunks[drive.next++];
        }
        return nullptr;
    }

    // No more reads begin.
    void end() {
        for (DriveReads& drive : drives_) drive.next = drive.chunks.size();
    }

    void finish(const LoadRange& chunk, const Status& status) {
        const std::lock_guard lock(mutex_);
        done_ += status ? chunk.to.size() : 0;
        if (!status && !failure_) failure_ = status.error();
        if (!status) end();
        if (failure_ || done_ == total_) changed_.notify_all();
    }

    void give_up(Error error) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::move(error);
        end();
        changed_.notify_all();
    }

    void report(std::unique_lock<std::mutex>& lock, const LoadSettings& settings) {
        if (!settings.progress) return;
        const uint64_t done = done_;
        lock.unlock();
        settings.progress(done, total_);
        lock.lock();
    }

    std::vector<DriveReads> drives_;
    size_t n_chunks_ = 0;
    uint64_t total_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t done_ = 0;
    std::optional<Error> failure_;
};

}  // namespace

uint64_t load_memory_bytes(uint64_t bytes, const LoadSettings& settings) {
    const auto most = static_cast<uint64_t>(settings.reads_in_flight);
    return std::min(most, bytes / k_chunk_bytes + 2) * k_worker_bytes;
}

Status load_ranges(std::span<const LoadRange> ranges, const LoadSettings& settings) {
    Loading loading(ranges);
    const size_t n_workers = std::min<size_t>(std::max(settings.reads_in_flight, 1), loading.n_chunks());
    std::vector<std::jthread> workers;
    try {
        for (size_t i = 0; i < n_workers; i++)
            workers.emplace_back([&loading, i, stop = settings.stop] { loading.work(i, stop); });
    } catch (const std::system_error&) {
        // Fewer threads than wished read more slowly; none at all cannot read.
        if (workers.empty()) return Error{Code::io, "cannot start a thread to read with", thread_remedy()};
    }
    return loading.wait(settings);
}

}  // namespace ft
