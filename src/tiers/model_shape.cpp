#include "tiers/model_shape.h"

#include <algorithm>
#include <numeric>

#include "base/bytes.h"
#include "io/blocks.h"

namespace ft {

uint64_t ExpertClass::expert_bytes() const {
    return std::accumulate(slices.begin(), slices.end(), uint64_t{0});
}

uint64_t ExpertClass::slot_bytes() const {
    uint64_t sum = 0;
    for (const uint64_t slice : slices) sum += most_covering_bytes(slice);
    return sum;
}

uint64_t ModelShape::static_bytes() const {
    uint64_t sum = 0;
    for (const StaticPart& part : parts) sum += part.bytes;
    return sum;
}

uint64_t ModelShape::expert_bytes() const {
    uint64_t sum = 0;
    for (const ExpertClass& c : classes) sum += static_cast<uint64_t>(c.n_experts) * c.expert_bytes();
    return sum;
}

int64_t ModelShape::n_experts() const {
    int64_t sum = 0;
    for (const ExpertClass& c : classes) sum += c.n_experts;
    return sum;
}

int64_t ModelShape::demand_slots() const {
    int64_t sum = 0;
    for (const MixtureLayer& layer : mixtures) sum += layer.top_k;
    return sum;
}

uint64_t ModelShape::demand_bytes() const {
    uint64_t sum = 0;
    for (const MixtureLayer& layer : mixtures)
        sum += static_cast<uint64_t>(layer.top_k) * classes[layer.expert_class].expert_bytes();
    return sum;
}

uint64_t ModelShape::kv_bytes(int64_t n_tokens) const {
    const int64_t pages = ceil_div(n_tokens, std::max<int64_t>(1, kv_page_tokens));
    return static_cast<uint64_t>(pages * std::max<int64_t>(1, kv_page_tokens)) * kv_bytes_per_token;
}

}  // namespace ft
