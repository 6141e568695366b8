#include "cli/run_model.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/log.h"
#include "cli/load_engine.h"
#include "gguf/gguf.h"

namespace ft::cli {

namespace {

Expected<std::string> read_template_file(const std::string& path) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    if (!failed && size > k_largest_template_bytes)
        return Error{Code::too_large, fmt::format("template file {}: {} bytes, more than 1 MiB", path, size),
                     "Give a Jinja chat template."};
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!failed) text << file.rdbuf();
    if (failed || !file)
        return Error{Code::not_found, fmt::format("template file {} cannot be read", path),
                     "Check the path given to --template."};
    return text.str();
}

Expected<ChatTemplate> load_template(const Settings& settings, const Gguf& file, const std::string& model) {
    if (settings.has("model.template")) {
        const std::string& path = settings.text("model.template");
        Expected<std::string> source = read_template_file(path);
        if (!source) return source.error();
        Expected<ChatTemplate> parsed = ChatTemplate::parse(*source);
        if (!parsed) return parsed.error().within(fmt::format("template file {}", path));
        return parsed;
    }
    if (!file.has("tokenizer.chat_template"))
        return Error{Code::unsupported, fmt::format("{} has no chat template", model),
                     "Use --raw to continue a text, or give a template by --template FILE."};
    Expected<std::string> source = file.get_string("tokenizer.chat_template");
    if (!source) return source.error();
    Expected<ChatTemplate> parsed = ChatTemplate::parse(*source);
    if (!parsed) {
        Error error = parsed.error().within(fmt::format("{}: chat template", model));
        error.remedy = "Give another by --template FILE, or use --raw.";
        return error;
    }
    return parsed;
}

Expected<std::string> advice_text(const Gguf& file, const Key& key) {
    if (key.kind == Kind::integer) {
        const Expected<int64_t> value = file.get_int(key.model_key);
        if (!value) return value.error();
        return fmt::format("{}", *value);
    }
    const Expected<double> value = file.get_float(key.model_key);
    if (!value) return value.error();
    return fmt::format("{}", static_cast<float>(*value));  // as the file's author wrote it, not its double
}

Status advise_from(Settings& settings, const Gguf& file, const Key& key) {
    const Expected<std::string> text = advice_text(file, key);
    if (!text) return text.error();
    return settings.advise(key, *text);
}

}  // namespace

void take_advice(Settings& settings, const Gguf& file) {
    for (const Key& key : keys()) {
        if (!*key.model_key || !file.has(key.model_key)) continue;
        if (const Status taken = advise_from(settings, file, key); !taken)
            log("warn", "the model's own advice is left out: {}", taken.error().what);
    }
}

SamplerParams sampler_params(const Settings& settings) {
    SamplerParams params;
    params.temperature = static_cast<float>(settings.number("inference.temperature"));
    params.top_k = static_cast<int>(settings.integer("inference.top_k"));
    params.top_p = static_cast<float>(settings.number("inference.top_p"));
    params.min_p = static_cast<float>(settings.number("inference.min_p"));
    params.repeat_penalty = static_cast<float>(settings.number("inference.repetition_penalty"));
    params.repeat_last_n = static_cast<int>(settings.integer("inference.repeat_last_n"));
    const bool chosen = settings.has("inference.seed") && settings.integer("inference.seed") >= 0;
    params.seed = chosen ? static_cast<uint64_t>(settings.integer("inference.seed")) : std::random_device()();
    return params;
}

Expected<RunModel> load_run_model(const ModelChoice& choice, bool raw) {
    RunModel model;
    model.path = choice.path;
    model.settings = choice.settings;
    {
        Expected<Gguf> file = Gguf::open(choice.path);
        if (!file) return file.error();
        Expected<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(*file);
        if (!tokenizer) return tokenizer.error();
        model.tokenizer = std::move(*tokenizer);
        if (!raw) {
            Expected<ChatTemplate> chat_template = load_template(choice.settings, *file, choice.path);
            if (!chat_template) return chat_template.error();
            model.chat_template = std::move(*chat_template);
        }
        take_advice(model.settings, *file);
        const Expected<std::string> name = file->get_string("general.name", "");
        model.name = name && !name->empty() ? *name : std::filesystem::path(choice.path).filename().string();
    }
    model.sampling = sampler_params(model.settings);
    Expected<std::unique_ptr<Engine>> engine = load_engine(load_options(choice));
    if (!engine) return engine.error();
    model.engine = std::move(*engine);
    Expected<std::unique_ptr<Session>> session = model.engine->new_session();
    if (!session) return session.error();
    model.sequence = std::make_unique<LiveSequence>(std::move(*session));
    return model;
}

}  // namespace ft::cli
