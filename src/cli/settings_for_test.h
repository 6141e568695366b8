// For tests: the settings that some assignments ("section.key=value") give.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace ft::cli {

inline Settings settings_with(const std::vector<std::string>& assignments) {
    Sources sources;
    sources.assignments = assignments;
    auto settings = load_settings(sources);
    EXPECT_TRUE(settings) << (settings ? "" : settings.error().sentence());
    return settings ? std::move(*settings) : Settings();
}

}  // namespace ft::cli
