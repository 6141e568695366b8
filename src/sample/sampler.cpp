#include "sample/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "sample/exponential.h"
#include "sample/random.h"

namespace ft {

namespace {

constexpr int k_buckets = 2048;
constexpr double k_buckets_per_logit =
    64;  // 32 logits: what lies below has e^-32 of the likeliest's probability
}  // namespace

Status check_finite(std::span<const float> logits) {
    float largest = -std::numeric_limits<float>::infinity();
    bool numbers = true;
    for (const float logit : logits) {
        largest = logit > largest ? logit : largest;
        numbers = numbers && logit == logit;
    }
    if (numbers && std::isfinite(largest)) return {};
    return Error{Code::invalid,
                 fmt::format("the logits are not finite ({})",
                             numbers ? "the largest is infinite" : "some are not numbers"),
                 "The weights or a router of the file are damaged, or a type in it is too narrow for them: "
                 "fetch the file again, or take another quantisation. `freetoken doctor` examines it."};
}

Sampler::Sampler(SamplerParams params) : params_(std::move(params)) {
    check(params_.temperature >= 0 && params_.repeat_penalty > 0, "sampler: temperature >= 0, penalty > 0");
}

void Sampler::accept(int32_t id) {
    if (params_.repeat_last_n < 0 || recent_.size() < static_cast<size_t>(params_.repeat_last_n)) {
        recent_.push_back(id);
    } else if (params_.repeat_last_n > 0) {
        recent_[oldest_] = id;
        oldest_ = (oldest_ + 1) % recent_.size();
    }
}

Expected<int32_t> Sampler::sample(std::span<const float> logits, uint64_t position, uint64_t choice) {
    check(!logits.empty(), "sampler: no logits");
    if (Status finite = check_finite(logits); !finite) return finite.error();
    logits_.assign(logits.begin(), logits.end());
    add_bias();
    penalise();
    if (params_.temperature == 0 || params_.top_k == 1) return likeliest();
    collect_candidates();
    keep_top_k();
    keep_top_p();
    keep_min_p();
    return draw(position, choice);
}

void Sampler::add_bias() {
    for (const LogitBias& entry : params_.logit_bias)
        if (entry.id >= 0 && static_cast<size_t>(entry.id) < logits_.size())
            logits_[static_cast<size_t>(entry.id)] += entry.bias;
}

void Sampler::penalise() {
    const float penalty = params_.repeat_penalty;
    if (penalty == 1) return;
    distinct_.assign(recent_.begin(), recent_.end());
    std::sort(distinct_.begin(), distinct_.end());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
    for (const int32_t id : distinct_) {
        if (id < 0 || static_cast<size_t>(id) >= logits_.size()) continue;
        float& logit = logits_[static_cast<size_t>(id)];
        logit = logit > 0 ? logit / penalty : logit * penalty;
    }
}

int32_t Sampler::likeliest() const {
    size_t best = 0;
    for (size_t i = 1; i < logits_.size(); i++)
        if (logits_[i] > logits_[best]) best = i;
    return static_cast<int32_t>(best);
}

bool Sampler::before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

void Sampler::collect_candidates() {
    candidates_.resize(logits_.size());
    for (size_t i = 0; i < logits_.size(); i++)
        candidates_[i] = {static_cast<double>(logits_[i]), static_cast<int32_t>(i)};
}

void Sampler::keep_top_k() {
    const auto k = static_cast<size_t>(std::max(params_.top_k, 0));
    if (k == 0 || k >= candidates_.size()) return;
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(k),
                     candidates_.end(), before);
    candidates_.resize(k);
}

// Buckets of falling logits, with the sum of each, say which bucket holds the last token that is kept; only
// that one is sorted.
void Sampler::keep_top_p() {
    const double p = static_cast<double>(params_.top_p);
    if (p >= 1) return;
    const double highest = std::min_element(candidates_.begin(), candidates_.end(), before)->logit;
    const double wanted = p * weigh(highest, 1.0);
    const auto bucket_of = [&](const Candidate& candidate) {
        const double distance = (highest - candidate.logit) * k_buckets_per_logit;
        return distance < k_buckets - 1 ? static_cast<size_t>(distance) : size_t{k_buckets - 1};
    };
    std::array<double, k_buckets> sums{};
    for (size_t i = 0; i < candidates_.size(); i++) sums[bucket_of(candidates_[i])] += weights_[i];
    double sum = 0;
    size_t last = 0;
    while (last + 1 < k_buckets && sum + sums[last] < wanted) sum += sums[last++];

    std::erase_if(candidates_, [&](const Candidate& candidate) { return bucket_of(candidate) > last; });
    const auto inside =
        std::partition(candidates_.begin(), candidates_.end(),
                       [&](const Candidate& candidate) { return bucket_of(candidate) < last; });
    std::sort(inside, candidates_.end(), before);
    auto end = inside;
    while (end != candidates_.end() && (end == candidates_.begin() || sum < wanted)) {
        sum += end->logit == highest ? 1.0 : exp_of_negative(end->logit - highest);
        ++end;
    }
    candidates_.erase(end, candidates_.end());
}

double Sampler::weigh(double highest, double temperature) {
    weights_.resize(candidates_.size());
    for (size_t i = 0; i < candidates_.size(); i++)
        weights_[i] = exp_of_negative((candidates_[i].logit - highest) / temperature);
    double total = 0;
    for (size_t i = 0; i < candidates_.size(); i++) {
        if (candidates_[i].logit == highest) weights_[i] = 1;  // infinite ones too
        total += weights_[i];
    }
    return total;
}

void Sampler::keep_min_p() {
    const double min_p = static_cast<double>(params_.min_p);
    if (min_p <= 0) return;
    const double highest = std::min_element(candidates_.begin(), candidates_.end(), before)->logit;
    std::erase_if(candidates_, [&](const Candidate& candidate) {
        return candidate.logit < highest && exp_of_negative(candidate.logit - highest) < min_p;
    });
}

// Walks the candidates by id, so that how they were selected does not decide which one a random number means.
int32_t Sampler::draw(uint64_t position, uint64_t choice) {
    const auto by_id = [](const Candidate& a, const Candidate& b) { return a.id < b.id; };
    if (!std::is_sorted(candidates_.begin(), candidates_.end(), by_id))  // all of the vocabulary still is
        std::sort(candidates_.begin(), candidates_.end(), by_id);
    const double highest = std::min_element(candidates_.begin(), candidates_.end(), before)->logit;
    const double temperature = static_cast<double>(params_.temperature);
    const double total = weigh(highest, temperature);
    const double target = random_unit(params_.seed, choice, position) * total;
    double sum = 0;
    size_t last = 0;  // with a weight: rounding may leave the target just above the sum
    for (size_t i = 0; i < candidates_.size(); i++) {
        if (weights_[i] == 0) continue;
        sum += weights_[i];
        last = i;
        if (target < sum) break;
    }
    return candidates_[last].id;
}

}  // namespace ft
