#include "config/profiles.h"

namespace ft {

namespace {

// First tokens soon: few answers at once, short steps, a context for questions.
constexpr Profile::Value k_chat[] = {{"kv_cache.max_context", "8192"},
                                     {"inference.batch_size", "2"},
                                     {"inference.interactive_slots", "1"},
                                     {"inference.step_ms", "100"}};
// Many tokens by the morning: many answers at once, long steps, memory taken as it is needed.
constexpr Profile::Value k_batch[] = {{"kv_cache.max_context", "4096"},
                                      {"kv_cache.overcommit", "true"},
                                      {"inference.batch_size", "16"},
                                      {"inference.interactive_slots", "1"},
                                      {"inference.step_ms", "1000"}};
// Whole documents: one answer at a time, with keys and values at half their size.
constexpr Profile::Value k_long[] = {{"kv_cache.max_context", "32768"},
                                     {"kv_cache.quant", "int8"},
                                     {"inference.batch_size", "1"},
                                     {"inference.step_ms", "500"}};

constexpr Profile k_profiles[] = {
    {"chat", "people who wait for the first word", k_chat},
    {"batch", "work that only has to be done in time", k_batch},
    {"long", "long documents, one after the other", k_long},
};

}  // namespace

std::span<const Profile> profiles() { return k_profiles; }

Expected<std::vector<Sources::Preset>> profile_presets(std::string_view name) {
    std::string names;
    for (const Profile& profile : k_profiles) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", profile.name);
        if (profile.name != name) continue;
        std::vector<Sources::Preset> presets;
        for (const Profile::Value& value : profile.values)
            presets.push_back({fmt::format("--profile {}", name), value.key, value.text});
        return presets;
    }
    return Error{Code::invalid, fmt::format("--profile {} is none", printable(name)),
                 fmt::format("There are {}.", names)};
}

}  // namespace ft
