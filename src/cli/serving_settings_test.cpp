#include "cli/serving_settings.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cli/settings_for_test.h"
#include "config/profiles.h"

namespace ft::cli {
namespace {

TEST(ServingSettings, Defaults) {
    const KvOptions kv = kv_options(settings_with({}));
    EXPECT_EQ(kv.types.k, KvType::f16);
    EXPECT_EQ(kv.types.v, KvType::f16);
    EXPECT_EQ(kv.sliding_window, 0);
    EXPECT_EQ(kv.pool_tokens, 0);
    EXPECT_FALSE(kv.auto_evict || kv.overcommit || kv.prefix_cache_bytes);
    const StepOptions one = step_options(settings_with({}), 1), four = step_options(settings_with({}), 4);
    EXPECT_EQ(one.batch_size, 1);
    EXPECT_EQ(one.interactive_slots, 0);
    EXPECT_EQ(four.batch_size, 4);
    EXPECT_EQ(four.interactive_slots, 2);
    EXPECT_EQ(four.step_ms, 250);
    EXPECT_TRUE(serving_notes(settings_with({})).empty());
}

TEST(ServingSettings, TypesOfKeysAndValues) {
    const auto types = [](const std::vector<std::string>& assignments) {
        const KvOptions kv = kv_options(settings_with(assignments));
        return std::pair(kv.types.k, kv.types.v);
    };
    for (const char* word : {"int8", "q8_0", "fp8"})
        EXPECT_EQ(types({fmt::format("kv_cache.quant={}", word)}), std::pair(KvType::q8_0, KvType::q8_0));
    for (const char* word : {"int4", "q4_0"})
        EXPECT_EQ(types({fmt::format("kv_cache.quant={}", word)}), std::pair(KvType::q4_0, KvType::q4_0));
    EXPECT_EQ(types({"kv_cache.quant=int4", "kv_cache.quant_k=int8"}), std::pair(KvType::q8_0, KvType::q4_0));
    EXPECT_EQ(types({"kv_cache.quant_v=int8", "kv_cache.quant_k=auto"}),
              std::pair(KvType::f16, KvType::q8_0));
}

TEST(ServingSettings, WhatTheUserShouldKnowIsSaid) {
    const auto fp8 = serving_notes(settings_with({"kv_cache.quant=fp8"}));
    ASSERT_EQ(fp8.size(), 1u);
    EXPECT_NE(fp8[0].find("fp8 is taken as int8"), std::string::npos);
    for (const char* lossy : {"kv_cache.sliding_window=64", "kv_cache.auto_evict=true"}) {
        const auto notes = serving_notes(settings_with({lossy}));
        ASSERT_EQ(notes.size(), 1u);
        EXPECT_NE(notes[0].find("lossy"), std::string::npos);
    }
    EXPECT_EQ(serving_notes(settings_with({"inference.flash_attn=false"})).size(), 1u);
    const auto sinks = serving_notes(settings_with({"kv_cache.sink_tokens=8"}));
    ASSERT_EQ(sinks.size(), 1u);
    EXPECT_NE(sinks[0].find("kv_cache.sink_tokens changes nothing"), std::string::npos);
    EXPECT_TRUE(serving_notes(settings_with({"kv_cache.sink_tokens=4"})).empty()) << "the default";
    EXPECT_EQ(serving_notes(settings_with({"kv_cache.sink_tokens=8", "kv_cache.sliding_window=64"})).size(),
              1u);
    const auto parked = serving_notes(settings_with({"kv_cache.park_dir=" + testing::TempDir()}));
    ASSERT_EQ(parked.size(), 1u);
    EXPECT_NE(parked[0].find("kv_cache.overcommit"), std::string::npos);
    EXPECT_TRUE(
        serving_notes(settings_with({"kv_cache.park_dir=" + testing::TempDir(), "kv_cache.overcommit=true"}))
            .empty());
    EXPECT_TRUE(serving_notes(settings_with({"inference.flash_attn=true"})).empty());
}

TEST(ServingSettings, TheContextOfAProfileIsNoMoreThanTheModels) {
    const auto long_profile = [] {
        const auto presets = profile_presets("long");
        return *load_settings({.presets = *presets});
    };
    Settings settings = long_profile();
    EXPECT_EQ(fit_wished_context(settings, 0), "");
    EXPECT_EQ(fit_wished_context(settings, 32768), "");
    EXPECT_EQ(settings.integer("kv_cache.max_context"), 32768);
    EXPECT_NE(fit_wished_context(settings, 1024).find("asks for a context of 32768"), std::string::npos);
    EXPECT_EQ(settings.integer("kv_cache.max_context"), 1024);
    EXPECT_EQ(settings.origin("kv_cache.max_context"),
              "--profile long asks for 32768, the model was made for this");
    Settings own = settings_with({"kv_cache.max_context=4096"});
    EXPECT_EQ(fit_wished_context(own, 1024), "") << "what the user named is refused, not cut";
    EXPECT_EQ(own.integer("kv_cache.max_context"), 4096);
}

TEST(ServingSettings, WhatCannotWorkIsRefused) {
    const auto refusal = [](const std::vector<std::string>& assignments) {
        const Status s = check_serving_settings(settings_with(assignments));
        return s ? std::string() : s.error().what;
    };
    EXPECT_EQ(refusal({}), "");
    EXPECT_EQ(refusal({"inference.batch_size=1"}), "") << "the slots follow";
    EXPECT_EQ(refusal({"inference.batch_size=3", "inference.interactive_slots=2"}), "");
    EXPECT_NE(refusal({"inference.batch_size=2", "inference.interactive_slots=2"}).find("batch_size (2)"),
              std::string::npos);
    EXPECT_EQ(refusal({"kv_cache.pool_tokens=1024", "kv_cache.max_context=1024"}), "");
    EXPECT_NE(refusal({"kv_cache.pool_tokens=1023", "kv_cache.max_context=1024"}).find("1023"),
              std::string::npos);
    EXPECT_EQ(refusal({"kv_cache.park_dir=" + testing::TempDir()}), "");
    EXPECT_NE(refusal({"kv_cache.park_dir=/proc"}).find("/proc: no file can be made there"),
              std::string::npos);
    EXPECT_NE(refusal({"kv_cache.park_dir=/no/such/folder"}).find("/no/such/folder"), std::string::npos);
    EXPECT_NE(refusal({"kv_cache.park_dir=" FREETOKEN_SOURCE_DIR "/README.md"}).find("no folder"),
              std::string::npos);
}

}  // namespace
}  // namespace ft::cli
