// What the commands of the store have in common: --config, --set and --print-config, by which model.store is
// found.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/settings.h"

namespace ft::cli {

struct StoreFlags {
    std::string config_path;
    std::vector<std::string> assignments;
    bool print_config = false;
    CLI::Option* config_option = nullptr;
};

std::shared_ptr<StoreFlags> add_store_flags(CLI::App& app);

// Resolves the settings; --print-config prints them and ends with 0, anything else calls `body`.
Expected<int> with_store(const StoreFlags& flags, const std::function<Expected<int>(const Settings&)>& body);

}  // namespace ft::cli
