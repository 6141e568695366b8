// freetoken doctor --watch: whether a running program keeps its memory and its speed.
#include "cli/doctor_watch.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/runtime_folder.h"
#include "cli/standard_output.h"
#include "device/cpu.h"

namespace ft::cli {

namespace {

constexpr double k_settle_seconds = 60;  // the first minute is what the rest is compared with
constexpr double k_most_growth = 0.01;

}  // namespace

void Watched::take_memory(double seconds, uint64_t resident, uint64_t available) {
    most_resident_ = std::max(most_resident_, resident);
    if (seconds < k_settle_seconds) base_resident_ = std::max(base_resident_, resident);
    else has_settled_ = true;
    least_available_ = std::min(least_available_, available);
}

void Watched::take_status(double seconds, const RunStatus& status) {
    has_status_ = true;
    margin_ = status.ram_margin;
    if (!status.generating || status.tokens_per_second <= 0) return;
    least_rate_ = std::min(least_rate_.value_or(status.tokens_per_second), status.tokens_per_second);
    if (seconds < k_settle_seconds) first_rate_ = status.tokens_per_second;
}

WatchVerdict Watched::verdict(std::optional<double> least_tokens_per_second) const {
    WatchVerdict v;
    if (!has_settled_)
        v.unjudged.push_back("Growth of memory was not judged: that begins after the first minute.");
    else if (static_cast<double>(most_resident_) > (1 + k_most_growth) * static_cast<double>(base_resident_))
        v.failed.push_back(
            fmt::format("resident memory grew from {:.3f} to {:.3f} GiB after the first minute",
                        gib(base_resident_), gib(most_resident_)));
    if (least_available_ < margin_)
        v.failed.push_back(
            fmt::format("only {:.2f} GiB of RAM were available, less than the margin of {:.2f} GiB",
                        gib(least_available_), gib(margin_)));
    const double least = least_tokens_per_second.value_or(first_rate_ / 2);
    if (least_rate_ && *least_rate_ < least)
        v.failed.push_back(
            fmt::format("{:.2f} tok/s while generating, less than {:.2f}", *least_rate_, least));
    if (!least_rate_ && has_status_)
        v.unjudged.push_back("Speed was not judged: no token was generated in this time.");
    else if (!has_status_ && least_tokens_per_second)
        v.unjudged.push_back("Speed was not judged: the process does not say how fast it is.");
    return v;
}

Expected<int> watch(const WatchFlags& flags) {
    const std::string folder = runtime_folder();
    const auto first = status_of(folder, flags.pid);
    if (!first) return first.error();
    if (!*first)
        write_out(fmt::format("Process {} keeps no status file: only its memory is watched.\n", flags.pid));
    const double seconds = flags.minutes * 60;
    const auto period = std::chrono::duration<double>(std::clamp(seconds / 100, 0.1, 1.0));
    Watched w;
    bool ended = false;
    const Seconds start = now_seconds();
    while (now_seconds() - start < seconds) {
        const double at = now_seconds() - start;
        const auto resident = resident_bytes(flags.pid);
        const auto status = status_of(folder, flags.pid);
        ended = !resident || !status;
        if (ended) break;
        const auto ram = read_ram();
        w.take_memory(at, *resident, ram ? ram->available_bytes : UINT64_MAX);
        if (*status) w.take_status(at, **status);
        std::this_thread::sleep_for(period);
    }
    const double watched = now_seconds() - start;
    WatchVerdict verdict = w.verdict(flags.least_tokens_per_second);
    if (ended)
        verdict.failed.insert(verdict.failed.begin(),
                              fmt::format("process {} ended after {:.0f} s", flags.pid, watched));
    write_out(fmt::format("Watched process {} for {:.0f} s: {:.3f} GiB resident{}\n", flags.pid, watched,
                          gib(w.most_resident()),
                          w.first_rate() > 0 ? fmt::format(", {:.2f} tok/s at first", w.first_rate()) : ""));
    for (const std::string& line : verdict.unjudged) write_out(line + "\n");
    for (const std::string& line : verdict.failed) write_out("Failed: " + line + ".\n");
    if (verdict.failed.empty()) write_out("Nothing failed.\n");
    if (Status s = finish_output(); !s) return s.error();
    return verdict.failed.empty() ? 0 : 1;
}

}  // namespace ft::cli
