// Which slot holds which expert, by layer, and the least valuable resident of a class: what every policy
// needs. Experts are numbered layer * n_experts + expert here.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "tiers/policy.h"

namespace ft {

class Residents {
 public:
    explicit Residents(const PolicyShape& shape);

    void place(int layer, int expert, int slot);
    void drop(int slot);
    int expert_at(int slot) const { return expert_of_slot_[static_cast<size_t>(slot)]; }
    int count(int layer) const { return layers_[static_cast<size_t>(layer)].n; }
    // Residents of the layer's class divided by the layers of that class.
    double equal_share(int layer) const;

    // The values of the layer's experts changed, so its least one has to be looked for again.
    void touch(int layer) { layers_[static_cast<size_t>(layer)].least = k_unknown; }
    void touch_all();

    struct Search {
        FunctionRef<double(int expert)> value;
        FunctionRef<bool(int layer)> from;  // layers that may give something up
        FunctionRef<bool(int slot)> may_give_up;
    };
    // The slot of the class of `layer` whose expert has the least value, ties to the layer whose next visit
    // is farthest (layers are visited in order, `layer` is visited now). -1: none.
    int least(int layer, const Search& search);
    // The same among the residents of the layer itself, each of which may go.
    int least_of(int layer, FunctionRef<double(int expert)> value);

 private:
    static constexpr int k_unknown = -2, k_none = -1;
    struct Layer {
        int size_class = 0;
        int n = 0;              // residents
        int least = k_unknown;  // slot of the least valuable one
        double least_value = 0;
    };
    struct Found {
        int slot;
        double value;
    };
    Found scan(int layer, const Search& search, bool all) const;
    const Layer& with_least_known(int layer, const Search& search);

    int n_experts_;
    std::vector<Layer> layers_;
    std::vector<int> class_residents_, class_layers_;
    std::vector<int> slots_;           // [n_layers][n_experts], the first n of a row in use
    std::vector<int> expert_of_slot_;  // -1: empty
    std::vector<int> place_of_slot_;   // index in the layer's row
};

}  // namespace ft
