#include "sample/truncation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ft {
namespace {

constexpr float k_infinity = std::numeric_limits<float>::infinity();

Candidates with_logits(const std::vector<float>& logits) {
    Candidates candidates;
    candidates.collect(logits);
    return candidates;
}

// Tokens of these probabilities.
Candidates with_probabilities(const std::vector<float>& probabilities) {
    std::vector<float> logits;
    for (const float p : probabilities) logits.push_back(std::log(p) + 3);
    return with_logits(logits);
}

std::vector<int32_t> ids(const Candidates& candidates) {
    std::vector<int32_t> out;
    for (const Candidate& candidate : candidates.list) out.push_back(candidate.id);
    return out;
}

template <class Sampler, class Parameter>
std::vector<int32_t> left(Candidates candidates, Sampler sampler, Parameter parameter) {
    sampler(candidates, parameter);
    return ids(candidates);
}

using Ids = std::vector<int32_t>;

// Mean 0, variance (4 + 4) / 4, sigma 1.414.
TEST(TopNSigma, MeasuresFromTheHighestInStandardDeviations) {
    const Candidates all = with_logits({0, 2, 0, -2});
    EXPECT_EQ(left(all, keep_top_n_sigma, 1.0), Ids({1}));        // at least 0.586
    EXPECT_EQ(left(all, keep_top_n_sigma, 1.5), Ids({0, 1, 2}));  // at least -0.121
    EXPECT_EQ(left(all, keep_top_n_sigma, 0.0), Ids({0, 1, 2, 3}));
    EXPECT_EQ(left(all, keep_top_n_sigma, -1.0), Ids({0, 1, 2, 3}));
}

TEST(TopNSigma, ForbiddenTokensDoNotCount) {
    EXPECT_EQ(left(with_logits({0, 2, 0, -2, -k_infinity}), keep_top_n_sigma, 1.5), Ids({0, 1, 2}));
    EXPECT_EQ(left(with_logits({-k_infinity, -k_infinity}), keep_top_n_sigma, 1.0), Ids({0, 1}));
    EXPECT_EQ(left(with_logits({1, k_infinity}), keep_top_n_sigma, 1.0), Ids({1}));
}

TEST(TopK, OfEqualTokensTheLowestIdsStay) {
    const Candidates all = with_logits({1, 3, 2, 3, 3, 0});
    EXPECT_EQ(left(all, keep_top_k, 2), Ids({1, 3}));
    EXPECT_EQ(left(all, keep_top_k, 3), Ids({1, 3, 4}));
    EXPECT_EQ(left(all, keep_top_k, 4), Ids({1, 2, 3, 4}));
    EXPECT_EQ(left(all, keep_top_k, 0).size(), 6u);
    EXPECT_EQ(left(all, keep_top_k, 100).size(), 6u);
    EXPECT_EQ(left(with_logits({-k_infinity, 1, -k_infinity}), keep_top_k, 2), Ids({0, 1}));
}

// Surprises are 1, 2, 3 and 3 bits, the entropy 1.75 bits: the second token is the most typical, then the
// first.
TEST(Typical, KeepsWhatIsNearTheEntropy) {
    const Candidates all = with_probabilities({0.5f, 0.25f, 0.125f, 0.125f});
    EXPECT_EQ(left(all, keep_typical, 0.0), Ids({1}));
    EXPECT_EQ(left(all, keep_typical, 0.2), Ids({1}));
    EXPECT_EQ(left(all, keep_typical, 0.3), Ids({0, 1}));
    EXPECT_EQ(left(all, keep_typical, 0.8), Ids({0, 1, 2}));  // of two equal ones the lower id
    EXPECT_EQ(left(all, keep_typical, 0.9), Ids({0, 1, 2, 3}));
    EXPECT_EQ(left(all, keep_typical, 1.0), Ids({0, 1, 2, 3}));
}

TEST(Typical, OddLogits) {
    EXPECT_EQ(left(with_logits({-k_infinity, 0, 0}), keep_typical, 0.9), Ids({1, 2}));
    EXPECT_EQ(left(with_logits({-k_infinity, -k_infinity}), keep_typical, 0.9), Ids({0, 1}));
    EXPECT_EQ(left(with_logits({0, k_infinity}), keep_typical, 0.9), Ids({1}));
}

TEST(TopP, KeepsTheFewestThatReachTheShare) {
    const Candidates all = with_probabilities({0.15f, 0.5f, 0.05f, 0.3f});
    EXPECT_EQ(left(all, keep_top_p, 0.0), Ids({1}));
    EXPECT_EQ(left(all, keep_top_p, 0.49), Ids({1}));
    EXPECT_EQ(left(all, keep_top_p, 0.6), Ids({1, 3}));
    EXPECT_EQ(left(all, keep_top_p, 0.9), Ids({0, 1, 3}));
    EXPECT_EQ(left(all, keep_top_p, 0.96), Ids({0, 1, 2, 3}));
}

TEST(TopP, OfEqualTokensTheLowestIdsStay) {
    const Candidates all = with_logits(std::vector<float>(10, 1.0f));
    EXPECT_EQ(left(all, keep_top_p, 0.35), Ids({0, 1, 2, 3}));
    EXPECT_EQ(left(with_logits({0, k_infinity, k_infinity}), keep_top_p, 0.4), Ids({1}));
}

TEST(MinP, ComparesWithTheLikeliest) {
    const Candidates all = with_probabilities({0.15f, 0.5f, 0.05f, 0.3f});
    EXPECT_EQ(left(all, keep_min_p, 0.0), Ids({0, 1, 2, 3}));
    EXPECT_EQ(left(all, keep_min_p, 0.2), Ids({0, 1, 3}));  // at least 0.1
    EXPECT_EQ(left(all, keep_min_p, 0.5), Ids({1, 3}));
    EXPECT_EQ(left(with_logits({2, 2, 1}), keep_min_p, 1.0), Ids({0, 1}));
}

TEST(Xtc, TheLeastLikelyOfTheTopChoicesStays) {
    const Candidates all = with_probabilities({0.15f, 0.5f, 0.05f, 0.3f});
    EXPECT_EQ(left(all, exclude_top_choices, 0.1), Ids({0, 2}));
    EXPECT_EQ(left(all, exclude_top_choices, 0.2), Ids({0, 2, 3}));
    EXPECT_EQ(left(all, exclude_top_choices, 0.4), Ids({0, 1, 2, 3}));  // one top choice alone stays
    EXPECT_EQ(left(all, exclude_top_choices, 0.9), Ids({0, 1, 2, 3}));
    EXPECT_EQ(left(all, exclude_top_choices, 0.0), Ids({2}));
    EXPECT_EQ(left(with_probabilities({0.4f, 0.4f, 0.2f}), exclude_top_choices, 0.3), Ids({1, 2}));
}

// The orders of the chain: each sees only what the one before it left.
TEST(Truncation, ProbabilitiesAreThoseAmongWhatIsLeft) {
    Candidates candidates = with_probabilities({0.4f, 0.3f, 0.2f, 0.1f});
    keep_top_k(candidates, 2);  // 4/7 and 3/7
    keep_top_p(candidates, 0.5);
    EXPECT_EQ(ids(candidates), Ids({0}));
}

}  // namespace
}  // namespace ft
