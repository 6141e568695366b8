#include "sample/exponential.h"
#include "sample/truncation.h"

namespace ft {

void keep_min_p(Candidates& candidates, double min_p) {
    if (min_p <= 0) return;
    const double highest = candidates.highest();
    std::erase_if(candidates.list, [&](const Candidate& candidate) {
        return candidate.logit < highest && exp_of_negative(candidate.logit - highest) < min_p;
    });
}

}  // namespace ft
