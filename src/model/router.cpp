#include "model/router.h"

namespace ft {

void route(const Kernels& kernels, std::span<const float> logits, bool renormalise, float scale,
           std::span<float> probs, std::span<int32_t> ids, std::span<float> weights) {
    kernels.softmax(logits.data(), static_cast<int64_t>(logits.size()), probs.data());
    const auto chosen_before = [&](size_t rank, int32_t id) {
        for (size_t r = 0; r < rank; r++)
            if (ids[r] == id) return true;
        return false;
    };
    float sum = 0.0f;
    for (size_t rank = 0; rank < ids.size(); rank++) {
        int32_t best = -1;
        for (int32_t id = 0; id < static_cast<int32_t>(probs.size()); id++) {
            const bool better = best < 0 || probs[id] > probs[best];
            if (better && !chosen_before(rank, id)) best = id;
        }
        ids[rank] = best;
        weights[rank] = probs[best];
        sum = rank == 0 ? weights[0] : sum + weights[rank];
    }
    const float least = 6.1035e-5f;  // so that weights stay finite where all probabilities vanish
    for (float& w : weights) {
        if (renormalise) w = w / (sum < least ? least : sum);
        if (scale != 1.0f) w = w * scale;
    }
}

}  // namespace ft
