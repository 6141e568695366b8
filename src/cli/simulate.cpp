// freetoken simulate TRACE: the hit rates of every cache policy at every size, from recorded routes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/log.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/named_files.h"
#include "cli/numbers.h"
#include "cli/simulation.h"
#include "cli/standard_output.h"
#include "device/cpu.h"
#include "io/file.h"
#include "io/output_file.h"
#include "tiers/half_life.h"

namespace ft::cli {

namespace {

struct SimulateFlags {
    std::string trace, svg;
    bool json = false, no_guard = false;
    double half_life = 0;  // 0: by the size of the cache
    std::vector<int64_t> slots;
};

// Rising, each once; the replay's own where none were named.
Expected<std::vector<int64_t>> sizes_to_try(const Trace& trace, std::vector<int64_t> named) {
    if (named.empty()) return replay_sizes(trace);
    const int64_t most = int64_t{trace.n_layers} * trace.n_experts;
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    if (named.back() > most)
        return Error{
            Code::invalid,
            fmt::format("--slots {}: the model of this trace has {} experts in all", named.back(), most),
            fmt::format("Name {} at most.", most)};
    return named;
}

// A file that was cut at the end of a row still parses. Nothing left of the answer is refused, for hits are
// counted there; where some is left, that is the trace.
Status take_rows_that_are_there(Trace& trace, const std::string& path) {
    const int64_t last = trace.rows.back().token;
    if (trace.n_tokens <= trace.n_prompt)
        return Error{Code::invalid,
                     fmt::format("{}: the trace has no token of an answer, and hits are counted there",
                                 path_text(path)),
                     "Record one with more --max-tokens."};
    if (last < trace.n_prompt)
        return Error{
            Code::truncated,
            fmt::format("{}: rows are missing: the trace is of {} tokens, {} of them the prompt's, and "
                        "has rows of the first {} only",
                        path_text(path), trace.n_tokens, trace.n_prompt, last + 1),
            "Record or copy it again."};
    if (last + 1 < trace.n_tokens)
        log("warn", "{}: rows are missing: the trace is of {} tokens, and has rows of the first {} only",
            path_text(path), trace.n_tokens, last + 1);
    trace.n_tokens = last + 1;
    return {};
}

Simulation simulate_trace(const Trace& trace, const std::vector<int64_t>& sizes, const SimulateFlags& flags) {
    Simulation out{.model = trace.model,
                   .n_layers = trace.n_layers,
                   .n_experts = trace.n_experts,
                   .top_k = trace.top_k,
                   .n_tokens = trace.n_tokens,
                   .n_prompt = trace.n_prompt,
                   .demand_slots = trace.demand_slots(),
                   .demand_bytes = trace.demand_bytes()};
    const SlotClasses classes = slot_classes(trace);
    for (const int64_t slots : sizes) {
        const std::vector<int64_t> split = split_slots(classes, slots, trace.n_experts);
        Simulation::Size size{.slots = slots, .demands = static_cast<double>(slots) / trace.demand_slots()};
        for (size_t c = 0; c < split.size(); ++c)
            size.bytes += static_cast<uint64_t>(split[c]) * classes.bytes[c];
        out.sizes.push_back(size);
    }
    for (const ReplayPolicy& policy : replay_policies())
        out.lines.push_back({policy, std::vector<ReplayCounts>(out.sizes.size())});
    const Replayer replayer(trace, classes);
    ThreadPool pool(physical_cores());
    pool.run(static_cast<int>(out.lines.size() * out.sizes.size()), [&](int chunk, int) {
        Simulation::Line& line = out.lines[static_cast<size_t>(chunk) / out.sizes.size()];
        const size_t size = static_cast<size_t>(chunk) % out.sizes.size();
        const int64_t slots = out.sizes[size].slots;
        const double half_life =
            flags.half_life > 0 ? flags.half_life : half_life_for(slots, out.demand_slots);
        line.counts[size] =
            replayer.run(line.policy, slots,
                         {.half_life = half_life, .learns = flags.half_life == 0, .guard = !flags.no_guard});
    });
    return out;
}

Status write_file(const std::string& path, const std::string& text) {
    Expected<OutputFile> file = OutputFile::create(path);
    if (!file) return file.error();
    if (Status s = file->write(std::as_bytes(std::span(text))); !s) return s;
    return file->commit();
}

Expected<int> simulate(const SimulateFlags& flags) {
    const NamedFile input[] = {{"the trace", flags.trace}}, result[] = {{"--svg", flags.svg}};
    if (Status s = check_outputs(result, input); !s) return s.error();
    Expected<Trace> trace = read_trace(flags.trace);
    if (!trace) return trace.error();
    if (Status s = take_rows_that_are_there(*trace, flags.trace); !s) return s.error();
    const auto sizes = sizes_to_try(*trace, flags.slots);
    if (!sizes) return sizes.error();
    const Simulation simulation = simulate_trace(*trace, *sizes, flags);
    if (!flags.svg.empty()) {
        if (Status s = write_file(flags.svg, simulation_svg(simulation)); !s) return s.error();
        log("simulate", "{}: a chart of {} policies at {} sizes", path_text(flags.svg),
            simulation.lines.size(), simulation.sizes.size());
    }
    write_out(flags.json ? simulation_json(simulation) : simulation_table(simulation));
    return 0;
}

}  // namespace

Action define_simulate(CLI::App& app) {
    const auto flags = std::make_shared<SimulateFlags>();
    app.add_option("trace", flags->trace, "a trace of `freetoken trace`")->required()->type_name("TRACE");
    app.add_flag("--json", flags->json, "print one JSON object; sizes in bytes, rates from 0 to 1");
    app.add_option("--svg", flags->svg, "the file for a chart of the hit rates")->type_name("FILE");
    app.add_option("--slots", flags->slots,
                   "sizes to try, in experts, as N,N,… (default: by one token's demand)")
        ->delimiter(',')
        ->type_name("N,N,…")
        ->transform(whole_number(1, k_most_experts_of_trace));
    app.add_option(
           "--half-life", flags->half_life,
           "lfu with this memory alone: tokens after which a use counts half (default: three, and it learns "
           "which to believe)")
        ->transform(real_number(0.01, 1e6));
    app.add_flag("--no-guard", flags->no_guard, "let every missed expert enter the cache");
    return [flags] { return simulate(*flags); };
}

}  // namespace ft::cli
