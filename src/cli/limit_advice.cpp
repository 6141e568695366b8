#include "cli/limit_advice.h"

#include <fmt/format.h>

namespace ft::cli {

namespace {

constexpr double k_shortest_seconds = 2;  // below that nobody waits
constexpr double k_clear_share = 0.4;     // of the time, for the drive; of the processors, for other programs
constexpr double k_clear_bandwidth = 0.8;  // of what the memory was measured at

}  // namespace

LimitAdvice limit_advice(const LimitFacts& facts) {
    const Timings& t = facts.timings;
    const double seconds = (t.prompt_ms + t.predicted_ms) / 1e3;
    if (seconds < k_shortest_seconds) return {};
    if (t.experts && t.experts->wait_seconds > k_clear_share * seconds)
        return {"drive",
                fmt::format("The drive is the limit: {:.0f} of {:.0f} s were spent waiting for experts. More "
                            "RAM (--ram){} helps most.",
                            t.experts->wait_seconds, seconds,
                            facts.swap_dir_unused ? "" : " or a faster drive (memory.swap_dir)")};
    if (facts.foreign_cpu > k_clear_share)
        return {"cpu",
                fmt::format("The processors are the limit: other programs used {:.0f} % of them meanwhile.",
                            100 * facts.foreign_cpu)};
    if (facts.threads > 0 && facts.threads < facts.cores)
        return {"cpu",
                fmt::format("The processors are the limit: {} of {} cores are in use. --threads {} uses all.",
                            facts.threads, facts.cores, facts.cores)};
    if (facts.ram_gb_per_second > 0 && t.read_gb_per_second() > k_clear_bandwidth * facts.ram_gb_per_second)
        return {
            "ram",
            fmt::format(
                "Memory bandwidth is the limit: {:.1f} of {:.1f} GB/s. A smaller quantisation reads less for "
                "each token.",
                t.read_gb_per_second(), facts.ram_gb_per_second)};
    return {};
}

}  // namespace ft::cli
