#include "model/router.h"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(Router, NotANumberStillChoosesDifferentExperts) {
    const Choice choice = choose({NAN, NAN, NAN, NAN}, 3, true);
    EXPECT_NE(choice.ids[0], choice.ids[1]);
    EXPECT_NE(choice.ids[1], choice.ids[2]);
    for (int32_t id : choice.ids) EXPECT_TRUE(id >= 0 && id < 4);
}

}  // namespace
}  // namespace ft
