#include <CLI/CLI.hpp>

#include "cli/store_flags.h"

#include "cli/standard_output.h"

namespace ft::cli {

std::shared_ptr<StoreFlags> add_store_flags(CLI::App& app) {
    auto flags = std::make_shared<StoreFlags>();
    flags->config_option =
        app.add_option("--config", flags->config_path, "settings from a YAML file (docs/settings.md)")
            ->type_name("FILE")
            ->group("Settings");
    app.add_option("--set", flags->assignments, "one setting, such as model.store=FOLDER; may be given often")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group("Settings");
    app.add_flag("--print-config", flags->print_config, "print the settings in force as YAML, and end")
        ->group("Settings");
    return flags;
}

Expected<int> with_store(const StoreFlags& flags, const std::function<Expected<int>(const Settings&)>& body) {
    Sources sources;
    if (flags.config_option->count() > 0) sources.config_path = flags.config_path;
    sources.environment = process_environment();
    sources.assignments = flags.assignments;
    const auto settings = load_settings(sources);
    if (!settings) return settings.error();
    if (!flags.print_config) return body(*settings);
    write_out(settings_yaml(*settings));
    return 0;
}

}  // namespace ft::cli
