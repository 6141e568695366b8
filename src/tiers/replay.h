// A recorded trace against a cache that holds no bytes: hits and insertions of a policy at a number of slots.
//
// Step by step, as the live cache does it: the prompt in chunks, whose tokens share what they ask of a layer,
// then token by token; a long step's tokens each take a unit of the policy's time. All experts of a visit are
// used; those that are resident are hits and stay during the visit; the others are missed one by one, by
// falling router weight. The prompt fills the cache, the answer is counted.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tiers/policy.h"
#include "tiers/trace.h"

namespace ft {

// Layers whose experts have the same size share slots.
struct SlotClasses {
    std::vector<int> of_layer;    // [n_layers]
    std::vector<int64_t> layers;  // [n_classes] how many
    std::vector<uint64_t> bytes;  // [n_classes] of one expert; 0: unknown
};
SlotClasses slot_classes(const Trace& trace);
SlotClasses one_slot_class(const Trace& trace);  // any expert fits any slot

// Slots of each class, in proportion to its layers and never more than its experts. One slot more never takes
// one from a class.
std::vector<int64_t> split_slots(const SlotClasses& classes, int64_t slots, int n_experts);

// What a cache sees of a trace: one visit of a layer by a step (a chunk's union is one visit for each expert,
// since a chunk may ask for more experts than there are slots).
struct Visits {
    struct Visit {
        int layer, n_experts;
        int64_t step;
        uint64_t first;      // of its experts
        bool counted;        // belongs to the answer
        bool long_step;      // is_long_visit()
        uint64_t uses_from;  // of the uses that the policy sees before it
        uint64_t n_uses;
    };
    struct Use {
        uint16_t expert;
        int64_t time;
    };
    std::vector<Visit> visits;
    std::vector<uint16_t> experts;
    std::vector<Use> uses;

    std::span<const uint16_t> chosen(const Visit& v) const {
        return {experts.data() + v.first, static_cast<size_t>(v.n_experts)};
    }
    std::span<const Use> uses_before(const Visit& v) const {
        return {uses.data() + v.uses_from, static_cast<size_t>(v.n_uses)};
    }
};
Visits visits_of(const Trace& trace, int64_t chunk);

struct ReplayCounts {
    uint64_t uses = 0, hits = 0, insertions = 0;
    uint64_t missed_bytes = 0;  // 0 where the trace says no sizes

    double hit_rate() const { return of_uses(hits); }
    double insertion_rate() const { return of_uses(insertions); }

 private:
    double of_uses(uint64_t n) const { return uses ? static_cast<double>(n) / static_cast<double>(uses) : 0; }
};

// Every row of policies(), and Belady's optimum last.
struct ReplayPolicy {
    std::string_view name, summary;
    const PolicyRow* row;  // nullptr: Belady
};
std::vector<ReplayPolicy> replay_policies();

class Replayer {
 public:
    // chunk: prompt tokens of one step.
    Replayer(const Trace& trace, SlotClasses classes, int64_t chunk = 256);

    // Cost: one pass over the trace, about slots / top_k comparisons for each visit. Safe from several
    // threads.
    ReplayCounts run(const ReplayPolicy& policy, int64_t slots, const PolicyOptions& options = {}) const;

 private:
    const Trace& trace_;
    SlotClasses classes_;
    Visits visits_;
};

// Numbers of slots worth looking at, rising: from a quarter of one token's demand to all experts.
std::vector<int64_t> replay_sizes(const Trace& trace);

}  // namespace ft
