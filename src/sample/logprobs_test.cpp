#include "sample/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ft {
namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

TokenLogprobs logprobs(const std::vector<float>& logits, int32_t chosen, size_t n_top) {
    TokenLogprobs out;
    token_logprobs(logits, chosen, n_top, out);
    return out;
}

std::vector<int32_t> ids_of(const TokenLogprobs& logprobs) {
    std::vector<int32_t> out;
    for (const TokenLogprob& token : logprobs.top) out.push_back(token.id);
    return out;
}

// e^0 : e^1 : e^2 = 1 : 2.718 : 7.389, together 11.107
TEST(Logprobs, AreTheLogarithmsOfTheSoftmax) {
    const TokenLogprobs got = logprobs({1, 0, 2}, 1, 2);
    EXPECT_EQ(got.chosen.id, 1);
    EXPECT_NEAR(got.chosen.logprob, std::log(1 / 11.10733793), 1e-8);
    ASSERT_EQ(ids_of(got), (std::vector<int32_t>{2, 0}));
    EXPECT_NEAR(got.top[0].logprob, std::log(7.389056099 / 11.10733793), 1e-8);
    EXPECT_NEAR(got.top[1].logprob, std::log(2.718281828 / 11.10733793), 1e-8);
}

TEST(Logprobs, EqualTokensComeByRisingId) {
    const TokenLogprobs got = logprobs({5, 7, 7, 5, 7}, 0, 4);
    EXPECT_EQ(ids_of(got), (std::vector<int32_t>{1, 2, 4, 0}));
    EXPECT_EQ(got.top[0].logprob, got.top[2].logprob);
}

TEST(Logprobs, NoneAndMoreThanThereAre) {
    EXPECT_TRUE(logprobs({1, 2}, 0, 0).top.empty());
    EXPECT_EQ(ids_of(logprobs({1, 2}, 0, 20)), (std::vector<int32_t>{1, 0}));
}

TEST(Logprobs, OddLogitsCannotCome) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const TokenLogprobs got = logprobs({k_nan, 3, -infinity}, 0, 3);
    EXPECT_EQ(got.top[0].id, 1);
    EXPECT_EQ(got.top[0].logprob, 0.0);
    EXPECT_EQ(got.chosen.logprob, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(logprobs({0, infinity}, 1, 1).chosen.logprob, 0.0);
}

TEST(Logprobs, AreReplacedNotAdded) {
    TokenLogprobs out;
    token_logprobs(std::vector<float>{1, 2, 3}, 0, 3, out);
    token_logprobs(std::vector<float>{3, 2, 1}, 0, 2, out);
    EXPECT_EQ(ids_of(out), (std::vector<int32_t>{0, 1}));
}

}  // namespace
}  // namespace ft
