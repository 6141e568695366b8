#include "model/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ft {
namespace {

struct Choice {
    std::vector<int32_t> ids;
    std::vector<float> weights;
};

Choice choose(std::vector<float> logits, int top_k, bool renormalise, float scale = 1.0f) {
    Choice choice{std::vector<int32_t>(top_k), std::vector<float>(top_k)};
    std::vector<float> probs(logits.size());
    route(**find_kernels("scalar"), logits, renormalise, scale, probs, choice.ids, choice.weights);
    return choice;
}

TEST(Router, RanksByFallingProbabilityAndTiesKeepTheLowerId) {
    EXPECT_EQ(choose({1, 3, 2, 3, 0}, 3, true).ids, (std::vector<int32_t>{1, 3, 2}));
    EXPECT_EQ(choose({5, 5, 5}, 2, true).ids, (std::vector<int32_t>{0, 1}));
}

TEST(Router, WeightsAreProbabilitiesAndSumToOneWhenRenormalised) {
    const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f)};
    const Choice plain = choose(logits, 2, false);
    EXPECT_NEAR(plain.weights[0], 5.0 / 8, 1e-6);
    EXPECT_NEAR(plain.weights[1], 2.0 / 8, 1e-6);
    const Choice summed = choose(logits, 2, true, 2.5f);
    EXPECT_NEAR(summed.weights[0], 2.5 * 5.0 / 7, 1e-6);
    EXPECT_NEAR(summed.weights[1], 2.5 * 2.0 / 7, 1e-6);
}

// The definition, written plainly: rank after rank the largest that is left, the lowest id of equals.
std::vector<int32_t> ranked(const std::vector<float>& probs, size_t top_k) {
    std::vector<int32_t> ids;
    while (ids.size() < top_k) {
        int32_t best = -1;
        for (int32_t id = 0; id < static_cast<int32_t>(probs.size()); id++)
            if ((best < 0 || probs[id] > probs[best]) && std::find(ids.begin(), ids.end(), id) == ids.end())
                best = id;
        ids.push_back(best);
    }
    return ids;
}

TEST(Router, ChoosesWhatTheDefinitionChooses) {
    std::mt19937 random(5);
    for (const size_t n : {1u, 2u, 3u, 8u, 60u, 129u})
        for (size_t top_k = 1; top_k <= n; top_k += 1 + n / 8)
            for (int round = 0; round < 8; round++) {
                std::vector<float> logits(n), probs(n);
                for (float& logit : logits) logit = static_cast<float>(random() % 9) / 2;  // many ties
                const Kernels& kernels = **find_kernels("scalar");
                kernels.softmax(logits.data(), static_cast<int64_t>(n), probs.data());
                const Choice choice = choose(logits, static_cast<int>(top_k), false);
                ASSERT_EQ(choice.ids, ranked(probs, top_k)) << n << " " << top_k;
                for (size_t i = 0; i < top_k; i++) ASSERT_EQ(choice.weights[i], probs[choice.ids[i]]);
            }
}

TEST(Router, AllOfManyExpertsAreRankedWithoutComparingEachWithEach) {
    std::vector<float> logits(65536);
    for (size_t i = 0; i < logits.size(); i++) logits[i] = static_cast<float>(i * 7919 % 65536) / 65536;
    const Choice choice = choose(logits, 65536, true);
    EXPECT_EQ(logits[choice.ids.front()], 65535.0f / 65536);
    EXPECT_EQ(choice.ids.back(), 0);
}

TEST(Router, NotANumberStillChoosesDifferentExperts) {
    const Choice choice = choose({NAN, NAN, NAN, NAN}, 3, true);
    EXPECT_NE(choice.ids[0], choice.ids[1]);
    EXPECT_NE(choice.ids[1], choice.ids[2]);
    for (int32_t id : choice.ids) EXPECT_TRUE(id >= 0 && id < 4);
}

}  // namespace
}  // namespace ft
