#include "kv/kept_states.h"

#include <algorithm>

#include "base/check.h"

namespace ft {

void KeptStates::keep(const RecurrentState& state, int64_t position) {
    const auto is_there = [&](int64_t at) { return std::ranges::count(kept_, at, &Kept::position) > 0; };
    if (most_ == 0 || is_there(position)) return;
    if (!is_there(k_free) && kept_.size() < most_) kept_.push_back({k_free, RecurrentState(state.shape())});
    Kept& oldest = *std::ranges::min_element(kept_, {}, &Kept::position);
    oldest.position = position;
    oldest.state.copy_from(state);
}

std::optional<int64_t> KeptStates::newest(int64_t position) const {
    int64_t found = k_free;
    for (const Kept& kept : kept_)
        if (kept.position <= position) found = std::max(found, kept.position);
    return found == k_free ? std::nullopt : std::optional(found);
}

void KeptStates::restore(int64_t position, RecurrentState& state) {
    const auto at = std::ranges::find(kept_, position, &Kept::position);
    check(at != kept_.end(), "a state is restored that was not kept");
    state.copy_from(at->state);
    for (Kept& kept : kept_)
        if (kept.position > position) kept.position = k_free;
}

void KeptStates::clear() {
    for (Kept& kept : kept_) kept.position = k_free;
}

}  // namespace ft
