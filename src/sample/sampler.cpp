#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "sample/candidates.h"
#include "sample/random.h"
#include "sample/truncation.h"

namespace ft {

struct SampleScratch {
    std::vector<float> logits;
    Candidates candidates;
};

std::shared_ptr<SampleScratch> make_sample_scratch() { return std::make_shared<SampleScratch>(); }

namespace {

void check_params(const SamplerParams& params) {
    check(params.temperature >= 0 && params.repeat_penalty > 0, "sampler: temperature >= 0, penalty > 0");
    check(params.dry.base >= 1 && params.dry.allowed_length >= 1, "sampler: DRY base and length >= 1");
}

PenaltyParams penalty_params(const SamplerParams& params) {
    return {params.repeat_penalty, params.frequency_penalty, params.presence_penalty, params.repeat_last_n};
}

constexpr float k_never = -std::numeric_limits<float>::infinity();

void add_bias(std::span<float> logits, std::span<const LogitBias> biases) {
    for (const LogitBias& entry : biases)
        if (entry.id >= 0 && static_cast<size_t>(entry.id) < logits.size())
            logits[static_cast<size_t>(entry.id)] += entry.bias;
}

// False: no token is left.
bool keep_allowed(std::span<float> logits, std::span<const uint64_t> allowed) {
    const size_t known = std::min(logits.size(), allowed.size() * 64);
    bool any = false;
    for (size_t i = 0; i < known; i++) {
        if (((allowed[i / 64] >> (i % 64)) & 1) == 0) logits[i] = k_never;
        else any = any || logits[i] != k_never;
    }
    std::fill(logits.begin() + static_cast<std::ptrdiff_t>(known), logits.end(), k_never);
    return any;
}

bool any_left(std::span<const float> logits) {
    return std::any_of(logits.begin(), logits.end(), [](float logit) { return logit != k_never; });
}

Error all_ruled_out(std::string_view what) {
    return Error{Code::invalid, std::string(what),
                 "Leave out what rules them out: logit_bias, or ignore_eos."};
}

int32_t likeliest(std::span<const float> logits) {
    size_t best = 0;
    for (size_t i = 1; i < logits.size(); i++)
        if (logits[i] > logits[best]) best = i;
    return static_cast<int32_t>(best);
}

// XTC draws a number of its own: the stream of another seed.
uint64_t xtc_seed(uint64_t seed) { return mix_bits(seed ^ 0x5854435854435854ULL); }

}  // namespace

Status check_finite(std::span<const float> logits) {
    float largest = -std::numeric_limits<float>::infinity();
    bool numbers = true;
    for (const float logit : logits) {
        largest = logit > largest ? logit : largest;
        numbers = numbers && logit == logit;
    }
    if (numbers && std::isfinite(largest)) return {};
    return Error{Code::damaged,
                 fmt::format("the logits are not finite ({})",
                             numbers ? "the largest is infinite" : "some are not numbers"),
                 "The weights or a router of the file are damaged, or a type in it is too narrow for them: "
                 "fetch the file again, or take another quantisation. `freetoken doctor` examines it."};
}

Sampler::Sampler(SamplerParams params, std::shared_ptr<SampleScratch> scratch)
    : params_(std::move(params)),
      penalties_(penalty_params(params_)),
      dry_(params_.dry),
      scratch_(scratch ? std::move(scratch) : make_sample_scratch()) {
    check_params(params_);
    if (params_.mirostat)
        mirostat_.emplace(static_cast<double>(params_.mirostat_tau),
                          static_cast<double>(params_.mirostat_eta));
}

void Sampler::accept(int32_t id) {
    penalties_.accept(id);
    dry_.accept(id);
}

bool Sampler::greedy() const { return params_.temperature == 0 || (params_.top_k == 1 && !params_.mirostat); }

Expected<int32_t> Sampler::sample(std::span<const float> logits, uint64_t position, uint64_t choice,
                                  std::span<const uint64_t> allowed) {
    check(!logits.empty(), "sampler: no logits");
    if (Status finite = check_finite(logits); !finite) return finite.error();
    scratch_->logits.assign(logits.begin(), logits.end());
    add_bias(scratch_->logits, params_.logit_bias);
    if (!allowed.empty() && !keep_allowed(scratch_->logits, allowed))
        return all_ruled_out("every token that the grammar allows here is ruled out");
    if (allowed.empty() && !params_.logit_bias.empty() && !any_left(scratch_->logits))
        return all_ruled_out("every token of the vocabulary is ruled out");
    penalties_.apply(scratch_->logits);
    dry_.apply(scratch_->logits);
    if (greedy()) return likeliest(scratch_->logits);

    Candidates& candidates = scratch_->candidates;
    candidates.collect(scratch_->logits);
    const double temperature = static_cast<double>(params_.temperature);
    const double unit = random_unit(params_.seed, choice, position);
    if (mirostat_) return mirostat_->draw(candidates, temperature, unit);
    truncate(position, choice);
    const double total = candidates.weigh(temperature);
    return candidates.list[candidates.draw(total, unit)].id;
}

void Sampler::truncate(uint64_t position, uint64_t choice) {
    Candidates& candidates = scratch_->candidates;
    keep_top_n_sigma(candidates, static_cast<double>(params_.top_n_sigma));
    keep_top_k(candidates, params_.top_k);
    keep_typical(candidates, static_cast<double>(params_.typical_p));
    keep_top_p(candidates, static_cast<double>(params_.top_p));
    keep_min_p(candidates, static_cast<double>(params_.min_p));
    const double probability = static_cast<double>(params_.xtc_probability);
    if (probability > 0 && random_unit(xtc_seed(params_.seed), choice, position) < probability)
        exclude_top_choices(candidates, static_cast<double>(params_.xtc_threshold));
}

}  // namespace ft
