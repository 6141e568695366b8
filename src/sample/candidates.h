// The tokens that may still come next, while the samplers of the chain take some of them away.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ft {

struct Candidate {
    double logit;  // never NaN
    int32_t id;
};

// The order of the likely: falling logits, equal ones by rising id.
inline bool before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// Every sampler leaves at least one candidate, and those it leaves in the order of their ids: how they were
// selected then decides neither a sum's bits nor which of them a random number means.
struct Candidates {
    std::vector<Candidate> list;  // rising ids, not empty
    std::vector<double> weights;  // what weigh() filled in: one for each of `list`
    std::vector<uint32_t> order;  // scratch of the samplers
    std::vector<double> values;   // scratch of the samplers

    // All tokens; NaN counts as the lowest logit.
    void collect(std::span<const float> logits);

    double highest() const;  // logit

    // weights[i] = e^((logit - highest) / temperature), where the highest have 1, infinite ones too; the
    // value is their sum. temperature > 0.
    double weigh(double temperature);

    // The index of a candidate drawn in proportion to `weights`, whose sum is `total`; unit in [0, 1).
    size_t draw(double total, double unit) const;

    // Keeps the fewest candidates, the nearest first, whose weights sum to at least `wanted`. distance(c) is
    // how far one is (it may be infinite or NaN, which are the farthest); nearer(a, b) is the exact order,
    // which distance() must not contradict. Buckets of distances, with the sum of each, say which bucket
    // holds the last one that is kept; only that one is looked at in order. weigh() must have been called.
    template <class Distance, class Nearer>
    void keep_nearest(double wanted, Distance distance, Nearer nearer) {
        const auto bucket_of = [&](const Candidate& candidate) {
            const double at = distance(candidate) * k_buckets_per_unit;
            return at < k_buckets - 1 ? static_cast<size_t>(at) : size_t{k_buckets - 1};
        };
        wanted = std::max(wanted, std::numeric_limits<double>::min());
        std::array<double, k_buckets> sums{};
        for (size_t i = 0; i < list.size(); i++) sums[bucket_of(list[i])] += weights[i];
        double sum = 0;
        size_t last = 0;
        while (last + 1 < k_buckets && sum + sums[last] < wanted) sum += sums[last++];

        const auto farther = [&](uint32_t a, uint32_t b) { return nearer(list[b], list[a]); };
        order.clear();
        for (size_t i = 0; i < list.size(); i++)
            if (bucket_of(list[i]) == last) order.push_back(static_cast<uint32_t>(i));
        std::make_heap(order.begin(), order.end(), farther);
        Candidate cut{};
        for (bool first = true; !order.empty() && (first || sum < wanted); first = false) {
            std::pop_heap(order.begin(), order.end(), farther);
            cut = list[order.back()];
            sum += weights[order.back()];
            order.pop_back();
        }
        std::erase_if(list, [&](const Candidate& candidate) {
            const size_t bucket = bucket_of(candidate);
            return bucket > last || (bucket == last && nearer(cut, candidate));
        });
    }

 private:
    static constexpr int k_buckets = 2048;
    // 32 units: what lies farther by logit has e^-32 of the likeliest's probability
    static constexpr double k_buckets_per_unit = 64;
};

}  // namespace ft
