// A bar on stderr for work that takes more than a second; nothing where stderr is no terminal, or a
// dumb one.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace ft::cli {

class ProgressBar {
 public:
    explicit ProgressBar(std::string what);
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    ~ProgressBar();  // clears the line

    bool on_terminal() const { return on_terminal_; }
    // Cheap: draws ten times a second at most. note: what stands behind the bar.
    void update(uint64_t done, uint64_t total, const std::string& note = "");

 private:
    std::string what_;
    bool on_terminal_;
    bool drawn_ = false;
    Seconds started_;
    Seconds last_drawn_ = 0;
};

// Where there is no bar: a line of log is due every so many seconds, the first one after as many.
class LineEvery {
 public:
    LineEvery(Seconds between, Seconds now) : between_(between), last_(now) {}
    bool is_due(Seconds now) {
        if (now - last_ < between_) return false;
        last_ = now;
        return true;
    }

 private:
    Seconds between_, last_;
};

// "loading [#####     ]  48 %"
std::string progress_line(const std::string& what, uint64_t done, uint64_t total);

// ", 2 min left", by what `spent` has done; "" where that says too little.
std::string time_left(Seconds spent, uint64_t done, uint64_t total);

}  // namespace ft::cli
