#include "server/model_lists.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/utc_time.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view k_latest = ":latest";
constexpr std::string_view k_prefixes[] = {"ollama:", "lm-studio:", "llama.cpp:", "huggingface:"};
// Whose API this is: clients look at it before they use what newer servers have, and some want 0.6.
constexpr const char* k_ollama_version = "0.12.11";
// A model that is not put away: Ollama's clients want a time.
constexpr const char* k_never_expires = "2318-01-01T00:00:00Z";

// Without what may stand before or behind it.
std::string_view bare(std::string_view name) {
    if (name.ends_with(k_latest)) name.remove_suffix(k_latest.size());
    for (const std::string_view prefix : k_prefixes)
        if (name.starts_with(prefix)) return name.substr(prefix.size());
    return name;
}

Json details_json(const ServedModelInfo& model) {
    return {{"parent_model", ""},
            {"format", "gguf"},
            {"family", model.architecture},
            {"families", Json::array({model.architecture})},
            {"parameter_size", parameter_size(model.parameters)},
            {"quantization_level", model.quantisation}};
}

Json ollama_entry(const ServedModelInfo& model) {
    return {{"name", model.name},  {"model", model.name},    {"modified_at", utc_time(model.created)},
            {"size", model.bytes}, {"digest", model.digest}, {"details", details_json(model)}};
}

Json capabilities(const ServedModelInfo& model) {
    Json list = Json::array({"completion"});
    if (model.tools) list.push_back("tools");
    if (model.thinking) list.push_back("thinking");
    return list;
}

}  // namespace

bool is_served_model(std::string_view name, std::string_view served) {
    name = bare(name);
    served = bare(served);
    return name == served || (!name.empty() && served.substr(served.rfind('/') + 1) == name);
}

Json openai_model(const ServedModelInfo& model) {
    return {{"id", model.name},
            {"object", "model"},
            {"created", model.created},
            {"owned_by", "freetoken"},
            {"max_model_len", model.context},
            {"meta",
             {{"n_vocab", model.vocabulary},
              {"n_ctx", model.context},
              {"n_ctx_train", model.trained_context},
              {"n_embd", model.embedding_length},
              {"n_params", model.parameters},
              {"size", model.bytes}}}};
}

Json openai_models(const ServedModelInfo& model) {
    return {{"object", "list"}, {"data", Json::array({openai_model(model)})}};
}

Json anthropic_model(const ServedModelInfo& model) {
    return {{"type", "model"},
            {"id", model.name},
            {"display_name", model.name},
            {"created_at", utc_time(model.created)},
            {"max_input_tokens", model.context}};
}

Json anthropic_models(const ServedModelInfo& model) {
    return {{"data", Json::array({anthropic_model(model)})},
            {"has_more", false},
            {"first_id", model.name},
            {"last_id", model.name}};
}

Json ollama_tags(const ServedModelInfo& model) { return {{"models", Json::array({ollama_entry(model)})}}; }

Json ollama_show(const ServedModelInfo& model) {
    Json info = {{"general.architecture", model.architecture}, {"general.parameter_count", model.parameters}};
    info[model.architecture + ".context_length"] = model.context;
    info[model.architecture + ".embedding_length"] = model.embedding_length;
    return {{"modelfile", fmt::format("FROM {}\n", model.name)},
            {"parameters", fmt::format("num_ctx {}", model.context)},
            {"template", model.template_text},
            {"details", details_json(model)},
            {"model_info", std::move(info)},
            {"capabilities", capabilities(model)},
            {"modified_at", utc_time(model.created)}};
}

Json ollama_ps(const ServedModelInfo& model, int64_t vram_bytes) {
    Json entry = ollama_entry(model);
    entry.erase("modified_at");
    entry["expires_at"] = k_never_expires;
    entry["size_vram"] = vram_bytes;
    entry["context_length"] = model.context;
    return {{"models", Json::array({std::move(entry)})}};
}

Json ollama_version(std::string_view version) {
    return {{"version", k_ollama_version}, {"freetoken", version}};
}

std::string parameter_size(int64_t parameters) {
    const auto n = static_cast<double>(parameters);
    if (n >= 1e9) return fmt::format("{:.1f}B", n / 1e9);
    if (n >= 1e6) return fmt::format("{:.0f}M", n / 1e6);
    return fmt::format("{:.0f}K", n / 1e3);
}

}  // namespace ft
