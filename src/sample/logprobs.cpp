#include "sample/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/double_math.h"
#include "sample/exponential.h"

namespace ft {

namespace {

constexpr double k_lowest = -std::numeric_limits<double>::infinity();

double value_of(float logit) { return std::isnan(logit) ? k_lowest : static_cast<double>(logit); }

bool before(const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.id < b.id);
}

// The n likeliest in `top`, with their logits; a heap whose root is the last of those kept.
void keep_likeliest(std::span<const float> logits, size_t n, std::vector<TokenLogprob>& top) {
    top.clear();
    if (n == 0) return;
    for (size_t i = 0; i < logits.size(); i++) {
        const TokenLogprob token{static_cast<int32_t>(i), value_of(logits[i])};
        if (top.size() == n) {
            if (!before(token, top.front())) continue;
            std::pop_heap(top.begin(), top.end(), before);
            top.pop_back();
        }
        top.push_back(token);
        std::push_heap(top.begin(), top.end(), before);
    }
    std::sort_heap(top.begin(), top.end(), before);
}

}  // namespace

void token_logprobs(std::span<const float> logits, int32_t chosen, size_t n_top, TokenLogprobs& out) {
    check(chosen >= 0 && static_cast<size_t>(chosen) < logits.size(), "logprobs: a token of the vocabulary");
    double highest = k_lowest;
    for (const float logit : logits) highest = std::max(highest, value_of(logit));
    // What equals the highest has weight 1, infinite ones too, whose difference is no number.
    const auto distance = [&](double logit) { return logit == highest ? 0.0 : logit - highest; };
    double total = 0;
    for (const float logit : logits) total += exp_of_negative(distance(value_of(logit)));
    const double log_total = log_f64(total);
    keep_likeliest(logits, std::min(n_top, logits.size()), out.top);
    for (TokenLogprob& token : out.top) token.logprob = distance(token.logprob) - log_total;
    out.chosen = {chosen, distance(value_of(logits[static_cast<size_t>(chosen)])) - log_total};
}

}  // namespace ft
