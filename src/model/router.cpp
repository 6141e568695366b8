#include "model/router.h"

#include <algorithm>
#include <numeric>

namespace ft {

namespace {

// The first ids.size() of all experts, best first. While they are looked for, ids is a heap whose top is the
// worst of those kept: O(n log k), in the memory of the result.
void rank_experts(std::span<const float> probs, std::span<int32_t> ids) {
    // probabilities that are not numbers come last, so that the ids stay different whatever the logits are
    const auto before = [&](int32_t a, int32_t b) {
        const float at_a = probs[a] >= 0 ? probs[a] : -1.0f, at_b = probs[b] >= 0 ? probs[b] : -1.0f;
        return at_a > at_b || (at_a == at_b && a < b);
    };
    std::iota(ids.begin(), ids.end(), 0);
    std::make_heap(ids.begin(), ids.end(), before);
    for (auto id = static_cast<int32_t>(ids.size()); id < static_cast<int32_t>(probs.size()); id++) {
        if (!before(id, ids.front())) continue;
        std::pop_heap(ids.begin(), ids.end(), before);
        ids.back() = id;
        std::push_heap(ids.begin(), ids.end(), before);
    }
    std::sort_heap(ids.begin(), ids.end(), before);
}

}  // namespace

void route(const Kernels& kernels, std::span<const float> logits, bool renormalise, float scale,
           std::span<float> probs, std::span<int32_t> ids, std::span<float> weights) {
    kernels.softmax(logits.data(), static_cast<int64_t>(logits.size()), probs.data());
    rank_experts(probs, ids);
    float sum = 0.0f;
    for (size_t rank = 0; rank < ids.size(); rank++) {
        weights[rank] = probs[ids[rank]];
        sum = rank == 0 ? weights[0] : sum + weights[rank];
    }
    const float least = 6.1035e-5f;  // so that weights stay finite where all probabilities vanish
    for (float& w : weights) {
        if (renormalise) w = w / (sum < least ? least : sum);
        if (scale != 1.0f) w = w * scale;
    }
}

}  // namespace ft
