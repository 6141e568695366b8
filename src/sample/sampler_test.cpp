#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "sample/exponential.h"
#include "sample/random.h"

namespace ft {
namespace {

SamplerParams plain(float temperature) {
    return {.temperature = temperature, .top_k = 0, .top_p = 1, .min_p = 0, .repeat_penalty = 1};
}

std::vector<float> random_logits(size_t n, uint32_t seed, float spread) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> logits(n);
    for (float& logit : logits) logit = std::round(normal(random) * 8) / 8;  // with ties
    return logits;
}

// How often each id is drawn over many positions.
std::map<int32_t, int> draws(const SamplerParams& params, const std::vector<float>& logits, int n) {
    Sampler sampler(params);
    std::map<int32_t, int> counts;
    for (int i = 0; i < n; i++) counts[*sampler.sample(logits, static_cast<uint64_t>(i))]++;
    return counts;
}

// The ids that steps 2 to 4 leave, by sorting everything: the definition, written plainly.
std::set<int32_t> survivors(const SamplerParams& params, const std::vector<float>& logits) {
    std::vector<int32_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
        const float at_a = logits[static_cast<size_t>(a)], at_b = logits[static_cast<size_t>(b)];
        return at_a > at_b || (at_a == at_b && a < b);
    });
    if (params.top_k > 0 && static_cast<size_t>(params.top_k) < ids.size())
        ids.resize(static_cast<size_t>(params.top_k));
    const auto weight = [&](int32_t id) {
        return std::exp(static_cast<double>(logits[static_cast<size_t>(id)]) -
                        static_cast<double>(logits[static_cast<size_t>(ids[0])]));
    };
    double total = 0, sum = 0;
    for (const int32_t id : ids) total += weight(id);
    size_t kept = 0;
    while (kept < ids.size() &&
           (kept == 0 || params.top_p >= 1 || sum < static_cast<double>(params.top_p) * total))
        sum += weight(ids[kept++]);
    ids.resize(kept);
    std::erase_if(ids, [&](int32_t id) { return weight(id) < static_cast<double>(params.min_p); });
    return {ids.begin(), ids.end()};
}

TEST(Exponential, AgreesWithTheLibraryToThePrecision) {
    for (double x = 0; x > -700; x -= 0.137) EXPECT_NEAR(exp_of_negative(x) / std::exp(x), 1.0, 2e-15) << x;
    EXPECT_EQ(exp_of_negative(0), 1.0);
    EXPECT_EQ(exp_of_negative(-701), 0.0);
    EXPECT_EQ(exp_of_negative(-std::numeric_limits<double>::infinity()), 0.0);
    EXPECT_EQ(exp_of_negative(std::numeric_limits<double>::quiet_NaN()), 0.0);
}

TEST(Random, DependsOnSeedChoiceAndPositionAndIsUniform) {
    std::set<double> seen;
    double sum = 0;
    for (uint64_t seed : {0, 1, 2})
        for (uint64_t choice : {0, 1, 2})
            for (uint64_t position = 0; position < 1000; position++) {
                const double u = random_unit(seed, choice, position);
                ASSERT_GE(u, 0.0);
                ASSERT_LT(u, 1.0);
                seen.insert(u);
                sum += u;
            }
    EXPECT_EQ(seen.size(), 9000u);
    EXPECT_NEAR(sum / 9000, 0.5, 0.01);
    // Fixed for ever: a changed value would change every answer that was made with a seed.
    EXPECT_EQ(random_unit(42, 0, 7), random_unit(42, 0, 7));
    static_assert(random_unit(42, 0, 7) != random_unit(42, 7, 0));
}

TEST(Sampler, GreedyTakesTheLowestOfEqualIds) {
    Sampler sampler(plain(0));
    EXPECT_EQ(*sampler.sample(std::vector<float>{1, 3, 2, 3}, 0), 1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{-1, -1, -1}, 0), 0);
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(*sampler.sample(std::vector<float>{-inf, -5, -inf, -4}, 0), 3);
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    for (const float temperature : {0.0f, 1.0f})
        for (const std::vector<float>& logits :
             {std::vector<float>{1, nan, 2}, {nan, nan}, {1, inf, 2}, {-inf, -inf}, {2, nan}, {nan, 2}}) {
            const Expected<int32_t> id = Sampler(plain(temperature)).sample(logits, 0);
            ASSERT_FALSE(id);
            EXPECT_NE(id.error().what.find("not finite"), std::string::npos);
            EXPECT_NE(id.error().remedy.find("router"), std::string::npos);
            EXPECT_EQ(exit_status(id.error()), 2);
            EXPECT_EQ(id.error().code, Code::damaged) << "no fault of a request";
        }
    SamplerParams penalised = plain(0);  // what a penalty makes of large logits is no damage
    penalised.repeat_penalty = 1e-30f;
    Sampler sampler(penalised);
    sampler.accept(1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{1, 1e30f, 2}, 0), 1);
}

TEST(Sampler, TopKOneIsGreedyAtAnyTemperature) {
    SamplerParams params = plain(5);
    params.top_k = 1;
    const std::vector<float> logits = random_logits(1000, 1, 2);
    const int32_t greedy = *Sampler(plain(0)).sample(logits, 0);
    for (uint64_t position = 0; position < 50; position++)
        EXPECT_EQ(*Sampler(params).sample(logits, position), greedy);
}

TEST(Sampler, TokensAtMinusInfinityAreNeverDrawn) {
    const float inf = std::numeric_limits<float>::infinity();
    for (const float top_p : {1.0f, 0.9f})
        for (const float min_p : {0.0f, 0.1f}) {
            SamplerParams params = plain(1);
            params.top_p = top_p;
            params.min_p = min_p;
            EXPECT_EQ(draws(params, {-inf, -inf, 0, -inf}, 50).size(), 1u);
            EXPECT_EQ(draws(params, {-inf, -inf, 0, -inf}, 50).count(2), 1u);
        }
}

TEST(Sampler, DrawsFollowTheSoftmaxAtEachTemperature) {
    const std::vector<float> logits = {1, 0, -1, 2};
    for (const float temperature : {0.5f, 1.0f, 2.0f}) {
        double total = 0;
        for (const float logit : logits) total += std::exp(static_cast<double>(logit / temperature));
        const std::map<int32_t, int> counts = draws(plain(temperature), logits, 20000);
        for (size_t i = 0; i < logits.size(); i++) {
            const double share = std::exp(static_cast<double>(logits[i] / temperature)) / total;
            const double seen =
                counts.contains(static_cast<int32_t>(i)) ? counts.at(static_cast<int32_t>(i)) : 0;
            EXPECT_NEAR(seen / 20000, share, 4 * std::sqrt(share * (1 - share) / 20000) + 1e-4) << i;
        }
    }
}

TEST(Sampler, KeepsWhatTheDefinitionKeeps) {
    int tried = 0;
    for (const size_t n : {1u, 2u, 5u, 63u, 64u, 65u, 300u})
        for (const int top_k : {0, 2, 64, 1000})
            for (const float top_p : {0.0f, 0.3f, 0.9f, 1.0f})
                for (const float min_p : {0.0f, 0.2f, 1.0f}) {
                    SamplerParams params = plain(50);  // so hot that everything left is drawn now and then
                    params.top_k = top_k;
                    params.top_p = top_p;
                    params.min_p = min_p;
                    const std::vector<float> logits = random_logits(n, static_cast<uint32_t>(n), 1.5);
                    const std::set<int32_t> expected = survivors(params, logits);
                    std::set<int32_t> seen;
                    const int n_draw =
                        10 * static_cast<int>(expected.size());  // all seen but for one time in e^10 each
                    for (const auto& [id, count] : draws(params, logits, n_draw)) seen.insert(id);
                    EXPECT_EQ(seen, expected) << n << " " << top_k << " " << top_p << " " << min_p;
                    tried++;
                }
    EXPECT_EQ(tried, 7 * 4 * 4 * 3);
}

TEST(Sampler, APositionsDrawDoesNotDependOnEarlierDraws) {
    const std::vector<float> logits = random_logits(500, 3, 1);
    Sampler one(plain(1));
    std::vector<int32_t> forward;
    for (uint64_t position = 0; position < 40; position++) forward.push_back(*one.sample(logits, position));
    for (uint64_t position = 40; position-- > 0;)
        EXPECT_EQ(*Sampler(plain(1)).sample(logits, position), forward[position]);
    SamplerParams other = plain(1);
    other.seed = 1;
    int same = 0, same_choice = 0;
    for (uint64_t position = 0; position < 40; position++) {
        same += *Sampler(other).sample(logits, position) == forward[position];
        same_choice += *one.sample(logits, position, 1) == forward[position];
    }
    EXPECT_LT(same, 20);
    EXPECT_LT(same_choice, 20);
}

TEST(Sampler, PenaltyDividesPositiveAndMultipliesNegativeLogitsOnce) {
    SamplerParams params = plain(0);
    params.repeat_penalty = 2;
    Sampler sampler(params);
    for (int i = 0; i < 3; i++) sampler.accept(0);
    EXPECT_EQ(*sampler.sample(std::vector<float>{4, 1.5}, 0), 0);  // 4 / 2, not 4 / 8
    EXPECT_EQ(*sampler.sample(std::vector<float>{4, 2.5}, 0), 1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{-1, -1.5}, 0), 1);  // -1 * 2
    sampler.accept(1'000'000);                                       // no such token here
    sampler.accept(-1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{4, 2.5}, 0), 1);
}

TEST(Sampler, BiasIsAddedBeforeThePenaltyAndMayForbid) {
    SamplerParams params = plain(0);
    params.logit_bias = {{0, 1}, {0, 1}, {9, 100}, {-1, 100}};             // two of no token here
    EXPECT_EQ(*Sampler(params).sample(std::vector<float>{1, 2.5}, 0), 0);  // 1 + 2
    params.repeat_penalty = 2;
    Sampler penalised(params);
    penalised.accept(0);
    EXPECT_EQ(*penalised.sample(std::vector<float>{1, 1.25}, 0), 0);  // (1 + 2) / 2, not 1 / 2 + 2
    EXPECT_EQ(*penalised.sample(std::vector<float>{1, 1.75}, 0), 1);
    params = plain(1);
    params.logit_bias = {{1, -std::numeric_limits<float>::infinity()}};
    EXPECT_EQ(draws(params, {0, 50, 0}, 100).count(1), 0u);
}

TEST(Sampler, TheChainRunsInItsOrder) {
    SamplerParams params = plain(0);
    params.dry = {.multiplier = 1, .base = 2, .allowed_length = 1, .last_n = -1, .breakers = {}};
    params.repeat_penalty = 2;
    Sampler sampler(params);
    for (const int32_t id : {0, 1, 0}) sampler.accept(id);
    EXPECT_EQ(*sampler.sample(std::vector<float>{0, 4, 1.25f}, 0), 2);  // 4 / 2 - 1, not (4 - 1) / 2
    EXPECT_EQ(*sampler.sample(std::vector<float>{0, 4, 0.75f}, 0), 1);

    params = plain(1);  // top-n-sigma leaves 0 alone (see truncation_test), top-k would leave two
    params.top_n_sigma = 1;
    params.top_k = 2;
    EXPECT_EQ(draws(params, {0, 2, 0, -2}, 50).size(), 1u);
}

TEST(Sampler, XtcComesAsOftenAsItIsSaidTo) {
    SamplerParams params = plain(1);
    params.xtc_threshold = 0.1f;
    const std::vector<float> logits = {2, 1, -3};  // 0 and 1 are top choices
    for (const float probability : {0.0f, 0.25f, 1.0f}) {
        params.xtc_probability = probability;
        const double share = draws(params, logits, 4000)[0] / 4000.0;
        EXPECT_NEAR(share, 0.727 * (1 - static_cast<double>(probability)), 0.03);  // e^2 / (e^2 + e + e^-3)
    }
}

TEST(Sampler, MirostatTakesThePlaceOfTheTruncations) {
    SamplerParams params = plain(1);
    params.mirostat = true;
    params.mirostat_tau = 20;  // leaves everything
    params.mirostat_eta = 0;
    params.top_k = 1;
    params.top_p = 0;
    const std::vector<float> logits = {1, 0, -1, 2};
    EXPECT_EQ(draws(params, logits, 200), draws(plain(1), logits, 200));
    params.temperature = 0;
    EXPECT_EQ(*Sampler(params).sample(logits, 0), 3);
}

TEST(Sampler, OneScratchServesManySamplers) {
    const auto scratch = make_sample_scratch();
    const std::vector<float> small = random_logits(100, 1, 1), large = random_logits(300, 2, 1);
    SamplerParams params = plain(1);
    params.top_k = 40;
    Sampler a(params, scratch), b(params, scratch);
    for (uint64_t position = 0; position < 20; position++) {
        EXPECT_EQ(*a.sample(small, position), *Sampler(params).sample(small, position));
        EXPECT_EQ(*b.sample(large, position), *Sampler(params).sample(large, position));
    }
}

// Answers that were made with a seed are made again: these ids came from the first version of the chain.
TEST(Sampler, DrawsOfASeedStayTheSame) {
    const std::vector<float> logits = random_logits(4096, 11, 2);
    SamplerParams params{.seed = 42};
    Sampler sampler(params);
    std::vector<int32_t> ids;
    for (uint64_t position = 0; position < 12; position++) {
        ids.push_back(*sampler.sample(logits, position));
        sampler.accept(ids.back());
    }
    EXPECT_EQ(ids,
              (std::vector<int32_t>{922, 2693, 1203, 654, 3437, 2869, 3297, 3148, 1213, 137, 1433, 545}));
}

TEST(Sampler, DrawsOnlyWhatIsAllowed) {
    const std::vector<float> logits = random_logits(200, 5, 3);
    std::vector<uint64_t> allowed(3);  // 192 ids: those behind are not allowed
    for (const size_t id : {3u, 64u, 191u}) allowed[id / 64] |= uint64_t{1} << (id % 64);
    std::vector<SamplerParams> chains = {plain(0), plain(1), plain(5), plain(1), plain(1), plain(1)};
    chains[3].top_k = 2;
    chains[3].min_p = 0.2f;
    chains[3].top_n_sigma = 1;
    chains[4].mirostat = true;
    chains[5].repeat_penalty = 3;
    chains[5].typical_p = 0.5f;
    for (const SamplerParams& params : chains) {
        Sampler sampler(params);
        std::set<int32_t> drawn;
        for (uint64_t position = 0; position < 200; position++) {
            drawn.insert(*sampler.sample(logits, position, 0, allowed));
            sampler.accept(*drawn.begin());
        }
        EXPECT_TRUE(std::ranges::includes(std::set<int32_t>{3, 64, 191}, drawn));
    }
    const int32_t best = *Sampler(plain(0)).sample(logits, 0, 0, allowed);
    for (const int32_t id : {3, 64, 191})
        EXPECT_GE(logits[static_cast<size_t>(best)], logits[static_cast<size_t>(id)]);
}

TEST(Sampler, AllowingAllChangesNothing) {
    const std::vector<float> logits = random_logits(130, 6, 2);
    const std::vector<uint64_t> all(3, ~uint64_t{0});
    Sampler with(plain(1)), without(plain(1));
    for (uint64_t position = 0; position < 50; position++)
        EXPECT_EQ(*with.sample(logits, position, 0, all), *without.sample(logits, position));
}

TEST(Sampler, WhereNoAllowedTokenIsLeftIsAnError) {
    std::vector<float> logits = {1, 2, 3};
    SamplerParams params = plain(1);
    params.logit_bias = {{1, -std::numeric_limits<float>::infinity()}};
    const std::vector<uint64_t> allowed = {2};
    const Expected<int32_t> drawn = Sampler(params).sample(logits, 0, 0, allowed);
    ASSERT_FALSE(drawn);
    EXPECT_NE(drawn.error().what.find("grammar"), std::string::npos);
}

TEST(Sampler, WhereEveryTokenIsForbiddenIsAnError) {
    const std::vector<float> logits = {1, 2, 3};
    const float never = -std::numeric_limits<float>::infinity();
    for (const float temperature : {0.0f, 1.0f}) {
        SamplerParams params = plain(temperature);
        params.logit_bias = {{0, never}, {1, never}};
        EXPECT_EQ(*Sampler(params).sample(logits, 0), 2);
        params.logit_bias.push_back({2, never});
        const Expected<int32_t> drawn = Sampler(params).sample(logits, 0);
        ASSERT_FALSE(drawn);
        EXPECT_EQ(drawn.error().code, Code::invalid);
        EXPECT_EQ(drawn.error().what, "every token of the vocabulary is ruled out");
    }
}

TEST(Sampler, PenaltyForgetsWhatIsOlderThanItsWindow) {
    const std::vector<float> logits = {4, 3, 0, 0, 0};
    const auto greedy_after = [&](int window, std::initializer_list<int32_t> ids) {
        SamplerParams params = plain(0);
        params.repeat_penalty = 2;
        params.repeat_last_n = window;
        Sampler sampler(params);
        for (const int32_t id : ids) sampler.accept(id);
        return *sampler.sample(logits, 0);
    };
    EXPECT_EQ(greedy_after(2, {0, 2}), 1);
    EXPECT_EQ(greedy_after(2, {0, 2, 3}), 0);
    EXPECT_EQ(greedy_after(2, {2, 3, 4, 0}), 1);
    EXPECT_EQ(greedy_after(0, {0}), 0);
    EXPECT_EQ(greedy_after(-1, {0, 2, 3, 4, 2, 3, 4}), 1);
}

}  // namespace
}  // namespace ft
