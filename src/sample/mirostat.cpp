#include "sample/mirostat.h"

#include "base/double_math.h"

namespace ft {

int32_t Mirostat::draw(Candidates& candidates, double temperature, double unit) {
    constexpr double k_log2e = 1.4426950408889634;
    double total = candidates.weigh(temperature);
    const double highest = candidates.highest();
    // surprise <= bound: weight / total >= 2^-bound
    const double least = exp_f64(-std::clamp(most_, 0.0, 1000.0) / k_log2e) * total;
    for (size_t i = 0; i < candidates.list.size(); i++)
        if (candidates.weights[i] < least && candidates.list[i].logit < highest) candidates.weights[i] = 0;
    total = 0;
    for (const double weight : candidates.weights) total += weight;
    const size_t drawn = candidates.draw(total, unit);
    const double surprise = log_f64(total / candidates.weights[drawn]) * k_log2e;
    most_ -= eta_ * (surprise - tau_);
    return candidates.list[drawn].id;
}

}  // namespace ft
