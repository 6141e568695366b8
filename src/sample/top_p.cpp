#include "sample/truncation.h"

namespace ft {

void keep_top_p(Candidates& candidates, double p) {
    if (p >= 1) return;
    const double wanted = p * candidates.weigh(1.0);
    const double highest = candidates.highest();
    candidates.keep_nearest(
        wanted, [&](const Candidate& candidate) { return highest - candidate.logit; }, before);
}

}  // namespace ft
