#include <functional>

#include "sample/truncation.h"

namespace ft {

void keep_top_k(Candidates& candidates, int k) {
    if (k <= 0 || static_cast<size_t>(k) >= candidates.list.size()) return;
    std::vector<double>& values = candidates.values;
    values.clear();
    for (const Candidate& candidate : candidates.list) values.push_back(candidate.logit);
    const auto last = values.begin() + (k - 1);
    std::nth_element(values.begin(), last, values.end(), std::greater<>());
    const double least = *last;
    // The k-th may stand among equals: of these the first ones are kept.
    auto room = std::count(values.begin(), last + 1, least);
    std::erase_if(candidates.list, [&](const Candidate& candidate) {
        return candidate.logit < least || (candidate.logit == least && room-- <= 0);
    });
}

}  // namespace ft
