// freetoken doctor --watch: what samples of a running program say of its memory and its speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/status_file.h"

namespace ft::cli {

struct WatchVerdict {
    std::vector<std::string> failed;    // checks, a line each without its full stop
    std::vector<std::string> unjudged;  // sentences: what these samples do not tell
};

// Samples by rising time: seconds since the first. The first minute is what the rest is compared with.
class Watched {
 public:
    void take_memory(double seconds, uint64_t resident, uint64_t available);
    void take_status(double seconds, const RunStatus& status);

    // Nothing: half of the first minute's speed is the least.
    WatchVerdict verdict(std::optional<double> least_tokens_per_second) const;
    uint64_t most_resident() const { return most_resident_; }
    double first_rate() const { return first_rate_; }  // tok/s; 0: none was generated in the first minute

 private:
    uint64_t base_resident_ = 0, most_resident_ = 0;  // base: the most of the first minute
    uint64_t margin_ = 0, least_available_ = UINT64_MAX;
    double first_rate_ = 0;
    std::optional<double> least_rate_;
    bool has_settled_ = false, has_status_ = false;
};

struct WatchFlags {
    int64_t pid = 0;
    double minutes = 10;
    std::optional<double> least_tokens_per_second;
};
// Samples the process until the time is over. The value is the exit status: 0, or 1 with the line that
// failed.
Expected<int> watch(const WatchFlags& flags);

}  // namespace ft::cli
