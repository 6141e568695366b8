#include "sample/penalties.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

std::vector<float> penalised(const PenaltyParams& params, std::initializer_list<int32_t> ids,
                             std::vector<float> logits) {
    Penalties penalties(params);
    for (const int32_t id : ids) penalties.accept(id);
    penalties.apply(logits);
    return logits;
}

using Logits = std::vector<float>;

TEST(Penalties, FrequencyCountsAndPresenceDoesNot) {
    const std::initializer_list<int32_t> ids = {0, 1, 0, 0};
    EXPECT_EQ(penalised({.frequency = 0.5f}, ids, {4, 4, 4}), Logits({2.5f, 3.5f, 4}));
    EXPECT_EQ(penalised({.presence = 0.25f}, ids, {4, 4, 4}), Logits({3.75f, 3.75f, 4}));
    EXPECT_EQ(penalised({.frequency = -0.5f, .presence = -1}, ids, {4, 4, 4}), Logits({6.5f, 5.5f, 4}));
}

// 4 / 2 - 3 * 0.5 - 0.25 and -4 * 2 - 0.5 - 0.25
TEST(Penalties, RepetitionComesFirst) {
    EXPECT_EQ(penalised({.repeat = 2, .frequency = 0.5f, .presence = 0.25f}, {0, 1, 0, 0}, {4, -4, 4}),
              Logits({0.25f, -8.75f, 4}));
}

TEST(Penalties, TheWindowForgetsAndCountsDown) {
    const PenaltyParams params = {.frequency = 1, .last_n = 3};
    EXPECT_EQ(penalised(params, {0, 0, 0}, {9, 9}), Logits({6, 9}));
    EXPECT_EQ(penalised(params, {0, 0, 0, 1}, {9, 9}), Logits({7, 8}));
    EXPECT_EQ(penalised(params, {0, 0, 0, 1, 1, 1}, {9, 9}), Logits({9, 6}));
    EXPECT_EQ(penalised({.frequency = 1, .last_n = -1}, {0, 0, 0, 1, 1, 1}, {9, 9}), Logits({6, 6}));
    EXPECT_EQ(penalised({.frequency = 1, .last_n = 0}, {0, 0, 0, 1, 1, 1}, {9, 9}), Logits({9, 9}));
}

TEST(Penalties, IdsOutsideTheVocabularyAreNothing) {
    EXPECT_EQ(penalised({.frequency = 1}, {-1, 7, 1}, {9, 9}), Logits({9, 8}));
}

}  // namespace
}  // namespace ft
