// How a command is told its model: MODEL as an argument, or -m and --model, which users of other programs
// type by habit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"
#include "config/settings.h"

namespace ft::cli {

// What the parser filled in. It keeps the addresses of the texts.
struct ModelArgument {
    std::string argument, flag;
    CLI::Option *argument_option = nullptr, *flag_option = nullptr;
    // `run --model FILE "prompt"`: beside the flag the argument is something else than a model.
    bool may_be_other = false;

    bool has_argument() const;
    bool has_flag() const;
    // How the user named it, for messages: "MODEL", "--model".
    std::string_view name() const { return has_flag() ? "--model" : "MODEL"; }
};

void add_model_argument(CLI::App& app, ModelArgument& model, const std::string& help);

// The word for the model, "" too; nothing where none was given. An error where there are two.
Expected<std::optional<std::string>> given_model(const ModelArgument& model);

// The same as the strongest source of model.path.
Status add_model_to(Sources& sources, const ModelArgument& model);

// The same for a command that reads no settings and cannot do without: a path that exists, or what looks like
// one. An error names the command.
Expected<std::string> needed_model(const ModelArgument& model, std::string_view command);

}  // namespace ft::cli
