#include "server/routes.h"

#include <algorithm>
#include <string>

namespace ft {

namespace {

template <Endpoint endpoint>
void write_answer(Service& service, Visit visit) {
    answer_endpoint(endpoint, service, std::move(visit));
}

constexpr WebRoute k_routes[] = {
    {"GET", "/", Dialect::native, Needs::nothing, &answer_root},
    {"HEAD", "/", Dialect::native, Needs::nothing, &answer_root},
    {"GET", "/health", Dialect::native, Needs::nothing, &answer_health},
    {"GET", "/v1/health", Dialect::openai, Needs::nothing, &answer_health},
    {"HEAD", "/health", Dialect::native, Needs::nothing, &answer_health},
    {"GET", "/health/live", Dialect::native, Needs::nothing, &answer_alive},
    {"GET", "/metrics", Dialect::native, Needs::nothing, &answer_metrics},
    {"GET", "/v1/stats", Dialect::native, Needs::key, &answer_stats},
    {"GET", "/v1/requests", Dialect::native, Needs::key, &answer_requests},
    {"GET", "/v1/models", Dialect::openai, Needs::model, &answer_models},
    {"GET", "/v1/models/*", Dialect::openai, Needs::model, &answer_model},
    {"GET", "/api/tags", Dialect::ollama, Needs::model, &answer_ollama_tags},
    {"GET", "/api/ps", Dialect::ollama, Needs::model, &answer_ollama_ps},
    {"POST", "/api/show", Dialect::ollama, Needs::model, &answer_ollama_show},
    {"GET", "/api/version", Dialect::ollama, Needs::key, &answer_ollama_version},

    {"POST", "/generate", Dialect::native, Needs::model, &write_answer<Endpoint::generate>},
    {"POST", "/v1/completions", Dialect::openai, Needs::model, &write_answer<Endpoint::completions>},
    {"POST", "/v1/chat/completions", Dialect::openai, Needs::model, &write_answer<Endpoint::chat>},
    {"POST", "/v1/responses", Dialect::openai, Needs::model, &write_answer<Endpoint::responses>},
    {"POST", "/v1/messages", Dialect::anthropic, Needs::model, &write_answer<Endpoint::anthropic_messages>},
    {"POST", "/api/chat", Dialect::ollama, Needs::model, &write_answer<Endpoint::ollama_chat>},
    {"POST", "/api/generate", Dialect::ollama, Needs::model, &write_answer<Endpoint::ollama_generate>},
    {"POST", "/v1/embeddings", Dialect::openai, Needs::model, &answer_embeddings},
    {"POST", "/api/embed", Dialect::ollama, Needs::model, &answer_ollama_embed},
    {"POST", "/api/embeddings", Dialect::ollama, Needs::model, &answer_ollama_embeddings},

    {"POST", "/tokenize", Dialect::native, Needs::model, &answer_tokenize},
    {"POST", "/detokenize", Dialect::native, Needs::model, &answer_detokenize},
    {"POST", "/apply-template", Dialect::native, Needs::model, &answer_apply_template},
    {"POST", "/v1/chat/completions/render", Dialect::openai, Needs::model, &answer_render_chat},
    {"POST", "/v1/completions/render", Dialect::openai, Needs::model, &answer_render_completion},
    {"POST", "/v1/messages/count_tokens", Dialect::anthropic, Needs::model, &answer_count_tokens},

    {"POST", "/rerank", Dialect::native, Needs::key, &answer_not_offered},
    {"POST", "/v1/rerank", Dialect::openai, Needs::key, &answer_not_offered},
    {"POST", "/v1/images/*", Dialect::openai, Needs::key, &answer_not_offered},
    {"POST", "/v1/audio/*", Dialect::openai, Needs::key, &answer_not_offered},
};

bool has_path(const WebRoute& route, std::string_view path) {
    const std::string_view pattern = route.path;
    if (!pattern.ends_with('*')) return path == pattern;
    return path.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::span<const WebRoute> routes() { return k_routes; }

const WebRoute* find_route(std::string_view method, std::string_view path) {
    const auto found = std::find_if(std::begin(k_routes), std::end(k_routes), [&](const WebRoute& route) {
        return route.method == method && has_path(route, path);
    });
    return found == std::end(k_routes) ? nullptr : &*found;
}

std::string methods_of(std::string_view path) {
    std::string methods;
    for (const WebRoute& route : k_routes)
        if (has_path(route, path)) methods += fmt::format("{}{}", methods.empty() ? "" : ", ", route.method);
    return methods;
}

ApiError no_route(std::string_view method, std::string_view path) {
    const std::string others = methods_of(path);
    if (!others.empty())
        return {.status = 405,
                .message = fmt::format("{} takes {}, not {}.", printable(path), others, printable(method)),
                .code = "method_not_allowed"};
    return {.status = 404,
            .message = fmt::format("there is no {} {}.", printable(method), printable(path)),
            .type = "not_found_error",
            .code = "not_found"};
}

Dialect dialect_of_path(std::string_view path) {
    for (const WebRoute& route : k_routes)
        if (has_path(route, path)) return route.dialect;
    if (path.starts_with("/api/")) return Dialect::ollama;
    return path.starts_with("/v1/") ? Dialect::openai : Dialect::native;
}

}  // namespace ft
