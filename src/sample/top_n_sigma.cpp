#include <cmath>

#include "sample/truncation.h"

namespace ft {

void keep_top_n_sigma(Candidates& candidates, double n) {
    if (n <= 0) return;
    double sum = 0, squares = 0;
    size_t count = 0;
    for (const Candidate& candidate : candidates.list) {
        if (!std::isfinite(candidate.logit)) continue;
        sum += candidate.logit;
        count++;
    }
    if (count == 0) return;
    const double mean = sum / static_cast<double>(count);
    for (const Candidate& candidate : candidates.list)
        if (std::isfinite(candidate.logit)) squares += (candidate.logit - mean) * (candidate.logit - mean);
    const double least = candidates.highest() - n * std::sqrt(squares / static_cast<double>(count));
    std::erase_if(candidates.list, [&](const Candidate& candidate) { return candidate.logit < least; });
}

}  // namespace ft
