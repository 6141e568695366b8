#include "sample/candidates.h"

#include <cmath>

#include "sample/exponential.h"

namespace ft {

void Candidates::collect(std::span<const float> logits) {
    constexpr double k_lowest = -std::numeric_limits<double>::infinity();
    list.resize(logits.size());
    weights.reserve(logits.size());  // room for whatever the samplers keep: later tokens allocate nothing
    order.reserve(logits.size());
    values.reserve(logits.size());
    for (size_t i = 0; i < logits.size(); i++)
        list[i] = {std::isnan(logits[i]) ? k_lowest : static_cast<double>(logits[i]),
                   static_cast<int32_t>(i)};
}

double Candidates::highest() const { return std::min_element(list.begin(), list.end(), before)->logit; }

double Candidates::weigh(double temperature) {
    const double most = highest();
    weights.resize(list.size());
    for (size_t i = 0; i < list.size(); i++)
        weights[i] = exp_of_negative((list[i].logit - most) / temperature);
    double total = 0;
    for (size_t i = 0; i < list.size(); i++) {
        if (list[i].logit == most) weights[i] = 1;
        total += weights[i];
    }
    return total;
}

size_t Candidates::draw(double total, double unit) const {
    const double target = unit * total;
    double sum = 0;
    size_t last = 0;  // with a weight: rounding may leave the target just above the sum
    for (size_t i = 0; i < list.size(); i++) {
        if (weights[i] == 0) continue;
        sum += weights[i];
        last = i;
        if (target < sum) break;
    }
    return last;
}

}  // namespace ft
