// Reads in flight: started together, finished in any order, straight into the memory where the bytes are
// used.
//
// With io_uring the system runs them and no thread of ours is involved; where it is refused, or a file cannot
// be read past the page cache (O_DIRECT), a pool of threads reads. Results do not depend on which.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace ft {

struct Read {
    const File* file = nullptr;
    uint64_t offset = 0;
    std::span<std::byte> to;  // as covering_blocks() (io/blocks.h) wants it
    uint64_t tag = 0;         // the caller's
};

struct ReadDone {
    uint64_t tag = 0;
    Status status;
    uint64_t bytes = 0;  // that were asked for
};

enum class ReadMethod { automatic, io_uring, threads };

// Owner: one thread at a time.
class ReadQueue {
 public:
    static constexpr size_t k_most_in_flight = 1024;

    // Files must outlive the queue. `automatic`: io_uring where it serves all files, else threads, with one
    // line of log that says why. An error: io_uring was asked for by name and cannot serve, or no thread can
    // be started.
    static Expected<std::unique_ptr<ReadQueue>> open(std::span<const File* const> files,
                                                     ReadMethod method = ReadMethod::automatic);

    // Waits for the reads in flight: until then they write to their targets.
    virtual ~ReadQueue() = default;
    ReadQueue(const ReadQueue&) = delete;
    ReadQueue& operator=(const ReadQueue&) = delete;

    // Starts all of them. No more than k_most_in_flight may be under way.
    virtual void submit(std::span<const Read> reads) = 0;
    // Appends the reads that are over; where there is none yet and `wait`, waits for one (unless none is in
    // flight). A read that failed says so with file and offset; its target is then undefined.
    virtual void collect(std::vector<ReadDone>& done, bool wait) = 0;

    size_t in_flight() const { return in_flight_; }
    virtual std::string_view method() const = 0;

 protected:
    ReadQueue() = default;
    size_t in_flight_ = 0;
};

}  // namespace ft
