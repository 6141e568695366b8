// The policies: each is a way to value an expert by its history, and the resident of least value goes.
#include <algorithm>
#include <limits>

#include "tiers/half_life.h"
#include "tiers/policy.h"
#include "tiers/policy_residents.h"
#include "tiers/use_forecast.h"

namespace ft {

namespace {

// What is remembered of an expert, resident or not.
struct History {
    uint32_t uses = 0;   // the profile's included
    int64_t time = 0;    // of the last use
    uint64_t order = 0;  // of the last use among all uses; 0: never used
};

struct Rule {
    double (*value)(const History&, int64_t now);  // nullptr: the forecast's
    bool ages = false;                             // value depends on now
    bool guarded = false;                          // admits() compares
    bool newcomer_wins = true;                     // at equal values
    bool has_floor = false;  // a layer keeps its equal share of the slots from other layers
};

class HistoryPolicy final : public EvictionPolicy {
 public:
    HistoryPolicy(const PolicyShape& shape, const PolicyOptions& options, const Rule& rule)
        : rule_(rule),
          guarded_(rule.guarded && options.guard),
          n_experts_(shape.n_experts),
          residents_(shape),
          history_(static_cast<size_t>(shape.n_layers) * static_cast<size_t>(shape.n_experts)),
          forecast_(rule.value ? 0 : history_.size(), options.half_life, options.learns) {
        for (size_t i = 0; i < shape.profile.size(); ++i) history_[i].uses = shape.profile[i];
    }

    void used(int layer, int expert, int64_t time) override {
        if (time > now_) {
            now_ = time;
            if (rule_.ages) residents_.touch_all();
        }
        if (!rule_.value && forecast_.used(index(layer, expert), time)) residents_.touch_all();
        History& h = history_[index(layer, expert)];
        if (h.uses < std::numeric_limits<uint32_t>::max()) ++h.uses;
        h.time = time;
        h.order = ++order_;
        residents_.touch(layer);
    }

    void placed(int layer, int expert, int slot) override { residents_.place(layer, expert, slot); }
    void dropped(int slot) override { residents_.drop(slot); }

    int victim(int layer, FunctionRef<bool(int)> may_give_up) override {
        const auto value = [&](int expert) { return value_of(static_cast<size_t>(expert)); };
        const auto above_floor = [&](int il) { return may_lose(il, layer); };
        const int slot = residents_.least(layer, {value, above_floor, may_give_up});
        if (slot >= 0 || !rule_.has_floor) return slot;
        const auto any = [](int) { return true; };
        return residents_.least(layer, {value, any, may_give_up});
    }

    int least_of(int layer) override {
        return residents_.least_of(layer, [&](int expert) { return value_of(static_cast<size_t>(expert)); });
    }

    bool admits(int layer, int expert, int victim) const override {
        if (!may_lose(residents_.expert_at(victim) / n_experts_, layer)) return false;
        if (!guarded_) return true;
        const double here = value_of(static_cast<size_t>(residents_.expert_at(victim)));
        const double candidate = value_of(index(layer, expert));
        return rule_.newcomer_wins ? candidate >= here : candidate > here;
    }

    int n_resident(int layer) const override { return residents_.count(layer); }

    uint32_t uses(int layer, int expert) const override { return history_[index(layer, expert)].uses; }

 private:
    size_t index(int layer, int expert) const { return static_cast<size_t>(layer * n_experts_ + expert); }
    double value_of(size_t i) const {
        return rule_.value ? rule_.value(history_[i], now_) : forecast_.value(i);
    }

    // Whether layer `il` may lose a slot to an expert of `layer`: with a floor, a layer keeps its equal share
    // from the others, and what it has above that is borrowed.
    bool may_lose(int il, int layer) const {
        return !rule_.has_floor || il == layer || residents_.count(il) > residents_.equal_share(il);
    }

    Rule rule_;
    bool guarded_;
    int n_experts_;
    Residents residents_;
    std::vector<History> history_;  // [n_layers][n_experts]
    UseForecast forecast_;
    int64_t now_ = 0;
    uint64_t order_ = 0;
};

double last_use(const History& h, int64_t) { return static_cast<double>(h.order); }
double uses(const History& h, int64_t) { return h.uses; }
// Age / count, negated. An age of 0 would make all of a token's experts equal whatever their counts.
double use_rate(const History& h, int64_t now) {
    return -static_cast<double>(now - h.time + 1) / std::max<uint32_t>(h.uses, 1);
}

template <const Rule& rule>
std::unique_ptr<EvictionPolicy> make(const PolicyShape& shape, const PolicyOptions& options) {
    return std::make_unique<HistoryPolicy>(shape, options, rule);
}

constexpr Rule k_lru{.value = &last_use};
constexpr Rule k_lru_layer{.value = &last_use, .has_floor = true};
constexpr Rule k_lfu{.value = nullptr, .guarded = true};
constexpr Rule k_lfru{.value = &use_rate, .ages = true, .guarded = true};
constexpr Rule k_static{.value = &uses, .guarded = true, .newcomer_wins = false};

constexpr PolicyRow k_policies[] = {
    {"lru", "least recently used of all layers", &make<k_lru>},
    {"lru-layer", "least recently used, with a floor for each layer", &make<k_lru_layer>},
    {"lfu", "use counts that decay, with an admission guard", &make<k_lfu>},
    {"lfru", "longest unused for its count of uses, with an admission guard", &make<k_lfru>},
    {"static", "the most used so far, the profile's uses included, stay", &make<k_static>},
};

}  // namespace

std::span<const PolicyRow> policies() { return k_policies; }

const PolicyRow* find_policy(std::string_view name) {
    for (const PolicyRow& row : k_policies)
        if (row.name == name) return &row;
    return nullptr;
}

const char* const k_default_policy = "lfu";

double half_life_for(int64_t n_slots, int64_t demand) {
    const double halves =
        0.5 * static_cast<double>(demand) / static_cast<double>(std::max<int64_t>(n_slots, 1));
    return PolicyOptions().half_life * std::clamp(halves, 1.0, 2.0);
}

}  // namespace ft
