#include "config/profiles.h"

#include <gtest/gtest.h>

namespace ft {

namespace {

TEST(Profiles, EachIsAllowedAndWeakerThanWhatTheUserSays) {
    for (const Profile& profile : profiles()) {
        const auto presets = profile_presets(profile.name);
        ASSERT_TRUE(presets) << profile.name;
        const auto settings = load_settings({.presets = *presets});
        ASSERT_TRUE(settings) << settings.error().sentence();
        EXPECT_TRUE(settings->given(profile.values.front().key));
        EXPECT_EQ(settings->origin("inference.batch_size"), fmt::format("--profile {}", profile.name));
        const auto said = load_settings({.assignments = {"inference.batch_size=3"}, .presets = *presets});
        ASSERT_TRUE(said);
        EXPECT_EQ(said->integer("inference.batch_size"), 3);
    }
}

TEST(Profiles, AnUnknownOneIsRefusedWithTheNames) {
    const auto presets = profile_presets("fastest");
    ASSERT_FALSE(presets);
    const std::string said = presets.error().sentence();
    for (const char* word : {"fastest", "chat", "batch", "long"})
        EXPECT_NE(said.find(word), std::string::npos);
}

}  // namespace

}  // namespace ft
