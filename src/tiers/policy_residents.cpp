#include "tiers/policy_residents.h"

#include <algorithm>

#include "base/check.h"

namespace ft {

Residents::Residents(const PolicyShape& shape)
    : n_experts_(shape.n_experts),
      layers_(static_cast<size_t>(shape.n_layers)),
      slots_(layers_.size() * static_cast<size_t>(shape.n_experts)),
      expert_of_slot_(static_cast<size_t>(shape.n_slots), k_none),
      place_of_slot_(static_cast<size_t>(shape.n_slots)) {
    check(shape.class_of_layer.empty() || shape.class_of_layer.size() == layers_.size(),
          "a size class for every layer, or none");
    int n_classes = 1;
    for (size_t il = 0; il < shape.class_of_layer.size(); ++il) {
        layers_[il].size_class = shape.class_of_layer[il];
        n_classes = std::max(n_classes, layers_[il].size_class + 1);
    }
    class_residents_.resize(static_cast<size_t>(n_classes));
    class_layers_.resize(static_cast<size_t>(n_classes));
    for (const Layer& layer : layers_) ++class_layers_[static_cast<size_t>(layer.size_class)];
}

void Residents::place(int layer, int expert, int slot) {
    Layer& l = layers_[static_cast<size_t>(layer)];
    const auto at = static_cast<size_t>(slot);
    check(expert_of_slot_[at] == k_none, "an expert is placed into an empty slot");
    check(l.n < n_experts_, "an expert is placed once");
    expert_of_slot_[at] = layer * n_experts_ + expert;
    place_of_slot_[at] = l.n;
    slots_[static_cast<size_t>(layer * n_experts_ + l.n)] = slot;
    ++l.n;
    l.least = k_unknown;
    ++class_residents_[static_cast<size_t>(l.size_class)];
}

void Residents::drop(int slot) {
    const auto at = static_cast<size_t>(slot);
    check(expert_of_slot_[at] != k_none, "a slot that holds an expert is dropped");
    const int layer = expert_of_slot_[at] / n_experts_;
    Layer& l = layers_[static_cast<size_t>(layer)];
    const int last = slots_[static_cast<size_t>(layer * n_experts_ + --l.n)];
    slots_[static_cast<size_t>(layer * n_experts_ + place_of_slot_[at])] = last;
    place_of_slot_[static_cast<size_t>(last)] = place_of_slot_[at];
    expert_of_slot_[at] = k_none;
    if (l.least == slot) l.least = k_unknown;
    --class_residents_[static_cast<size_t>(l.size_class)];
}

double Residents::equal_share(int layer) const {
    const auto c = static_cast<size_t>(layers_[static_cast<size_t>(layer)].size_class);
    return static_cast<double>(class_residents_[c]) / class_layers_[c];
}

void Residents::touch_all() {
    for (Layer& layer : layers_) layer.least = k_unknown;
}

Residents::Found Residents::scan(int layer, const Search& search, bool all) const {
    Found found{k_none, 0};
    const int* slots = slots_.data() + static_cast<ptrdiff_t>(layer) * n_experts_;
    for (int i = 0; i < layers_[static_cast<size_t>(layer)].n; ++i) {
        const double value = search.value(expert_at(slots[i]));
        if ((found.slot == k_none || value < found.value) && (all || search.may_give_up(slots[i])))
            found = {slots[i], value};
    }
    return found;
}

const Residents::Layer& Residents::with_least_known(int layer, const Search& search) {
    Layer& l = layers_[static_cast<size_t>(layer)];
    if (l.least == k_unknown) {
        const Found found = scan(layer, search, true);
        l.least = found.slot;
        l.least_value = found.value;
    }
    return l;
}

int Residents::least_of(int layer, FunctionRef<double(int expert)> value) {
    const auto any = [](int) { return true; };
    return with_least_known(layer, {value, any, any}).least;
}

int Residents::least(int layer, const Search& search) {
    const int n_layers = static_cast<int>(layers_.size());
    const int wanted = layers_[static_cast<size_t>(layer)].size_class;
    Found best{k_none, 0};
    // From the layer that is visited now (whose turn comes last) backwards to the one that is next.
    for (int back = 0; back < n_layers; ++back) {
        const int il = (layer - back + n_layers) % n_layers;
        if (layers_[static_cast<size_t>(il)].size_class != wanted || count(il) == 0 || !search.from(il))
            continue;
        const Layer& l = with_least_known(il, search);
        if (best.slot != k_none && !(l.least_value < best.value)) continue;
        Found found{l.least, l.least_value};
        if (!search.may_give_up(l.least)) found = scan(il, search, false);
        if (found.slot != k_none && (best.slot == k_none || found.value < best.value)) best = found;
    }
    return best.slot;
}

}  // namespace ft
