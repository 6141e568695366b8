#include "sample/dry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace ft {
namespace {

// What each of ten tokens loses.
std::vector<float> lost(const DryParams& params, const std::vector<int32_t>& ids) {
    Dry dry(params);
    for (const int32_t id : ids) dry.accept(id);
    std::vector<float> logits(10, 0.0f);
    dry.apply(logits);
    for (float& logit : logits) logit = -logit;
    return logits;
}

std::vector<float> only(size_t id, float loss) {
    std::vector<float> losses(10, 0.0f);
    losses[id] = loss;
    return losses;
}

const std::vector<float> k_nothing(10, 0.0f);

TEST(Dry, TheTokenThatWouldGoOnRepeatingLoses) {
    const DryParams params = {.multiplier = 3, .base = 2};
    EXPECT_EQ(lost(params, {1, 2, 4, 9, 1, 2}), only(4, 3));        // 1 2 came before: 3 * 2^0
    EXPECT_EQ(lost(params, {0, 1, 2, 4, 9, 0, 1, 2}), only(4, 6));  // 0 1 2: 3 * 2^1
    EXPECT_EQ(lost(params, {1, 2, 4, 9, 2}), k_nothing);            // 2 alone is allowed
    EXPECT_EQ(lost({.multiplier = 3, .base = 2, .allowed_length = 1}, {1, 2, 4, 9, 2}), only(4, 3));
    EXPECT_EQ(lost({.multiplier = 0}, {1, 2, 4, 9, 1, 2}), k_nothing);
}

TEST(Dry, TheLongestRepetitionCountsAndMayOverlap) {
    const DryParams params = {.multiplier = 1, .base = 2};
    // 1 2 | 4 has length 2, 0 1 2 | 4 has length 3
    EXPECT_EQ(lost(params, {1, 2, 4, 8, 0, 1, 2, 4, 9, 0, 1, 2}), only(4, 2));
    EXPECT_EQ(lost(params, {5, 5, 5, 5}), only(5, 2));  // 5 5 5, twice
    std::vector<float> two = only(4, 1);
    two[6] = 1;
    EXPECT_EQ(lost(params, {1, 2, 4, 9, 1, 2, 6, 8, 1, 2}), two);
}

TEST(Dry, NoSequenceReachesOverABreaker) {
    DryParams params = {.multiplier = 1, .base = 2};
    params.breakers = {3, 7};
    EXPECT_EQ(lost(params, {0, 1, 7, 2, 4, 9, 0, 1, 7, 2}), k_nothing);   // 2 alone after the breaker
    EXPECT_EQ(lost(params, {0, 7, 1, 2, 4, 9, 0, 7, 1, 2}), only(4, 1));  // 1 2
    EXPECT_EQ(lost(params, {1, 2, 4, 9, 1, 2, 7}), k_nothing);            // ends with a breaker
    EXPECT_EQ(lost(params, {1, 2, 7, 9, 1, 2}), k_nothing);               // a breaker itself loses nothing
}

TEST(Dry, LooksBackOnTheWindowAlone) {
    DryParams params = {.multiplier = 1, .base = 2};
    const std::vector<int32_t> ids = {1, 2, 4, 9, 8, 1, 2};
    for (const auto& [window, loss] : std::map<int, float>{{-1, 1}, {7, 1}, {6, 0}, {0, 0}, {100, 1}}) {
        params.last_n = window;
        EXPECT_EQ(lost(params, ids), only(4, loss)) << window;
    }
    params.last_n = 7;
    std::vector<int32_t> longer(50, 0);  // forgotten by steps
    longer.insert(longer.end(), ids.begin(), ids.end());
    EXPECT_EQ(lost(params, longer), only(4, 1));
}

TEST(Dry, NoPenaltyIsInfinite) {
    const float loss = lost({.multiplier = 1, .base = 10}, std::vector<int32_t>(5000, 5))[5];
    EXPECT_GT(loss, 1e29f);
    EXPECT_TRUE(std::isfinite(loss));
}

// The definition written plainly: for every earlier place, how many tokens back it goes on equal.
std::vector<float> by_definition(const DryParams& params, const std::vector<int32_t>& ids) {
    std::map<int32_t, int> longest;
    const auto breaks = [&](int32_t id) {
        return std::find(params.breakers.begin(), params.breakers.end(), id) != params.breakers.end();
    };
    for (size_t end = 1; end < ids.size(); end++) {
        int length = 0;
        for (size_t i = 0; i < end; i++, length++)
            if (ids[end - 1 - i] != ids[ids.size() - 1 - i] || breaks(ids[end - 1 - i])) break;
        if (length >= params.allowed_length && !breaks(ids[end]))
            longest[ids[end]] = std::max(longest[ids[end]], length);
    }
    std::vector<float> losses(10, 0.0f);
    for (const auto& [id, length] : longest)
        losses[static_cast<size_t>(id)] =
            params.multiplier * std::pow(params.base, static_cast<float>(length - params.allowed_length));
    return losses;
}

TEST(Dry, AgreesWithTheDefinitionOnRandomTokens) {
    std::mt19937 random(7);
    int penalised = 0;
    for (int trial = 0; trial < 300; trial++) {
        DryParams params = {.multiplier = 1, .base = 2, .allowed_length = 1 + trial % 3};
        if (trial % 2) params.breakers = {0};
        std::vector<int32_t> ids;
        for (int i = 0; i < 3 + trial % 40; i++) ids.push_back(static_cast<int32_t>(random() % 3));
        const std::vector<float> expected = by_definition(params, ids), got = lost(params, ids);
        for (size_t i = 0; i < expected.size(); i++) EXPECT_FLOAT_EQ(got[i], expected[i]) << trial;
        penalised += expected != k_nothing;
    }
    EXPECT_GT(penalised, 100);
}

}  // namespace
}  // namespace ft
