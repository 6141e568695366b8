#include <cmath>

#include "base/double_math.h"
#include "sample/truncation.h"

namespace ft {

void keep_typical(Candidates& candidates, double p) {
    if (p >= 1) return;
    const double total = candidates.weigh(1.0);
    const double highest = candidates.highest();
    const double log_total = log_f64(total);
    const auto surprise = [&](const Candidate& candidate) {
        return candidate.logit == highest ? log_total : log_total + (highest - candidate.logit);
    };
    double entropy = 0;
    for (size_t i = 0; i < candidates.list.size(); i++)
        if (candidates.weights[i] > 0)
            entropy += candidates.weights[i] / total * surprise(candidates.list[i]);
    const auto distance = [&](const Candidate& candidate) {
        return std::fabs(surprise(candidate) - entropy);
    };
    candidates.keep_nearest(p * total, distance, [&](const Candidate& a, const Candidate& b) {
        const double at_a = distance(a), at_b = distance(b);
        return at_a < at_b || (at_a == at_b && a.id < b.id);
    });
}

}  // namespace ft
