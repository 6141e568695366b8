// Reads of expert slices on their way: needed ones all at once, guesses only where nothing needed is left to
// read.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/fifo.h"
#include "io/read_queue.h"

namespace ft {

class Streamer {
 public:
    static constexpr size_t k_most_reads = 128;  // under way at once

    // most_in_line: needed reads, and as many guesses, that wait at once; more take memory when they come.
    Streamer(std::unique_ptr<ReadQueue> queue, size_t most_in_line);

    // Puts a read in line; start() hands what is in line to the drive, as much as may be in flight: enough to
    // keep it busy while a batch of experts is computed, and less than its queue takes, because whoever fills
    // that is held up until there is room.
    void add(const Read& read, bool guess) { (guess ? guessed_ : needed_).push(read); }
    void start();
    // Appends reads that are over, and starts those in line that now may; waits for one where there is none
    // and `wait`.
    void collect(std::vector<ReadDone>& done, bool wait);
    // Takes out of the line what has not begun, and returns the tags.
    std::vector<uint64_t> cancel();

    std::string_view method() const { return queue_->method(); }
    size_t n_open() const { return needed_.size() + guessed_.size() + queue_->in_flight(); }
    uint64_t bytes_read() const { return bytes_read_; }  // handed to the drive so far
    double wait_seconds() const { return wait_seconds_; }
    // In which a read was under way, until collect() saw the last one over.
    double read_seconds() const { return read_seconds_; }
    // What arrived in wait_seconds(): of every read, the share of its time that was waited in.
    double bytes_waited_for() const { return bytes_waited_for_; }

 private:
    struct UnderWay {
        uint64_t tag = 0;  // the caller's
        Seconds begun = 0;
        double waited = 0;  // wait_seconds() then
    };

    std::unique_ptr<ReadQueue> queue_;
    Fifo<Read> needed_, guessed_;  // in line
    uint64_t bytes_in_flight_ = 0;
    std::vector<Read> starting_;
    std::vector<UnderWay> under_way_;  // by the tag that the queue carries
    std::vector<size_t> free_;         // places of under_way_
    uint64_t bytes_read_ = 0;
    double wait_seconds_ = 0, read_seconds_ = 0, bytes_waited_for_ = 0;
    Seconds reading_since_ = 0;  // while reads are under way
};

}  // namespace ft
