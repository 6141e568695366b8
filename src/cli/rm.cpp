// freetoken rm: a model of our own store is removed; what other programs keep is left to them.
#include <CLI/CLI.hpp>

#include "base/size_text.h"
#include "base/system_error.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/model_name.h"
#include "cli/settings_flags.h"
#include "cli/standard_output.h"

namespace ft::cli {

namespace {

// The name, or the path of one of its files, as `list` shows them.
Expected<StoredModel> removable_model(const std::string& word, const Settings& settings,
                                      const std::string& store) {
    const std::vector<StoredModel> own = own_models(store);
    for (const StoredModel& model : own)
        for (const std::string& file : model.files)
            if (file == word) return model;
    const auto found = find_model(word, own);
    if (found || found.error().code != Code::not_found) return found;
    const auto all = known_models(settings);
    if (!all) return all.error();
    const auto foreign = find_model(word, *all);
    if (!foreign) return found;
    return Error{Code::invalid,
                 fmt::format("{}: this model belongs to {}, and only models of {} are removed",
                             printable(word), keeper_name(foreign->keeper), path_text(store)),
                 "Remove it with the program that downloaded it."};
}

Expected<int> remove_named(const Settings& settings, const std::string& word) {
    if (Status s = require_flag(word, "rm", "NAME"); !s) return s.error();
    const auto store = store_folder(settings);
    if (!store) return store.error();
    const auto model = removable_model(word, settings, *store);
    if (!model) return model.error();
    if (Status s = remove_model(*store, *model); !s) return s.error();
    write_out(fmt::format("removed {} ({})\n", printable(model->name), size_text(model->bytes)));
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_rm(CLI::App& app) {
    const auto name = std::make_shared<std::string>();
    app.add_option("name", *name, "the model, as `freetoken list` names it")->type_name("NAME");
    const auto flags = add_store_flags(app);
    return [=] {
        return with_settings(*flags, flags->sources(),
                             [&](const Settings& settings) { return remove_named(settings, *name); });
    };
}

}  // namespace ft::cli
