// freetoken render: a chat template with contexts to texts, for checks against other template engines.
#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/read_text.h"
#include "cli/json_lines.h"
#include "cli/model_argument.h"
#include "cli/model_name.h"
#include "gguf/gguf.h"
#include "io/file.h"
#include "text/chat_template.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

struct Source {
    std::string text;
    ordered_json tokens = ordered_json::object();  // bos_token and eos_token of a model
};

Expected<std::string> token_text(const Gguf& file, const std::string& key) {
    const Expected<int64_t> id = file.get_int(key, -1);
    if (!id) return id.error();
    if (*id < 0 || !file.has("tokenizer.ggml.tokens")) return std::string();
    const Expected<std::vector<std::string>> tokens = file.get_strings("tokenizer.ggml.tokens");
    if (!tokens) return tokens.error();
    if (*id >= static_cast<int64_t>(tokens->size()))
        return Error{Code::invalid,
                     fmt::format("{} is {}, the vocabulary has {} tokens", key, *id, tokens->size()), ""};
    return (*tokens)[static_cast<size_t>(*id)];
}

Expected<Source> source_of_model(const std::string& path) {
    const Expected<Gguf> file = Gguf::open(path, Gguf::Cut::allow);
    if (!file) return file.error();
    if (!file->has("tokenizer.chat_template"))
        return Error{Code::unsupported, fmt::format("{} has no chat template", path_text(path)),
                     "Name a file with a Jinja template instead."};
    const Expected<std::string> text = file->get_string("tokenizer.chat_template");
    if (!text) return text.error();
    Source source{*text, {}};
    for (const char* name : {"bos", "eos"}) {
        const Expected<std::string> token =
            token_text(*file, fmt::format("tokenizer.ggml.{}_token_id", name));
        if (!token) return token.error().within(path_text(path));
        source.tokens[fmt::format("{}_token", name)] = *token;
    }
    return source;
}

Expected<Source> read_source(const std::string& path) {
    const Expected<std::unique_ptr<File>> file = File::open(path);
    if (!file) return file.error();
    const uint64_t size = (*file)->size();
    std::array<char, 4> magic{};
    if (size >= magic.size()) {
        const Status read = (*file)->read_at(0, std::as_writable_bytes(std::span(magic)));
        if (!read) return read.error();
    }
    if (std::string_view(magic.data(), magic.size()) == "GGUF") return source_of_model(path);
    Expected<std::string> text = read_text(path, k_largest_template_bytes);
    if (!text) return text.error();
    return Source{std::move(*text), {}};
}

Expected<int> run_render(const ModelArgument& model, const std::optional<std::string>& now) {
    const auto word = given_model(model);
    if (!word) return word.error().within("render");
    if (!*word || (*word)->empty())
        return Error{Code::invalid, "render: no template is named",
                     "Give a GGUF model or a file with a Jinja template."};
    RenderOptions options;
    if (now) options.now = parse_local_time(*now);
    if (now && !options.now)
        return Error{Code::invalid, fmt::format("--now {} is no time", printable(*now)),
                     "Write it as 2026-01-31T12:34:56."};
    const Expected<std::string> path = model_path(**word);
    if (!path) return path.error();
    const Expected<Source> source = read_source(*path);
    if (!source) return source.error();
    const Expected<ChatTemplate> parsed = ChatTemplate::parse(source->text);
    if (!parsed) return parsed.error().within(path_text(*path));
    return answer_lines([&](const ordered_json& line) -> Expected<ordered_json> {
        ordered_json context = line;
        for (const auto& [name, token] : source->tokens.items())
            if (!context.contains(name)) context[name] = token;
        const Expected<std::string> text = parsed->render(context, options);
        if (!text) return text.error();
        return ordered_json{{"text", *text}};
    });
}

}  // namespace

Action define_render(CLI::App& app) {
    const auto model = std::make_shared<ModelArgument>();
    const auto now = std::make_shared<std::string>();
    add_model_argument(app, *model,
                       "a file with a Jinja template, or a GGUF file that has one. Standard input has a JSON "
                       "object on each line, the whole context of the template");
    model->argument_option->type_name("TEMPLATE");
    model->flag_option->description("the same as the argument TEMPLATE");
    const CLI::Option* given =
        app.add_option("--now", *now,
                       "the local time that strftime_now says, as 2026-01-31T12:34:56 (default: now)")
            ->type_name("TIME");
    return [model, now, given] {
        return run_render(*model, given->count() > 0 ? std::optional(*now) : std::nullopt);
    };
}

}  // namespace ft::cli
