#include <CLI/CLI.hpp>

#include "cli/settings_flags.h"

#include "cli/standard_output.h"

namespace ft::cli {

bool SettingsFlags::has_config() const { return config_option->count() > 0; }

Sources SettingsFlags::sources() const {
    Sources sources;
    if (has_config()) sources.config_path = config_path;
    sources.environment = process_environment();
    sources.assignments = assignments;
    return sources;
}

void add_settings_flags(CLI::App& app, SettingsFlags& flags, const std::string& example) {
    constexpr const char* k_group = "Settings";
    flags.config_option =
        app.add_option("--config", flags.config_path, "settings from a YAML file (docs/settings.md)")
            ->type_name("FILE")
            ->group(k_group);
    app.add_option("--set", flags.assignments, fmt::format("one setting, {}; may be given often", example))
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(k_group);
    app.add_flag("--print-config", flags.print_config, "print the settings in force as YAML, and end")
        ->group(k_group);
}

std::shared_ptr<SettingsFlags> add_store_flags(CLI::App& app) {
    auto flags = std::make_shared<SettingsFlags>();
    add_settings_flags(app, *flags, "such as model.store=FOLDER");
    return flags;
}

Expected<int> with_settings(const SettingsFlags& flags, const Sources& sources,
                            const std::function<Expected<int>(const Settings&)>& body) {
    const auto settings = load_settings(sources);
    if (!settings) return settings.error();
    if (!flags.print_config) return body(*settings);
    write_out(settings_yaml(*settings));
    return 0;
}

}  // namespace ft::cli
