#include <CLI/CLI.hpp>

#include "cli/model_flags.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "cli/foreign_flags.h"
#include "cli/help.h"
#include "cli/kept_layers.h"
#include "cli/model_name.h"
#include "cli/modelfile.h"
#include "cli/plan_settings.h"
#include "cli/serving_settings.h"
#include "config/profiles.h"
#include "gguf/gguf.h"
#include "gguf/summary.h"

namespace ft::cli {

namespace {

// Samplers that few need: they stand behind the others in --help.
bool is_rare(std::string_view name) {
    constexpr std::array<std::string_view, 16> k_rare = {
        "typical_p",          "top_n_sigma",        "xtc_probability", "xtc_threshold",
        "frequency_penalty",  "presence_penalty",   "dry_multiplier",  "dry_base",
        "dry_allowed_length", "dry_penalty_last_n", "mirostat",        "dry_sequence_breakers",
        "mirostat_tau",       "mirostat_eta",       "logit_bias",      "repeat_last_n"};
    return std::find(k_rare.begin(), k_rare.end(), name) != k_rare.end();
}

// The title of --help under which a setting's flag stands.
std::string group_of(const Key& key) {
    const std::string_view section = key.section;
    if (section == "inference" && key.use == Use::loading) return "Computing";
    if (section == "inference") return is_rare(key.name) ? "Further samplers" : "Answers";
    if (section == "memory") return "Memory";
    if (section == "server" || key.use == Use::serving) return "Server";
    return "Model";
}

// That there is nothing without the flag needs no words.
std::string flag_help(const Key& key) {
    const std::string fallback = default_text(key);
    if (key.kind == Kind::boolean || fallback == "none") return key.help;
    return fmt::format("{} (default: {})", key.help, fallback);
}

// A flag of a list that is given once may also hold all of it, as JSON.
std::string text_of(const ModelFlags::Flag& flag) {
    if (flag.key->kind != Kind::list) return flag.text;
    return flag.texts.size() == 1 ? flag.texts.front() : list_text(flag.texts);
}

CLI::Option* add_flag_of(CLI::App& app, ModelFlags::Flag& flag) {
    const Key& key = *flag.key;
    if (key.kind == Kind::boolean) return app.add_flag(key.flag, flag.text, flag_help(key));
    if (key.kind != Kind::list)
        return app.add_option(key.flag, flag.text, flag_help(key))->type_name(key.value_name);
    return app.add_option(key.flag, flag.texts, flag_help(key) + "; may be given often")
        ->type_name(key.value_name)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string profiles_help() {
    std::string text = "a named set of settings, weaker than all others:";
    for (const Profile& profile : profiles())
        text += fmt::format("{} {} ({})", &profile == profiles().data() ? "" : ",", profile.name,
                            profile.purpose);
    return text;
}

// Modelfile, profile, and for `serve` the variables of Ollama.
Expected<std::vector<Sources::Preset>> presets_of(const ModelFlags& flags) {
    std::vector<Sources::Preset> presets;
    const auto add = [&](const std::vector<Sources::Preset>& more) {
        presets.insert(presets.end(), more.begin(), more.end());
    };
    if (flags.foreign_variables) {
        const ForeignVariables variables = translate_variables(ollama_environment());
        for (const std::string& note : variables.notes) log_line("flags", note);
        add(variables.presets);
    }
    if (!flags.modelfile.empty()) {
        const Expected<Modelfile> file = read_modelfile(flags.modelfile);
        if (!file) return file.error();
        for (const std::string& note : file->notes) log_line("flags", note);
        add(file->presets);
    }
    if (!flags.profile.empty()) {
        const auto of_profile = profile_presets(flags.profile);
        if (!of_profile) return of_profile.error();
        add(*of_profile);
    }
    return presets;
}

Expected<Sources> sources_of(const ModelFlags& flags) {
    Sources sources = flags.settings.sources();
    Expected<std::vector<Sources::Preset>> presets = presets_of(flags);
    if (!presets) return presets.error();
    sources.presets = std::move(*presets);
    if (const Status named = add_model_to(sources, flags.model); !named) return named.error();
    for (const auto& flag : flags.flags)
        if (flag->option->count() > 0) sources.flags.push_back({flag->key, flag->key->flag, text_of(*flag)});
    return sources;
}

// Where the settings name a model already, the one argument of `run` that is none is likely the question.
Error model_failure(Error error, const ModelFlags& flags, const Settings& settings, Sources sources) {
    if (!flags.model.has_argument() && !flags.model.has_flag())
        return error.within(settings.origin("model.path"));
    if (!flags.model.may_be_other || flags.model.has_flag() || error.code != Code::not_found) return error;
    std::erase_if(sources.flags, [](const auto& flag) { return flag.key == find_key("model.path"); });
    const Expected<Settings> others = load_settings(sources);
    if (!others || !others->has("model.path")) return error;
    error.remedy = fmt::format("The model is named by {} already, so that a question goes by -p: -p \"{}\".",
                               others->origin("model.path"), printable(flags.model.argument));
    return error;
}

Expected<ModelChoice> choice_of(const ModelFlags& flags, const Settings& settings, const Sources& sources) {
    if (const Status s = check_memory_settings(settings); !s) return s.error();
    if (const Status s = check_serving_settings(settings); !s) return s.error();
    if (const Status s = check_kept_layers(settings); !s) return s.error();
    if (!settings.has("model.path"))
        return Error{Code::invalid, "no model is named",
                     "Give the GGUF file as an argument, or as model.path in --config."};
    Expected<NamedModel> model = named_model(settings.text("model.path"), settings);
    if (!model) return model_failure(model.error(), flags, settings, sources);
    if (const Status s = check_no_address(model->path); !s && !flags.reads_addresses) return s.error();
    const int64_t n_ctx = settings.has("kv_cache.max_context") ? settings.integer("kv_cache.max_context") : 0;
    return ModelChoice{std::move(model->path), settings, n_ctx,
                       flags.settings.has_config() ? flags.settings.config_path : "", std::move(model->name)};
}

// --print-config: what it prints must load this model as a file too. A model that is not there, or cannot be
// read, changes nothing.
void fit_to_named_model(Settings& settings) {
    if (!is_wished_context(settings) || !settings.has("model.path")) return;
    const Expected<NamedModel> model = named_model(settings.text("model.path"), settings);
    if (!model) return;
    const Expected<Gguf> file = Gguf::open(model->path);
    if (file) fit_wished_context(settings, summarise(*file).context_length.value_or(0));
}

}  // namespace

std::shared_ptr<ModelFlags> add_model_flags(CLI::App& app, Use use) {
    auto flags = std::make_shared<ModelFlags>();
    add_model_argument(app, flags->model,
                       "the model's GGUF file, of a split model any part; or a name of `freetoken list`");
    const auto add = [&](const Key& key) {
        auto flag = std::make_unique<ModelFlags::Flag>(ModelFlags::Flag{&key, nullptr, "", {}});
        flag->option = add_flag_of(app, *flag)->group(group_of(key));
        flags->flags.push_back(std::move(flag));
    };
    for (const Key& key : keys())
        if (*key.flag && key.use <= use) add(key);
    add_settings_flags(app, flags->settings, "section.key=value");
    flags->foreign_variables = use == Use::serving;
    if (use == Use::serving) {
        app.add_option("--profile", flags->profile, profiles_help())->type_name("NAME")->group("Settings");
        app.add_option("--modelfile", flags->modelfile, "settings from an Ollama Modelfile")
            ->type_name("FILE")
            ->group("Settings");
    }
    return flags;
}

Expected<int> with_model(const ModelFlags& flags,
                         const std::function<Expected<int>(const ModelChoice&)>& body) {
    const Expected<Sources> sources = sources_of(flags);
    if (!sources) return sources.error();
    Expected<Settings> settings = load_settings(*sources);
    if (!settings) return settings.error();
    if (flags.settings.print_config) {
        fit_to_named_model(*settings);
        return print_settings(*settings);
    }
    const Expected<ModelChoice> choice = choice_of(flags, *settings, *sources);
    if (!choice) return choice.error();
    return body(*choice);
}

std::string ModelChoice::shown_name() const {
    return name.empty() ? path.substr(path.find_last_of('/') + 1) : name;
}

Status require_flag(const std::string& text, std::string_view command, std::string_view flag_and_value) {
    if (!text.empty()) return {};
    return Error{Code::invalid, fmt::format("{}: {} is needed", command, flag_and_value), see_help(command)};
}

}  // namespace ft::cli
