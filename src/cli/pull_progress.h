// How far a download is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/progress_bar.h"
#include "hub/download.h"

namespace ft::cli {

// Bytes per second over the last seconds.
class TransferRate {
 public:
    void add(Seconds now, uint64_t bytes_so_far);
    double per_second() const;  // 0 where too little is known

 private:
    struct Point {
        Seconds at;
        uint64_t bytes;
    };
    std::deque<Point> points_;
};

// "4.20 of 17.3 GiB, 45 MB/s, 5 min left"
std::string transfer_note(uint64_t done, uint64_t total, double per_second);

class PullProgress {
 public:
    PullProgress() : last_line_(now_seconds()) {}
    void show(const DownloadProgress& progress);
    void end() { bar_.reset(); }  // before anything else is written
    const DownloadProgress& last() const { return last_; }

 private:
    DownloadProgress last_;
    std::optional<ProgressBar> bar_;
    TransferRate rate_;
    Seconds last_line_;
};

}  // namespace ft::cli
