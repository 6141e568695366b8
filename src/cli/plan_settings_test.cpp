#include "cli/plan_settings.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cli/settings_for_test.h"
#include "tiers/policy.h"

namespace ft::cli {
namespace {

TEST(PlanSettings, SayWhatTheSettingsSay) {
    const PlanSettings none = plan_settings({"", settings_with({}), 0});
    EXPECT_FALSE(none.ram_budget);
    EXPECT_FALSE(none.vram_budget);
    EXPECT_FALSE(none.gpu_expert_capacity);
    EXPECT_TRUE(none.cpu_offload);
    const PlanSettings all =
        plan_settings({"",
                       settings_with({"memory.ram_budget=1.5", "memory.gpu_vram_budget=5",
                                      "memory.gpu_expert_capacity=4", "memory.cpu_offload=false"}),
                       2048});
    EXPECT_EQ(*all.ram_budget, 3 * k_gib / 2);
    EXPECT_EQ(*all.vram_budget, 5 * k_gib);
    EXPECT_EQ(*all.gpu_expert_capacity, 4);
    EXPECT_FALSE(all.cpu_offload);
    EXPECT_EQ(all.n_ctx, 2048);
}

TEST(PlanSettings, OneAnswerAtATimeIsPlannedWhateverASharedFileSaysForServers) {
    const ModelChoice shared{"", settings_with({"inference.batch_size=3", "kv_cache.pool_tokens=4096"}),
                             1024};
    const PlanSettings run = plan_settings(shared, PlanFor::run), any = plan_settings(shared, PlanFor::any);
    EXPECT_EQ(run.n_sequences, 1);
    EXPECT_EQ(run.pool_tokens, 0);
    EXPECT_EQ(any.n_sequences, 3);
    EXPECT_EQ(any.pool_tokens, 4096);
    EXPECT_EQ(plan_settings({"", settings_with({}), 0}, PlanFor::any).n_sequences, 1);
    EXPECT_EQ(plan_settings({"", settings_with({}), 0}, PlanFor::serve).n_sequences, 4);
}

TEST(PlanSettings, TheSettingTakesEveryPolicy) {
    const Key* key = find_key("memory.expert_policy");
    ASSERT_NE(key, nullptr);
    std::vector<std::string> names;
    for (const PolicyRow& row : policies()) names.emplace_back(row.name);
    EXPECT_EQ(choices(*key), names);
    EXPECT_EQ(std::string(key->fallback), k_default_policy);
}

TEST(PlanSettings, ASwapFolderMustBeAFolder) {
    EXPECT_TRUE(check_memory_settings(settings_with({})));
    EXPECT_TRUE(check_memory_settings(settings_with({"memory.swap_dir=" + testing::TempDir()})));
    const Status missing = check_memory_settings(settings_with({"memory.swap_dir=/no/such/folder"}));
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().what.find("/no/such/folder"), std::string::npos);
    EXPECT_FALSE(
        check_memory_settings(settings_with({"memory.swap_dir=" FREETOKEN_SOURCE_DIR "/README.md"})));
}

TEST(PlanSettings, WhatHasNoEffectIsSaid) {
    EXPECT_TRUE(memory_notes(settings_with({})).empty());
    EXPECT_EQ(
        memory_notes(settings_with({"memory.gpu_vram_budget=5", "memory.gpu_expert_capacity=4"})).size(), 2u);
}

}  // namespace
}  // namespace ft::cli
