// The settings in force: each key's value and where it came from. Order of strength: flag, --set,
// environment, file, default; a value that the model's file advises stands just above the default.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/keys.h"

namespace ft {

// Where the user says something. Later members are stronger; within one of them the last word counts.
struct Sources {
    std::optional<std::string> config_path = {};  // --config
    std::vector<std::pair<std::string, std::string>> environment =
        {};                                     // names and values; others are not looked at
    std::vector<std::string> assignments = {};  // --set: "section.key=value"
    struct Flag {
        const Key* key;
        std::string name;  // as the user knows it: "--temp", "MODEL"
        std::string text;
    };
    std::vector<Flag> flags = {};
    // What the user asked for by another name, a profile say: weaker than all of the above, in this order.
    struct Preset {
        std::string origin;  // "--profile chat"
        std::string key;     // "kv_cache.max_context"
        std::string text;
    };
    std::vector<Preset> presets = {};
};

// The FREETOKEN_* variables of this process.
std::vector<std::pair<std::string, std::string>> process_environment();

class Settings {
 public:
    Settings();  // all defaults

    // By "section.key"; the key must exist, be of that kind, and have a value (has() says so where it may
    // not).
    double number(std::string_view name) const;
    int64_t integer(std::string_view name) const;
    bool boolean(std::string_view name) const;
    const std::string& text(std::string_view name) const;        // choice, text, path
    std::vector<std::string> list(std::string_view name) const;  // of one that has no value: none

    bool has(std::string_view name) const;                   // false: none, or auto
    bool given(std::string_view name) const;                 // the user chose a value
    const std::string& origin(std::string_view name) const;  // "default", "--temp", "config.yaml line 3"

    // The user's word for a key. No value: back to the default.
    void set(const Key& key, std::optional<SettingValue> value, std::string origin);
    // The model's advice, as text: taken where the user gave no value. An error names the key and the value.
    Status advise(const Key& key, std::string_view text);

 private:
    struct Entry {
        std::optional<SettingValue> value;
        std::string origin = "default";
        bool given = false;
    };
    const Entry& entry(std::string_view name) const;
    std::vector<Entry> entries_;  // one for each row of keys()

    friend std::string settings_yaml(const Settings& settings);
};

// An error names the key or the nearest one, and the file's line, the flag or the variable.
Expected<Settings> load_settings(const Sources& sources);

// All keys as a configuration file, each with its origin as a comment: --print-config.
std::string settings_yaml(const Settings& settings);

// docs/settings.md
std::string settings_markdown();

}  // namespace ft
