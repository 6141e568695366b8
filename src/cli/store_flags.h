// What the commands of the store have in common: --config and --set, by which model.store is found.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/settings.h"

namespace ft::cli {

struct StoreFlags {
    std::string config_path;
    std::vector<std::string> assignments;
    CLI::Option* config_option = nullptr;
};

std::shared_ptr<StoreFlags> add_store_flags(CLI::App& app);

Expected<Settings> store_settings(const StoreFlags& flags);

}  // namespace ft::cli
