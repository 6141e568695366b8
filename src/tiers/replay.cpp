#include "tiers/replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tiers/belady.h"

namespace ft {

namespace {

constexpr ReplayPolicy k_belady{"belady", "the optimum, which knows the future", nullptr};

// Which expert lies in which slot, and which slots are empty.
class SlotTable {
 public:
    SlotTable(const Trace& trace, const SlotClasses& classes, const std::vector<int64_t>& slots)
        : n_experts_(trace.n_experts),
          slot_of_(static_cast<size_t>(trace.n_layers) * static_cast<size_t>(trace.n_experts), -1) {
        for (const int64_t n : slots) {
            empty_.emplace_back();
            for (int64_t i = 0; i < n; ++i) empty_.back().push_back(n_slots_++);
            std::reverse(empty_.back().begin(), empty_.back().end());
        }
        expert_of_.resize(static_cast<size_t>(n_slots_));
        for (const int c : classes.of_layer) {
            empty_of_layer_.push_back(&empty_[static_cast<size_t>(c)]);
            share_of_layer_.push_back(slots[static_cast<size_t>(c)] / classes.layers[static_cast<size_t>(c)]);
        }
    }
    int n_slots() const { return n_slots_; }
    int64_t equal_share(int layer) const { return share_of_layer_[static_cast<size_t>(layer)]; }
    int find(int layer, int expert) const { return slot_of_[index(layer, expert)]; }
    int take_empty(int layer) {  // -1: none
        std::vector<int>& empty = *empty_of_layer_[static_cast<size_t>(layer)];
        if (empty.empty()) return -1;
        const int slot = empty.back();
        empty.pop_back();
        return slot;
    }
    void drop(int slot) { slot_of_[expert_of_[static_cast<size_t>(slot)]] = -1; }
    void place(int layer, int expert, int slot) {
        slot_of_[index(layer, expert)] = slot;
        expert_of_[static_cast<size_t>(slot)] = index(layer, expert);
    }

 private:
    size_t index(int layer, int expert) const { return static_cast<size_t>(layer * n_experts_ + expert); }

    int n_experts_, n_slots_ = 0;
    std::vector<int> slot_of_;
    std::vector<size_t> expert_of_;
    std::vector<std::vector<int>> empty_;  // of each class
    std::vector<std::vector<int>*> empty_of_layer_;
    std::vector<int64_t> share_of_layer_;
};

class Cache {
 public:
    Cache(SlotTable& slots, EvictionPolicy& policy, bool knows_future)
        : slots_(slots),
          policy_(policy),
          knows_future_(knows_future),
          visit_of_slot_(static_cast<size_t>(slots.n_slots()), -1) {}

    // Hits and insertions are added to counts. `time` is what the policy is told. Returns how many were
    // missed.
    size_t visit(const Visits& all, const Visits::Visit& v, int64_t time, ReplayCounts& counts) {
        ++visit_;
        missing_.clear();
        const std::span<const uint16_t> chosen = all.chosen(v);
        const bool is_long = v.long_step && !knows_future_;
        if (is_long)
            for (const Visits::Use& use : all.uses_before(v)) policy_.used(v.layer, use.expert, use.time);
        else
            for (const int expert : chosen) policy_.used(v.layer, expert, time);
        for (const int expert : chosen) {
            const int slot = slots_.find(v.layer, expert);
            if (slot < 0) missing_.push_back(expert);
            else visit_of_slot_[static_cast<size_t>(slot)] = visit_;
        }
        for (const int expert : missing_) counts.insertions += insert(v.layer, expert, is_long);
        counts.uses += chosen.size();
        counts.hits += chosen.size() - missing_.size();
        return missing_.size();
    }

 private:
    bool insert(int layer, int expert, bool long_step) {
        const bool takes_empty = !long_step || policy_.n_resident(layer) < slots_.equal_share(layer);
        int slot = takes_empty ? slots_.take_empty(layer) : -1;
        if (slot < 0) {
            const auto may_give_up = [&](int s) {
                return knows_future_ || visit_of_slot_[static_cast<size_t>(s)] != visit_;
            };
            slot = long_step ? policy_.least_of(layer) : policy_.victim(layer, may_give_up);
            if (slot < 0 || !policy_.admits(layer, expert, slot)) return false;
            policy_.dropped(slot);
            slots_.drop(slot);
        }
        policy_.placed(layer, expert, slot);
        slots_.place(layer, expert, slot);
        visit_of_slot_[static_cast<size_t>(slot)] = visit_;
        return true;
    }

    SlotTable& slots_;
    EvictionPolicy& policy_;
    bool knows_future_;
    int64_t visit_ = -1;
    std::vector<int64_t> visit_of_slot_;  // the last visit that used it
    std::vector<int> missing_;
};

// The rows [begin, end) as one step after the time `before`: each distinct expert of a layer is a visit of
// its own. Returns the policy's time after it.
int64_t append_union(const Trace& trace, size_t begin, size_t end, int64_t before, Visits& to) {
    const int64_t first_token = trace.rows[begin].token,
                  n_token = trace.rows[end - 1].token - first_token + 1;
    int64_t after = before + 1;
    std::vector<char> seen(static_cast<size_t>(trace.n_experts));
    std::vector<std::vector<size_t>> rows_of_layer(static_cast<size_t>(trace.n_layers));
    for (size_t r = begin; r < end; ++r) rows_of_layer[static_cast<size_t>(trace.rows[r].layer)].push_back(r);
    for (const std::vector<size_t>& rows : rows_of_layer) {
        std::fill(seen.begin(), seen.end(), 0);
        size_t n_choices = 0;
        for (const size_t r : rows) n_choices += trace.rows[r].n_experts;
        const bool long_step = is_long_visit(n_choices, trace.n_experts);
        if (long_step) after = before + n_token;
        uint64_t uses_from = to.uses.size();
        if (long_step)
            for (const size_t r : rows)
                for (const uint16_t expert : trace.chosen(trace.rows[r]))
                    to.uses.push_back({expert, before + 1 + trace.rows[r].token - first_token});
        for (const size_t r : rows)
            for (const uint16_t expert : trace.chosen(trace.rows[r])) {
                if (std::exchange(seen[expert], 1)) continue;
                to.visits.push_back({trace.rows[r].layer, 1, before + 1, to.experts.size(), false, long_step,
                                     uses_from, to.uses.size() - uses_from});
                to.experts.push_back(expert);
                uses_from = to.uses.size();
            }
    }
    return after;
}

}  // namespace

SlotClasses one_slot_class(const Trace& trace) {
    return {std::vector<int>(static_cast<size_t>(trace.n_layers)), {trace.n_layers}, {0}};
}

SlotClasses slot_classes(const Trace& trace) {
    if (trace.expert_bytes.empty()) return one_slot_class(trace);
    SlotClasses classes;
    for (const uint64_t bytes : trace.expert_bytes) {
        const auto found = std::find(classes.bytes.begin(), classes.bytes.end(), bytes);
        classes.of_layer.push_back(static_cast<int>(found - classes.bytes.begin()));
        if (found == classes.bytes.end()) {
            classes.bytes.push_back(bytes);
            classes.layers.push_back(0);
        }
        ++classes.layers[static_cast<size_t>(classes.of_layer.back())];
    }
    return classes;
}

std::vector<int64_t> split_slots(const SlotClasses& classes, int64_t slots, int n_experts) {
    std::vector<int64_t> split(classes.layers.size());
    const int64_t n_layers = std::accumulate(classes.layers.begin(), classes.layers.end(), int64_t{0});
    slots = std::min(slots, n_layers * n_experts);
    // D'Hondt's rule of sharing seats gives nobody less than the whole part of his due.
    for (size_t c = 0; c < split.size(); ++c) split[c] = slots * classes.layers[c] / n_layers;
    slots -= std::accumulate(split.begin(), split.end(), int64_t{0});
    for (; slots > 0; --slots) {
        // To the class that has the fewest for its layers.
        size_t best = split.size();
        for (size_t c = 0; c < split.size(); ++c) {
            if (split[c] == classes.layers[c] * n_experts) continue;
            if (best == split.size() ||
                (split[c] + 1) * classes.layers[best] < (split[best] + 1) * classes.layers[c])
                best = c;
        }
        if (best == split.size()) break;
        ++split[best];
    }
    return split;
}

std::vector<ReplayPolicy> replay_policies() {
    std::vector<ReplayPolicy> all;
    for (const PolicyRow& row : policies()) all.push_back({row.name, row.summary, &row});
    all.push_back(k_belady);
    return all;
}

Visits visits_of(const Trace& trace, int64_t chunk) {
    Visits all;
    size_t begin = 0;
    int64_t time = -1;  // the first step's is 0
    // Each chunk of the prompt, layer by layer; an expert once, where the first token asks for it.
    while (begin < trace.rows.size() && trace.rows[begin].token < trace.n_prompt) {
        const int64_t border = std::min((trace.rows[begin].token / chunk + 1) * chunk, trace.n_prompt);
        size_t end = begin;
        while (end < trace.rows.size() && trace.rows[end].token < border) ++end;
        time = append_union(trace, begin, end, time, all);
        begin = end;
    }
    for (; begin < trace.rows.size(); ++begin) {
        const Trace::Row& row = trace.rows[begin];
        all.visits.push_back({row.layer, row.n_experts, time + 1 + row.token - trace.n_prompt,
                              all.experts.size(), true, false, 0, 0});
        const auto chosen = trace.chosen(row);
        all.experts.insert(all.experts.end(), chosen.begin(), chosen.end());
    }
    return all;
}

Replayer::Replayer(const Trace& trace, SlotClasses classes, int64_t chunk)
    : trace_(trace), classes_(std::move(classes)), visits_(visits_of(trace, chunk)) {}

ReplayCounts Replayer::run(const ReplayPolicy& policy, int64_t slots, const PolicyOptions& options) const {
    SlotTable table(trace_, classes_, split_slots(classes_, slots, trace_.n_experts));
    const PolicyShape shape{.n_layers = trace_.n_layers,
                            .n_experts = trace_.n_experts,
                            .n_slots = table.n_slots(),
                            .class_of_layer = classes_.of_layer};
    const auto object = policy.row ? policy.row->make(shape, options) : make_belady(shape, visits_);
    Cache cache(table, *object, policy.row == nullptr);
    ReplayCounts prompt, answer;
    for (size_t i = 0; i < visits_.visits.size(); ++i) {
        const Visits::Visit& v = visits_.visits[i];
        const int64_t time = policy.row ? v.step : static_cast<int64_t>(i);
        const size_t missed = cache.visit(visits_, v, time, v.counted ? answer : prompt);
        if (v.counted && !trace_.expert_bytes.empty())
            answer.missed_bytes += missed * trace_.expert_bytes[static_cast<size_t>(v.layer)];
    }
    return answer;
}

std::vector<int64_t> replay_sizes(const Trace& trace) {
    const int64_t demand = trace.demand_slots();
    const int64_t all = int64_t{trace.n_layers} * trace.n_experts;
    std::vector<int64_t> sizes;
    // In quarters of the demand: fine where a plain LRU has its cliff, coarser above.
    for (const int64_t quarters : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128})
        if (const int64_t slots = demand * quarters / 4; slots > 0 && slots < all) sizes.push_back(slots);
    sizes.push_back(all);
    return sizes;
}

}  // namespace ft
