// What `freetoken simulate` found, and the forms it is shown in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiers/replay.h"

namespace ft::cli {

// An answer of fewer tokens says little of caches that hold more than a few tokens' demand.
constexpr int64_t k_few_trace_tokens = 256;

struct Simulation {
    struct Size {
        int64_t slots = 0;
        uint64_t bytes = 0;  // 0: unknown
        double demands = 0;  // in multiples of what one token asks for
    };
    struct Line {
        ReplayPolicy policy;
        std::vector<ReplayCounts> counts;  // one for each size
    };

    std::string model;
    int n_layers = 0, n_experts = 0, top_k = 0;
    int64_t n_tokens = 0, n_prompt = 0;
    int64_t demand_slots = 0;
    uint64_t demand_bytes = 0;     // 0: unknown
    std::vector<Size> sizes = {};  // rising
    std::vector<Line> lines = {};
};

std::string simulation_table(const Simulation& simulation);
std::string simulation_json(const Simulation& simulation);
// A chart of the hit rates: a drawing of its own, without scripts or fonts from elsewhere.
std::string simulation_svg(const Simulation& simulation);

}  // namespace ft::cli
