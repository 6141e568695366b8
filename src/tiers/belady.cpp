#include "tiers/belady.h"

#include <limits>

#include "tiers/policy_residents.h"

namespace ft {

namespace {

constexpr int64_t k_never = std::numeric_limits<int64_t>::max();

class Belady final : public EvictionPolicy {
 public:
    Belady(const PolicyShape& shape, const Visits& visits)
        : visits_(visits),
          n_experts_(shape.n_experts),
          residents_(shape),
          next_use_(static_cast<size_t>(shape.n_layers) * static_cast<size_t>(shape.n_experts), k_never),
          following_(visits.experts.size()),
          uses_(next_use_.size()) {
        // From the end: the visit that uses the same expert after this one.
        for (size_t n = visits.visits.size(); n-- > 0;) {
            const Visits::Visit& v = visits.visits[n];
            for (size_t i = 0; i < static_cast<size_t>(v.n_experts); ++i) {
                int64_t& next = next_use_[index(v.layer, visits.experts[v.first + i])];
                following_[v.first + i] = next;
                next = static_cast<int64_t>(n);
            }
        }
    }

    void used(int layer, int expert, int64_t time) override {
        const Visits::Visit& v = visits_.visits[static_cast<size_t>(time)];
        for (size_t i = 0; i < static_cast<size_t>(v.n_experts); ++i)
            if (visits_.experts[v.first + i] == expert)
                next_use_[index(layer, expert)] = following_[v.first + i];
        ++uses_[index(layer, expert)];
        residents_.touch(layer);
    }
    void placed(int layer, int expert, int slot) override { residents_.place(layer, expert, slot); }
    void dropped(int slot) override { residents_.drop(slot); }
    int victim(int layer, FunctionRef<bool(int)> may_give_up) override {
        const auto value = [&](int expert) { return value_of(expert); };
        const auto from = [](int) { return true; };
        return residents_.least(layer, {value, from, may_give_up});
    }
    bool admits(int layer, int expert, int victim) const override {
        return next_use_[index(layer, expert)] < next_use_[static_cast<size_t>(residents_.expert_at(victim))];
    }
    int least_of(int layer) override {
        return residents_.least_of(layer, [&](int expert) { return value_of(expert); });
    }
    int n_resident(int layer) const override { return residents_.count(layer); }
    uint32_t uses(int layer, int expert) const override { return uses_[index(layer, expert)]; }

 private:
    double value_of(int expert) const { return -static_cast<double>(next_use_[static_cast<size_t>(expert)]); }
    size_t index(int layer, int expert) const { return static_cast<size_t>(layer * n_experts_ + expert); }

    const Visits& visits_;
    int n_experts_;
    Residents residents_;
    std::vector<int64_t> next_use_;   // [n_layers][n_experts] visit of the next use
    std::vector<int64_t> following_;  // for each use, the visit of the next one
    std::vector<uint32_t> uses_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_belady(const PolicyShape& shape, const Visits& visits) {
    return std::make_unique<Belady>(shape, visits);
}

}  // namespace ft
