#include "sample/truncation.h"

namespace ft {

void exclude_top_choices(Candidates& candidates, double threshold) {
    const double least_weight = threshold * candidates.weigh(1.0);
    size_t n_top = 0, kept = 0;  // kept: the index of the top choice that stays
    for (size_t i = 0; i < candidates.list.size(); i++) {
        if (candidates.weights[i] < least_weight) continue;
        if (n_top++ == 0 || before(candidates.list[kept], candidates.list[i])) kept = i;
    }
    if (n_top < 2) return;
    size_t n = 0;
    for (size_t i = 0; i < candidates.list.size(); i++)
        if (candidates.weights[i] < least_weight || i == kept) candidates.list[n++] = candidates.list[i];
    candidates.list.resize(n);
}

}  // namespace ft
