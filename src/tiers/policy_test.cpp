#include "tiers/policy.h"

#include <gtest/gtest.h>

#include "tiers/half_life.h"

namespace ft {

namespace {

const auto k_any = [](int) { return true; };

std::unique_ptr<EvictionPolicy> make(std::string_view name, const PolicyShape& shape,
                                     PolicyOptions options = {}) {
    const PolicyRow* row = find_policy(name);
    EXPECT_NE(row, nullptr) << name;
    return row->make(shape, options);
}

TEST(Policy, LeastRecentlyUsedGoesFirstWhateverItsLayer) {
    const auto policy = make("lru", {.n_layers = 2, .n_experts = 4, .n_slots = 4});
    policy->used(0, 1, 0), policy->placed(0, 1, 0);
    policy->used(1, 1, 0), policy->placed(1, 1, 1);
    policy->used(0, 2, 1), policy->placed(0, 2, 2);
    policy->used(0, 1, 2);
    EXPECT_EQ(policy->victim(0, k_any), 1);
    EXPECT_EQ(policy->victim(0, [](int slot) { return slot != 1; }), 2);
    EXPECT_EQ(policy->victim(0, [](int) { return false; }), -1);
    policy->dropped(1);
    EXPECT_EQ(policy->victim(1, k_any), 2);
    EXPECT_EQ(policy->uses(0, 1), 2u);
}

TEST(Policy, AVictimIsOfTheClassThatIsNeeded) {
    for (const PolicyRow& row : policies()) {
        const auto policy = row.make(
            {.n_layers = 3, .n_experts = 2, .n_slots = 3, .class_of_layer = {0, 1, 0}, .profile = {}}, {});
        for (int layer = 0; layer < 2; ++layer)
            policy->used(layer, 0, layer), policy->placed(layer, 0, layer);
        EXPECT_EQ(policy->victim(2, k_any), 0) << row.name;
        EXPECT_EQ(policy->victim(1, k_any), 1) << row.name;
        policy->dropped(0);
        EXPECT_EQ(policy->victim(2, k_any), -1) << row.name;
    }
}

TEST(Policy, CountsDecayByTheHalfLife) {
    for (const int64_t age : {30, 34}) {
        const auto policy = make("lfu", {.n_layers = 1, .n_experts = 3, .n_slots = 2}, {.learns = false});
        for (int i = 0; i < 4; ++i) policy->used(0, 0, 0);  // 4 uses, worth one after two half-lives
        policy->used(0, 1, age);
        policy->placed(0, 0, 0), policy->placed(0, 1, 1);
        EXPECT_EQ(policy->victim(0, k_any), age < 32 ? 1 : 0);
    }
}

TEST(Policy, SmallCachesRememberLonger) {
    EXPECT_EQ(half_life_for(1000, 100), 16);
    EXPECT_EQ(half_life_for(50, 100), 16);
    EXPECT_EQ(half_life_for(40, 100), 20);
    EXPECT_EQ(half_life_for(25, 100), 32);
    EXPECT_EQ(half_life_for(0, 100), 32);
}

TEST(Policy, TheGuardKeepsACheckedExpertOutAndCanBeSwitchedOff) {
    const PolicyShape shape{.n_layers = 1, .n_experts = 2, .n_slots = 1};
    for (const bool guard : {true, false}) {
        const auto policy = make("lfu", shape, {.half_life = 16, .guard = guard});
        policy->used(0, 0, 0), policy->used(0, 0, 1), policy->placed(0, 0, 0);
        policy->used(0, 1, 2);
        EXPECT_EQ(policy->admits(0, 1, 0), !guard);
        policy->used(0, 1, 3);
        EXPECT_TRUE(policy->admits(0, 1, 0));
    }
}

TEST(Policy, TokensOfALongStepCountAsIfTheyHadComeOneByOne) {
    const PolicyShape shape{.n_layers = 2, .n_experts = 3, .n_slots = 4};
    const auto together = make("lfu", shape), one_by_one = make("lfu", shape);
    const std::vector<std::vector<int>> tokens{{0, 1}, {1, 2}, {2, 0}, {2, 1}};
    for (int layer = 0; layer < 2; ++layer)
        for (size_t t = 0; t < tokens.size(); ++t)
            for (int expert : tokens[t]) together->used(layer, expert, static_cast<int64_t>(t));
    for (size_t t = 0; t < tokens.size(); ++t)
        for (int layer = 0; layer < 2; ++layer)
            for (int expert : tokens[t]) one_by_one->used(layer, expert, static_cast<int64_t>(t));
    for (auto* policy : {together.get(), one_by_one.get()}) {
        for (int layer = 0; layer < 2; ++layer)
            for (int expert = 0; expert < 2; ++expert) policy->placed(layer, expert, 2 * layer + expert);
        EXPECT_EQ(policy->least_of(1), 2) << "expert 0 was used least lately";
        EXPECT_TRUE(policy->admits(1, 2, 2));
        EXPECT_TRUE(policy->admits(1, 2, 3));
    }
}

TEST(Policy, ALayerNamesItsOwnLeastWhateverTheOthersHave) {
    for (const PolicyRow& row : policies()) {
        const auto policy = make(row.name, {.n_layers = 3, .n_experts = 2, .n_slots = 4});
        policy->used(1, 0, 5), policy->used(1, 1, 6), policy->used(1, 1, 7);
        policy->placed(0, 0, 0), policy->placed(1, 0, 1), policy->placed(1, 1, 2);
        EXPECT_EQ(policy->least_of(1), 1) << row.name;
        EXPECT_EQ(policy->n_resident(1), 2) << row.name;
        policy->dropped(1);
        EXPECT_EQ(policy->least_of(1), 2) << row.name;
        EXPECT_EQ(policy->least_of(2), -1) << row.name;
        EXPECT_EQ(policy->n_resident(2), 0) << row.name;
    }
}

TEST(Policy, TiesGoToTheLayerWhoseNextVisitIsFarthest) {
    const auto policy = make("lfu", {.n_layers = 3, .n_experts = 2, .n_slots = 3});
    for (int layer = 0; layer < 3; ++layer) policy->used(layer, 0, 0), policy->placed(layer, 0, layer);
    EXPECT_EQ(policy->victim(1, k_any), 1);  // layer 1 is visited now: 2 and 0 come before it returns
    EXPECT_EQ(policy->victim(1, [](int slot) { return slot != 1; }), 0);
}

TEST(Policy, AnOrderOutlivesTheRangeOfTheCounts) {
    for (const bool learns : {false, true}) {
        const auto policy =
            make("lfu", {.n_layers = 1, .n_experts = 3, .n_slots = 2}, {.half_life = 1, .learns = learns});
        policy->placed(0, 0, 0), policy->placed(0, 1, 1);
        for (int64_t time = 0; time < 10'000; ++time) policy->used(0, static_cast<int>(time % 2), time);
        EXPECT_EQ(policy->victim(0, k_any), 0);
        policy->used(0, 0, 10'000);
        EXPECT_EQ(policy->victim(0, k_any), 1);
    }
}

}  // namespace

}  // namespace ft
