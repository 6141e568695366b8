// The policies: each is a way to value an expert by its history, and the resident of least value goes.
#include <cmath>
#include <limits>

#include "tiers/policy.h"
#include "tiers/policy_residents.h"

namespace ft {

namespace {

// What is remembered of an expert, resident or not.
struct History {
    double heat =
        0;  // sum over uses of 2^((time - origin) / half_life): counts that decay, in units that grow
    uint32_t uses = 0;   // the profile's included
    int64_t time = 0;    // of the last use
    uint64_t order = 0;  // of the last use among all uses; 0: never used
};

struct Rule {
    double (*value)(const History&, int64_t now);
    bool ages = false;          // value depends on now
    bool guarded = false;       // admits() compares
    bool newcomer_wins = true;  // at equal values
    double floor = 0;           // of a layer's equal share of the slots, which others cannot take
};

class HistoryPolicy final : public EvictionPolicy {
 public:
    HistoryPolicy(const PolicyShape& shape, const PolicyOptions& options, const Rule& rule)
        : rule_(rule),
          guarded_(rule.guarded && options.guard),
          half_life_(options.half_life),
          n_experts_(shape.n_experts),
          residents_(shape),
          history_(static_cast<size_t>(shape.n_layers) * static_cast<size_t>(shape.n_experts)) {
        for (size_t i = 0; i < shape.profile.size(); ++i) history_[i].uses = shape.profile[i];
    }

    void used(int layer, int expert, int64_t time) override {
        if (time > now_) {
            now_ = time;
            if (rule_.ages) residents_.touch_all();
        }
        if (static_cast<double>(now_ - origin_) > k_rescale_after * half_life_) rescale();
        History& h = history_[index(layer, expert)];
        h.heat += std::exp2(static_cast<double>(time - origin_) / half_life_);
        if (h.uses < std::numeric_limits<uint32_t>::max()) ++h.uses;
        h.time = time;
        h.order = ++order_;
        residents_.touch(layer);
    }

    void placed(int layer, int expert, int slot) override { residents_.place(layer, expert, slot); }
    void dropped(int slot) override { residents_.drop(slot); }

    int victim(int layer, FunctionRef<bool(int)> may_give_up) override {
        const double floor = rule_.floor * residents_.equal_share(layer);
        const auto value = [&](int expert) { return value_of(static_cast<size_t>(expert)); };
        const auto from = [&](int il) { return il == layer || residents_.count(il) > floor; };
        return residents_.least(layer, {value, from, may_give_up});
    }

    bool admits(int layer, int expert, int victim) const override {
        if (!guarded_) return true;
        const double here = value_of(static_cast<size_t>(residents_.expert_at(victim)));
        const double candidate = value_of(index(layer, expert));
        return rule_.newcomer_wins ? candidate >= here : candidate > here;
    }

    uint32_t uses(int layer, int expert) const override { return history_[index(layer, expert)].uses; }

 private:
    static constexpr double k_rescale_after = 512;  // half-lives: far from the end of a double's range

    size_t index(int layer, int expert) const { return static_cast<size_t>(layer * n_experts_ + expert); }
    double value_of(size_t i) const { return rule_.value(history_[i], now_); }

    // Moves the origin to now, which keeps every order.
    void rescale() {
        const double shrink = std::exp2(-static_cast<double>(now_ - origin_) / half_life_);
        for (History& h : history_) h.heat *= shrink;
        origin_ = now_;
        residents_.touch_all();
    }

    Rule rule_;
    bool guarded_;
    double half_life_;
    int n_experts_;
    Residents residents_;
    std::vector<History> history_;  // [n_layers][n_experts]
    int64_t now_ = 0, origin_ = 0;
    uint64_t order_ = 0;
};

double last_use(const History& h, int64_t) { return static_cast<double>(h.order); }
double heat(const History& h, int64_t) { return h.heat; }

template <const Rule& rule>
std::unique_ptr<EvictionPolicy> make(const PolicyShape& shape, const PolicyOptions& options) {
    return std::make_unique<HistoryPolicy>(shape, options, rule);
}

constexpr Rule k_lru{.value = &last_use};
constexpr Rule k_lfu{.value = &heat, .guarded = true};

constexpr PolicyRow k_policies[] = {
    {"lru", "least recently used of all layers", &make<k_lru>},
    {"lfu", "use counts that decay, with an admission guard", &make<k_lfu>},
};

}  // namespace

std::span<const PolicyRow> policies() { return k_policies; }

const PolicyRow* find_policy(std::string_view name) {
    for (const PolicyRow& row : k_policies)
        if (row.name == name) return &row;
    return nullptr;
}

const char* const k_default_policy = "lfu";

}  // namespace ft
