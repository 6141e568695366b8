#include "cli/model_text.h"

#include <filesystem>

#include "base/log.h"
#include "base/read_text.h"
#include "cli/kept_layers.h"
#include "gguf/gguf.h"

namespace ft::cli {

namespace {

// As the user named it: "--template", else with the key.
std::string template_origin(const Settings& settings) {
    const std::string& origin = settings.origin("model.template");
    return origin == "--template" ? origin : fmt::format("model.template ({})", origin);
}

Expected<ChatTemplate> template_of_file(const Settings& settings) {
    const std::string& path = settings.text("model.template");
    Expected<std::string> source = read_text(path, k_largest_template_bytes);
    if (!source) return source.error().within(template_origin(settings));
    Expected<ChatTemplate> parsed = ChatTemplate::parse(*source);
    if (!parsed) return parsed.error().within(fmt::format("template file {}", path));
    return parsed;
}

Expected<ChatTemplate> template_of_text(const Settings& settings) {
    Expected<ChatTemplate> parsed = ChatTemplate::parse(settings.text("model.template_text"));
    if (parsed) return parsed;
    Error error = parsed.error().within(settings.origin("model.template_text"));
    error.remedy = "Mend it, leave it out for the model's own, or give another by --template FILE.";
    return error;
}

Expected<ChatTemplate> load_template(const Settings& settings, const Gguf& file, const std::string& model) {
    if (settings.has("model.template")) return template_of_file(settings);
    if (settings.has("model.template_text")) return template_of_text(settings);
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

Expected<ModelText> load_model_text(const ModelChoice& choice, TemplateUse use) {
    ModelText text;
    text.settings = choice.settings;
    Expected<Gguf> file = Gguf::open(choice.path);
    if (!file) return file.error();
    Expected<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(
        *file, choice.settings.has("model.tokenizer") ? choice.settings.text("model.tokenizer") : "");
    if (!tokenizer) return tokenizer.error();
    text.tokenizer = std::move(*tokenizer);
    const bool there = choice.settings.has("model.template") || choice.settings.has("model.template_text") ||
                       file->has("tokenizer.chat_template");
    if (use == TemplateUse::needed || (use == TemplateUse::where_there_is_one && there)) {
        Expected<ChatTemplate> chat_template = load_template(choice.settings, *file, choice.path);
        if (!chat_template) return chat_template.error();
        text.chat_template = std::move(*chat_template);
    }
    take_advice(text.settings, *file);
    for (const FileNote& note : file_notes(choice.settings, *file, choice.path))
        log_line(note.loud ? "warn" : "model", note.text);
    const Expected<std::string> name = file->get_string("general.name", "");
    text.name = name && !name->empty() ? *name : choice.shown_name();
    Expected<RequestDefaults> defaults = request_defaults(text.settings, *text.tokenizer);
    if (!defaults) return defaults.error();
    text.defaults = std::move(*defaults);
    return text;
}

}  // namespace ft::cli
