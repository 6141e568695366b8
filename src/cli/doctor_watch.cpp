// freetoken doctor --watch: whether a running program keeps its memory and its speed.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/doctor.h"
#include "cli/runtime_folder.h"
#include "cli/standard_output.h"
#include "cli/status_file.h"
#include "device/cpu.h"

namespace ft::cli {

namespace {

constexpr double k_settle_seconds = 60;  // the first minute is what the rest is compared with
constexpr double k_most_growth = 0.01;

struct Watched {
    int64_t pid = 0;
    uint64_t base_resident = 0, most_resident = 0;  // base: the most of the first minute
    uint64_t margin = 0, least_available = UINT64_MAX;
    double first_rate = 0, least_rate = 1e300;
    int64_t samples = 0, generating = 0;
    bool ended = false;
};

void take_memory(Watched& w, uint64_t resident, bool settling) {
    w.most_resident = std::max(w.most_resident, resident);
    if (settling) w.base_resident = std::max(w.base_resident, resident);
    if (const auto ram = read_ram()) w.least_available = std::min(w.least_available, ram->available_bytes);
}

void take_status(Watched& w, const RunStatus& status, bool settling) {
    w.margin = status.ram_margin;
    if (!status.generating || status.tokens_per_second <= 0) return;
    w.generating++;
    if (settling) w.first_rate = status.tokens_per_second;
    else w.least_rate = std::min(w.least_rate, status.tokens_per_second);
}

// The checks that failed, a line each.
std::vector<std::string> verdict(const Watched& w, const WatchFlags& flags, double seconds) {
    std::vector<std::string> failed;
    if (w.ended) failed.push_back(fmt::format("process {} ended after {:.0f} s", w.pid, seconds));
    if (static_cast<double>(w.most_resident) > (1 + k_most_growth) * static_cast<double>(w.base_resident))
        failed.push_back(fmt::format("resident memory grew from {:.3f} to {:.3f} GiB after the first minute",
                                     gib(w.base_resident), gib(w.most_resident)));
    if (w.least_available < w.margin)
        failed.push_back(
            fmt::format("only {:.2f} GiB of RAM were available, less than the margin of {:.2f} GiB",
                        gib(w.least_available), gib(w.margin)));
    const double least = flags.least_tokens_per_second.value_or(w.first_rate / 2);
    const double slowest = std::min(w.least_rate, w.first_rate > 0 ? w.first_rate : 1e300);
    if (w.generating > 0 && slowest < least)
        failed.push_back(fmt::format("{:.2f} tok/s while generating, less than {:.2f}", slowest, least));
    return failed;
}

}  // namespace

Expected<int> watch(const WatchFlags& flags) {
    const std::string folder = runtime_folder();
    const auto first = status_of(folder, flags.pid);
    if (!first) return first.error();
    if (!*first)
        write_out(fmt::format("Process {} keeps no status file: only its memory is watched.\n", flags.pid));
    const double seconds = flags.minutes * 60;
    const double settle = std::min(k_settle_seconds, seconds / 2);
    const auto period = std::chrono::duration<double>(std::clamp(seconds / 100, 0.1, 1.0));
    Watched w{.pid = flags.pid};
    const Seconds start = now_seconds();
    while (now_seconds() - start < seconds) {
        const bool settling = now_seconds() - start < settle;
        const auto resident = resident_bytes(flags.pid);
        const auto status = status_of(folder, flags.pid);
        w.ended = !resident || !status;
        if (w.ended) break;
        w.samples++;
        take_memory(w, *resident, settling);
        if (*status) take_status(w, **status, settling);
        std::this_thread::sleep_for(period);
    }
    const double watched = now_seconds() - start;
    const std::vector<std::string> failed = verdict(w, flags, watched);
    write_out(fmt::format("Watched process {} for {:.0f} s: {:.3f} GiB resident{}\n", w.pid, watched,
                          gib(w.most_resident),
                          w.first_rate > 0 ? fmt::format(", {:.2f} tok/s at first", w.first_rate) : ""));
    for (const std::string& line : failed) write_out("Failed: " + line + ".\n");
    if (failed.empty()) write_out("Nothing failed.\n");
    if (Status s = finish_output(); !s) return s.error();
    return failed.empty() ? 0 : 1;
}

}  // namespace ft::cli
