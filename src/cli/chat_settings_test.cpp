#include "cli/chat_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {
namespace {

using ::testing::HasSubstr;

std::string setting_named(std::string_view name) {
    const Expected<const Key*> key = chat_setting(name);
    return key ? dotted(**key) : key.error().sentence();
}

TEST(ChatSettings, AreFoundByEveryNameThatUsersKnow) {
    for (const char* name : {"temperature", "temp", "--temp", "Temperature"})
        EXPECT_EQ(setting_named(name), "inference.temperature") << name;
    EXPECT_EQ(setting_named("top-p"), "inference.top_p");
    EXPECT_EQ(setting_named("repeat_penalty"), "inference.repetition_penalty");
    EXPECT_EQ(setting_named("num_predict"), "inference.max_tokens");
    EXPECT_EQ(setting_named("seed"), "inference.seed");
    EXPECT_EQ(setting_named("stop"), "inference.stop");
}

TEST(ChatSettings, WhatALoadedModelKeepsIsSaid) {
    for (const char* name : {"num_ctx", "ctx", "max_context"})
        EXPECT_THAT(setting_named(name), HasSubstr("Start `freetoken run` with --ctx N.")) << name;
    EXPECT_THAT(setting_named("quant_k"), HasSubstr("with --set kv_cache.quant_k=VALUE."));
    EXPECT_THAT(setting_named("threads"), HasSubstr("inference.threads stays what it is"));
    EXPECT_THAT(setting_named("temperatur"), HasSubstr("Did you mean temperature?"));
    EXPECT_THAT(setting_named("wordwrap"), HasSubstr("there is no setting wordwrap"));
}

TEST(ChatSettings, AreListedWithTheirValues) {
    const Expected<Settings> settings =
        load_settings({.assignments = {"inference.temperature=0.25", "inference.stop=END"}});
    ASSERT_TRUE(settings);
    const std::string lines = chat_setting_lines(*settings);
    EXPECT_THAT(lines, HasSubstr("temperature            0.25\n"));
    EXPECT_THAT(lines, HasSubstr("seed                   auto"));
    EXPECT_THAT(lines, HasSubstr("stop                   [\"END\"]"));
    EXPECT_THAT(lines, ::testing::Not(HasSubstr("system")));
    EXPECT_EQ(chat_setting_line(*settings, **chat_setting("temp")), "temperature: 0.25");
}

TEST(ChatSettings, Thinking) {
    const auto with = [](const std::string& think) {
        Expected<Settings> settings = load_settings({.assignments = {"inference.think=" + think}});
        check(static_cast<bool>(settings), "settings of the test");
        return std::move(*settings);
    };
    EXPECT_EQ(asks_for_thinking(with("auto")), std::nullopt);
    EXPECT_EQ(asks_for_thinking(with("off")), std::optional(false));
    EXPECT_EQ(asks_for_thinking(with("hide")), std::optional(true));
    EXPECT_TRUE(shows_thinking(with("auto"), true));
    EXPECT_FALSE(shows_thinking(with("auto"), false));
    EXPECT_TRUE(shows_thinking(with("on"), false));
    EXPECT_FALSE(shows_thinking(with("hide"), true));
}

}  // namespace
}  // namespace ft::cli
