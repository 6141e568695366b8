// --config, --set and --print-config, which come together on every command that has settings:
// add_model_flags() adds them for those that load a model (cli/model_flags.h), add_settings_flags() for the
// others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/settings.h"

namespace ft::cli {

// What the parser filled in. It keeps the addresses of the texts.
struct SettingsFlags {
    std::string config_path;
    std::vector<std::string> assignments;
    bool print_config = false;
    CLI::Option* config_option = nullptr;

    bool has_config() const;
    Sources sources() const;  // the file, this process's variables, --set
};

// example: of --set, "section.key=value".
void add_settings_flags(CLI::App& app, SettingsFlags& flags, const std::string& example);
std::shared_ptr<SettingsFlags> add_store_flags(CLI::App& app);  // of the commands of the store

// As --print-config shows them. An error names a path that is no UTF-8, which YAML cannot hold.
Expected<int> print_settings(const Settings& settings);

// Resolves the settings; --print-config prints them and ends with 0, anything else calls `body`.
Expected<int> with_settings(const SettingsFlags& flags, const Sources& sources,
                            const std::function<Expected<int>(const Settings&)>& body);

}  // namespace ft::cli
