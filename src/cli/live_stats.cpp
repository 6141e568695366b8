#include "cli/live_stats.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/size_text.h"
#include "cli/terminal.h"

namespace ft::cli {

namespace {

constexpr Seconds k_between_rows = 0.25, k_between_lines = 2.0;
constexpr int k_fewest_rows = 4;

}  // namespace

std::string live_line(int64_t tokens, double seconds, const CacheStats* experts) {
    std::string line = tokens == 1 ? "1 token" : fmt::format("{} tokens", tokens);
    if (tokens > 1 && seconds > 0)
        line += fmt::format(", {:.1f} tok/s", static_cast<double>(tokens - 1) / seconds);
    if (experts == nullptr) return line + "; all experts in RAM";
    const double hits = 100 * experts->hit_rate();
    return line + fmt::format(
                      "; experts {:.0f} % in RAM, {:.0f} % from the drive; {} read at {:.2f} GB/s; "
                      "{:.1f} s waited",
                      hits, 100 - hits, size_text(experts->bytes_read), experts->read_gb_per_second(),
                      experts->wait_seconds);
}

std::string fitted_line(std::string line, size_t columns) {
    while (line.size() > columns) {
        const size_t end = line.find_last_of(";,");
        if (end == std::string::npos) return "";
        line.resize(end);
    }
    return line;
}

std::string tier_line(const CacheStats& experts) {
    return fmt::format(
        "{} of {} experts found in RAM ({:.1f} %), {} from the drive; {} read at {:.2f} GB/s, {:.1f} s "
        "waited for it",
        experts.hits, experts.hits + experts.misses, 100 * experts.hit_rate(), experts.misses,
        size_text(experts.bytes_read), experts.read_gb_per_second(), experts.wait_seconds);
}

LiveStats::LiveStats(bool on) : on_(on), last_(now_seconds()) {
    winsize size{};
    if (!on_ || isatty(STDERR_FILENO) != 1 || is_dumb_terminal() ||
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    if (size.ws_row < k_fewest_rows) return;
    rows_ = size.ws_row;
    columns_ = size.ws_col;
}

bool LiveStats::is_due() const {
    return on_ && now_seconds() - last_ > (rows_ > 0 ? k_between_rows : k_between_lines);
}

void LiveStats::show(const std::string& line) {
    last_ = now_seconds();
    if (rows_ == 0) {
        log("stats", "{}", line);
        return;
    }
    // a line feed and one up: the cursor is not in the last row afterwards, whose content may scroll
    if (!reserved_)
        std::fprintf(stderr,
                     "\n\x1b[A\x1b"
                     "7\x1b[1;%dr\x1b"
                     "8",
                     rows_ - 1);
    reserved_ = true;
    std::fprintf(stderr,
                 "\x1b"
                 "7\x1b[%d;1H\x1b[2K%s\x1b"
                 "8",
                 rows_, fitted_line(line, static_cast<size_t>(std::max(columns_ - 1, 0))).c_str());
    std::fflush(stderr);
}

LiveStats::~LiveStats() {
    if (!reserved_) return;
    std::fprintf(stderr,
                 "\x1b"
                 "7\x1b[r\x1b[%d;1H\x1b[2K\x1b"
                 "8",
                 rows_);
    std::fflush(stderr);
}

}  // namespace ft::cli
