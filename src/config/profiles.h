// Named sets of settings for one purpose each: --profile chat. Weaker than anything else the user says.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace ft {

struct Profile {
    const char* name;
    const char* purpose;
    struct Value {
        const char* key;
        const char* text;
    };
    std::span<const Value> values;
};

std::span<const Profile> profiles();

// An error names the profiles that there are.
Expected<std::vector<Sources::Preset>> profile_presets(std::string_view name);

}  // namespace ft
