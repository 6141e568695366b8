#include "sample/penalties.h"

#include <algorithm>

namespace ft {

Penalties::Penalties(const PenaltyParams& params) : params_(params) {
    if (params.repeat == 1 && params.frequency == 0 && params.presence == 0) params_.last_n = 0;
}

void Penalties::accept(int32_t id) {
    if (params_.last_n == 0) return;
    if (params_.last_n < 0) return count(id, 1);
    if (recent_.size() < static_cast<size_t>(params_.last_n)) {
        recent_.push_back(id);
    } else {
        count(recent_[oldest_], -1);
        recent_[oldest_] = id;
        oldest_ = (oldest_ + 1) % recent_.size();
    }
    count(id, 1);
}

void Penalties::count(int32_t id, int32_t step) {
    const auto at = std::lower_bound(counts_.begin(), counts_.end(), id,
                                     [](const Count& entry, int32_t wanted) { return entry.id < wanted; });
    if (at == counts_.end() || at->id != id) counts_.insert(at, {id, step});
    else if ((at->n += step) == 0) counts_.erase(at);
}

void Penalties::apply(std::span<float> logits) const {
    for (const Count& entry : counts_) {
        if (entry.id < 0 || static_cast<size_t>(entry.id) >= logits.size()) continue;
        float& logit = logits[static_cast<size_t>(entry.id)];
        logit = logit > 0 ? logit / params_.repeat : logit * params_.repeat;
        logit -= static_cast<float>(entry.n) * params_.frequency + params_.presence;
    }
}

}  // namespace ft
