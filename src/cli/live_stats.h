// `run --stats`: what the experts and the speed of an answer look like while it comes, and afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "tiers/cache_stats.h"

namespace ft::cli {

// "9.8 tok/s; experts 88 % in RAM, 12 % from the drive; 6.50 GB read at 1.1 GB/s; 0.9 s waited for it"
// tokens: of the answer so far; seconds: since the first of them. Without `experts` all are in RAM.
std::string live_line(int64_t tokens, double seconds, const CacheStats* experts);
// Without the parts at its end that are too many for so many columns; a part ends before ';' or ','. "" where
// not even the first has room. The text is ASCII.
std::string fitted_line(std::string line, size_t columns);
// The counts by tier: "18066 of 20480 experts in RAM (88.2 %), 2414 from the drive; …"
std::string tier_line(const CacheStats& experts);

// Shows a line that changes: in the terminal's last row, which the text above does not enter while this
// lives; where stderr is no terminal as a log line every two seconds.
class LiveStats {
 public:
    explicit LiveStats(bool on);
    ~LiveStats();
    LiveStats(const LiveStats&) = delete;
    LiveStats& operator=(const LiveStats&) = delete;

    bool is_due() const;  // a new line may be shown now
    void show(const std::string& line);

 private:
    bool on_ = false;
    int rows_ = 0, columns_ = 0;  // of the terminal; 0: none
    bool reserved_ = false;
    Seconds last_ = 0;
};

}  // namespace ft::cli
