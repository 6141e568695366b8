#include <CLI/CLI.hpp>

#include "cli/settings_flags.h"

#include "base/utf8.h"
#include "cli/standard_output.h"
#include "config/keys.h"

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

namespace {

// A path is whatever names a file, but YAML is text: a path that is none would be read back as another.
Status check_printable(const Settings& settings) {
    for (const Key& key : keys()) {
        const std::string name = dotted(key);
        if (key.kind != Kind::path || !settings.has(name) || is_utf8(settings.text(name))) continue;
        return Error{
            Code::invalid,
            fmt::format("--print-config: {} is a path that is no UTF-8, \"{}\"", name,
                        printable(settings.text(name))),
            "A configuration file cannot hold it: give it by a flag or --set each time, or rename the file."};
    }
    return {};
}

}  // namespace

Expected<int> print_settings(const Settings& settings) {
    if (const Status shown = check_printable(settings); !shown) return shown.error();
    write_out(settings_yaml(settings));
    return 0;
}

Expected<int> with_settings(const SettingsFlags& flags, const Sources& sources,
                            const std::function<Expected<int>(const Settings&)>& body) {
    const auto settings = load_settings(sources);
    if (!settings) return settings.error();
    if (!flags.print_config) return body(*settings);
    return print_settings(*settings);
}

}  // namespace ft::cli
