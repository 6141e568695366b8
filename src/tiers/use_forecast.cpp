#include "tiers/use_forecast.h"

#include <algorithm>
#include <cmath>

#include "tiers/policy.h"

namespace ft {

namespace {

// The weights before anything is learned, and for how many tokens' uses they count as learned.
constexpr double k_first_weight[] = {0.25, 0.5, 0.25};
constexpr double k_first_tokens = 16;
constexpr double k_credit_half_life = 64;  // tokens
// Rates are credited as they are this many tokens before a use, on the way from the token before (1) to its
// own (0), which holds the short memory back a little: at 1 it costs half a point in caches of half the
// demand where popular experts stay, at 0 there is less to gain with all others (docs/expert-cache.md).
constexpr double k_credited_before = 0.25;
// Of rate, for all alike: a use that no rate foretold says little about them.
constexpr double k_unforetold = 0.003;
constexpr double k_rescale_after = 512;  // half-lives: far from the end of a double's range

}  // namespace

UseForecast::UseForecast(size_t n_experts, double half_life, bool learns)
    : n_(learns ? k_memories : 1), half_life_{half_life, half_life, half_life}, heat_(n_experts) {
    factor_[0] = 1;
    if (!learns) return;
    // The short one is a quarter of the middle one, but as long where half_life_for() doubles that for the
    // smallest caches: their few slots are for experts that are nearly always used, and one token without
    // such an expert must not count for much.
    const double stretch = std::max(1.0, half_life / PolicyOptions().half_life);
    half_life_[0] = std::min(half_life, half_life / 4 * stretch * stretch * stretch);
    half_life_[2] = 16 * half_life;
    std::copy(std::begin(k_first_weight), std::end(k_first_weight), weight_.begin());
}

bool UseForecast::used(size_t expert, int64_t time) {
    const bool moved = time > now_ && advance(time);
    if (time != token_) set_token(time);
    PerMemory& heat = heat_[expert];
    if (n_ > 1 && time > 0) {
        PerMemory share;
        double sum = 0;
        for (size_t i = 0; i < n_; ++i) {
            share[i] = weight_[i] * (rate_before_[i] * heat[i] + k_unforetold);
            sum += share[i];
        }
        for (size_t i = 0; i < n_; ++i) credit_[i] += share[i] / sum;
    }
    for (size_t i = 0; i < n_; ++i) heat[i] += unit_[i];
    n_uses_++;
    return moved;
}

// From heat to uses per token as of `time`; the first tokens count as all there ever were.
double UseForecast::rate_factor(size_t i, int64_t time) const {
    const double kept = std::exp2(-1 / half_life_[i]);
    const double tokens = (1 - std::exp2(-static_cast<double>(time + 1) / half_life_[i])) / (1 - kept);
    return std::exp2(-static_cast<double>(time - origin_[i]) / half_life_[i]) / tokens;
}

void UseForecast::set_token(int64_t time) {
    token_ = time;
    for (size_t i = 0; i < n_; ++i) {
        unit_[i] = std::exp2(static_cast<double>(time - origin_[i]) / half_life_[i]);
        if (n_ > 1 && time > 0)
            rate_before_[i] = rate_factor(i, time - 1) * std::exp2((k_credited_before - 1) / half_life_[i]);
    }
}

bool UseForecast::advance(int64_t time) {
    const double kept = std::exp2(-static_cast<double>(time - now_) / k_credit_half_life);
    for (double& credit : credit_) credit *= kept;
    now_ = time;
    const bool rescaled = rescale();
    if (n_ == 1) return rescaled;
    weigh();
    return true;
}

void UseForecast::weigh() {
    const double uses_of_token = n_uses_ / static_cast<double>(now_);
    const double first =
        k_first_tokens * uses_of_token * std::exp2(-static_cast<double>(now_) / k_credit_half_life);
    double sum = first;
    for (const double credit : credit_) sum += credit;
    for (size_t i = 0; i < n_; ++i) {
        if (sum > 0) weight_[i] = (credit_[i] + first * k_first_weight[i]) / sum;
        factor_[i] = weight_[i] * rate_factor(i, now_);
    }
}

// Moves origins to now, which keeps every order.
bool UseForecast::rescale() {
    bool any = false;
    for (size_t i = 0; i < n_; ++i) {
        if (static_cast<double>(now_ - origin_[i]) <= k_rescale_after * half_life_[i]) continue;
        const double shrink = std::exp2(-static_cast<double>(now_ - origin_[i]) / half_life_[i]);
        for (PerMemory& heat : heat_) heat[i] *= shrink;
        origin_[i] = now_;
        any = true;
    }
    if (any) token_ = -1;
    return any;
}

}  // namespace ft
