// The expert cache grows and shrinks between steps, slot by slot: the policy says which expert is worth
// least.
#include <algorithm>

#include "tiers/expert_cache.h"

namespace ft {

int ExpertCache::n_parked() const {
    size_t n = 0;
    for (const auto& list : parked_) n += list.size();
    return static_cast<int>(n);
}

uint64_t ExpertCache::bytes_parked() const {
    uint64_t bytes = 0;
    for (size_t c = 0; c < parked_.size(); c++)
        if (!parked_[c].empty()) bytes += parked_[c].size() * slots_.slot_bytes(parked_[c].front());
    return bytes;
}

// A slot of the class that nothing is lost with, or the least. -1: all are in use, or the class has no more
// than it needs.
int ExpertCache::slot_to_park(size_t size_class) {
    const auto c = static_cast<size_t>(size_class);
    if (n_of_class_[c] - static_cast<int64_t>(parked_[c].size()) <= least_of_class_[c]) return -1;
    if (!free_[c].empty()) {
        const int slot = free_[c].back();
        free_[c].pop_back();
        return slot;
    }
    const auto still = [&](int slot) { return is_still(slot); };
    auto& passage = passage_[c];
    const auto found = std::find_if(passage.begin(), passage.end(), still);
    if (passage.size() > 1 && found != passage.end()) {
        const int slot = *found;
        passage.erase(found);
        return slot;
    }
    const auto of_class = [&](const ExpertLayer& layer) { return layer.size_class == static_cast<int>(c); };
    const auto layer = std::find_if(records_.begin(), records_.end(), of_class) - records_.begin();
    const int slot = policy_->victim(static_cast<int>(layer), still);
    if (slot >= 0) policy_->dropped(slot);
    return slot;
}

uint64_t ExpertCache::give_back(uint64_t bytes) {
    check(missing_.empty() && waiting_ == 0 && arrived_.empty(), "slots are given back inside a visit");
    absorb(false);
    uint64_t given = 0;
    std::vector<bool> spent(parked_.size(), false);
    while (given < bytes) {
        // from the class that has the largest share of its slots left
        size_t best = parked_.size();
        const auto share = [&](size_t c) {
            return static_cast<double>(parked_[c].size()) / static_cast<double>(n_of_class_[c]);
        };
        for (size_t c = 0; c < parked_.size(); c++)
            if (!spent[c] && (best == parked_.size() || share(c) < share(best))) best = c;
        if (best == parked_.size()) break;
        const int slot = slot_to_park(best);
        if (slot < 0) {
            spent[best] = true;
            continue;
        }
        empty(slot);
        slots_.release(slot);
        parked_[best].push_back(slot);
        given += slots_.slot_bytes(slot);
    }
    return given;
}

uint64_t ExpertCache::take_again(uint64_t bytes) {
    uint64_t taken = 0;
    for (size_t c = 0; c < parked_.size(); c++)
        while (!parked_[c].empty()) {
            const int slot = parked_[c].back();
            if (taken + slots_.slot_bytes(slot) > bytes || !slots_.commit(slot)) break;
            parked_[c].pop_back();
            free_[c].push_back(slot);
            taken += slots_.slot_bytes(slot);
        }
    return taken;
}

}  // namespace ft
