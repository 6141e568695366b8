// What every command that loads a model has in common: MODEL, --config, --set, --print-config,
// and the flags of the table of settings. A command looks like this:
//
//   Action define_bench(CLI::App& app) {
//       const auto flags = add_model_flags(app, Use::loading);
//       const auto pp = std::make_shared<int64_t>(128);
//       app.add_option("--pp", *pp, "tokens of the prompt");
//       return [=] { return with_model(*flags, [&](const ModelChoice& model) { return bench(model, *pp); });
//       };
//   }
//   Expected<int> bench(const ModelChoice& model, int64_t pp) {
//       auto engine = load_engine(load_options(model));      // cli/load_engine.h; threads and --ctx are in
//       the options …
//
// No flag of a command may be ->required(): `COMMAND MODEL --print-config` works without it. Call
// require_flag() inside.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/model_argument.h"
#include "cli/settings_flags.h"
#include "config/settings.h"

namespace ft::cli {

// What the parser filled in. Lives as long as the command's App.
struct ModelFlags {
    ModelArgument model;
    SettingsFlags settings;
    std::string profile, modelfile;  // of `serve`; "": none
    bool foreign_variables = false;  // OLLAMA_* count
    bool reads_addresses = false;    // http:// and https:// as a model, whose header is enough
    struct Flag {
        const Key* key;
        CLI::Option* option;
        std::string text;
        std::vector<std::string> texts;  // of a list, whose flag may be given often
    };
    std::vector<std::unique_ptr<Flag>> flags;  // unique_ptr: the parser keeps the addresses of the texts
};

std::shared_ptr<ModelFlags> add_model_flags(CLI::App& app, Use use);

// The model that a command works on, and the settings in force.
struct ModelChoice {
    std::string path;
    Settings settings;
    int64_t n_ctx = 0;             // kv_cache.max_context; 0: not chosen
    std::string config_path = "";  // "": none
    std::string name = "";         // of `freetoken list`; "": the model was given as a file
    bool quiet = false;            // nothing is said of settings without effect

    // For headlines: the name, else the file's.
    std::string shown_name() const;
};

// Resolves the settings; --print-config prints them and ends with 0, anything else needs a model and calls
// `body`.
Expected<int> with_model(const ModelFlags& flags,
                         const std::function<Expected<int>(const ModelChoice&)>& body);

// An error that names command and flag when `text` is empty: require_flag(*ids, "logits", "--ids FILE").
Status require_flag(const std::string& text, std::string_view command, std::string_view flag_and_value);

}  // namespace ft::cli
