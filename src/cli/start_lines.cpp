#include "cli/start_lines.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace ft::cli {

namespace {

std::string experts_line(const StartFacts& facts) {
    if (facts.experts_per_layer == 0 || facts.experts == 0)
        return fmt::format("active experts: none, the model is dense; layers: as in the file ({})",
                           facts.quantisation);
    const int64_t layers = facts.experts / facts.experts_per_layer;
    std::string text = fmt::format("active experts: {}/{}, shared layers: as in the file ({})",
                                   facts.experts_in_ram / std::max<int64_t>(layers, 1),
                                   facts.experts_per_layer, facts.quantisation);
    if (facts.experts_in_ram < facts.experts)
        text += fmt::format(", on the drive: {} of {} experts", facts.experts - facts.experts_in_ram,
                            facts.experts);
    return text;
}

}  // namespace

std::vector<StartLine> start_lines(const StartFacts& facts) {
    return {
        {"load",
         fmt::format("model loaded: {}, {:.2f}GB read in {:.1f} s, {} threads, {} kernels", facts.name,
                     gib(facts.bytes_read), facts.load_seconds, facts.threads, facts.kernels)},
        {"mem", fmt::format("CUDA context: 0.0GB, VRAM budget: 0.0GB (this version computes on the CPU), RAM "
                            "budget: {:.2f}GB, planned: {:.2f}GB",
                            gib(facts.ram_budget), gib(facts.ram_planned))},
        {"mem", experts_line(facts)},
        {"mem", fmt::format("KV cache: {}, max context: {}, current: {:.2f}GB", facts.kv_type, facts.n_ctx,
                            gib(facts.kv_bytes))},
    };
}

}  // namespace ft::cli
