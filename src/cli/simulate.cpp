// freetoken simulate TRACE: the hit rates of every cache policy at every size, from recorded routes.
#include <CLI/CLI.hpp>
#include <memory>

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

Simulation simulate_trace(const Trace& trace, const SimulateFlags& flags) {
    Simulation out{.model = trace.model,
                   .n_layers = trace.n_layers,
                   .n_experts = trace.n_experts,
                   .top_k = trace.top_k,
                   .n_tokens = trace.n_tokens,
                   .n_prompt = trace.n_prompt,
                   .demand_slots = trace.demand_slots(),
                   .demand_bytes = trace.demand_bytes()};
    const SlotClasses classes = slot_classes(trace);
    for (const int64_t slots : flags.slots.empty() ? replay_sizes(trace) : flags.slots) {
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
    if (trace->rows.back().token < trace->n_prompt)
        return Error{Code::invalid,
                     fmt::format("{}: the trace has no token of an answer, and hits are counted there",
                                 path_text(flags.trace)),
                     "Record one with more --max-tokens."};
    const Simulation simulation = simulate_trace(*trace, flags);
    if (!flags.svg.empty())
        if (Status s = write_file(flags.svg, simulation_svg(simulation)); !s) return s.error();
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
