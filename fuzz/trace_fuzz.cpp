// Any text as a recorded trace: it is refused with a sentence, or it can be written, read again and replayed.
#include <string_view>

#include "tiers/replay.h"
#include "tiers/trace.h"

namespace {

constexpr size_t k_most_slots_of_trace = 1 << 16;  // a replay beyond takes longer than it tells

void replay(const ft::Trace& trace) {
    if (static_cast<size_t>(trace.n_layers) * static_cast<size_t>(trace.n_experts) > k_most_slots_of_trace)
        return;
    const ft::Replayer replayer(trace, ft::slot_classes(trace));
    const int64_t slots = trace.demand_slots();
    for (const ft::ReplayPolicy& policy : ft::replay_policies()) {
        const ft::ReplayCounts counts = replayer.run(policy, slots);
        ft::check(counts.hits <= counts.uses && counts.insertions <= counts.uses - counts.hits,
                  "what is no hit is missed, and enters at most once");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const ft::Expected<ft::Trace> trace = ft::parse_trace(text, "x.trace");
    if (!trace) {
        ft::check(trace.error().what.find("x.trace") == 0, "an error names the file");
        return 0;
    }
    const std::string written = ft::trace_text(*trace);
    ft::Expected<ft::Trace> again = ft::parse_trace(written, "again");
    ft::check(static_cast<bool>(again), "what was written can be read");
    again->model = trace->model;  // which is written in a printable form
    ft::check(ft::trace_text(*again) == written, "a trace is read as it was written");
    replay(*trace);
    return 0;
}
