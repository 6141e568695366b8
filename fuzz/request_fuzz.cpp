// Any bytes as the body of a request of each route that reads one: the end is a call whose numbers are in
// their ranges, or an error that each dialect can say.
#include <nlohmann/json.hpp>

#include "server/embeddings.h"
#include "server/served_model_for_test.h"
#include "server/text_bodies.h"

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t k_n_ctx = 4096;

constexpr const char* k_template =
    "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.role }}:{{ m.content "
    "}}\n"
    "{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments }}{% endfor %}{% endfor %}";

void check_request(const ft::Request& request) {
    ft::check(!request.prompt.empty() && request.prompt.size() < k_n_ctx, "a prompt fits");
    ft::check(request.n_choices >= 1 && request.max_tokens.value_or(1) >= 1, "counts are positive");
    const ft::Sampler sampler(request.sampling);  // checks its numbers
    for (const std::string& stop : request.stop) ft::check(!stop.empty(), "no stop text is empty");
}

void check_error(ft::Dialect dialect, const ft::ApiError& error) {
    ft::check(!error.message.empty(), "an error has a sentence");
    ft::check(Json::accept(ft::error_body(dialect, error)), "an error has a body");
}

void read_answer(ft::Endpoint endpoint, const Json& body, const ft::ServedModel& model) {
    ft::ParsedEndpoint parsed = ft::parse_endpoint(endpoint, body, model, {.id = "1", .model = "m"});
    if (!parsed.call) return check_error(ft::dialect_of(endpoint), parsed.error);
    for (const ft::Request& request : parsed.call->call.requests) check_request(request);
    parsed.call->shape->begin();
}

void read_embedding(ft::EmbeddingRoute route, const Json& body, const ft::ServedModel& model) {
    const ft::ParsedEmbedding parsed = ft::parse_embedding(route, body, model, 4, "m");
    if (!parsed.call)
        return check_error(route == ft::EmbeddingRoute::openai ? ft::Dialect::openai : ft::Dialect::ollama,
                           parsed.error);
    ft::check(!parsed.call->requests.empty() && parsed.call->requests.size() <= ft::k_most_texts,
              "there are texts, and not too many");
    for (const ft::Request& request : parsed.call->requests) check_request(request);
    const std::vector<std::vector<float>> vectors(parsed.call->requests.size(), {1, 0, 0, 0});
    ft::check(!ft::embedding_body(*parsed.call, vectors, "m", {}).empty(), "there is an answer");
}

void read_text(ft::TextRoute route, const Json& body, const ft::ServedModel& model) {
    std::optional<ft::ApiError> error;
    const auto room = [](uint64_t) { return std::optional<ft::ApiError>(); };
    const std::string made = ft::text_answer(route, body, model, "m", room, error);
    if (error) return check_error(ft::Dialect::native, *error);
    ft::check(Json::accept(made), "there is an answer");
}

constexpr ft::Endpoint k_endpoints[] = {ft::Endpoint::completions,        ft::Endpoint::chat,
                                        ft::Endpoint::generate,           ft::Endpoint::responses,
                                        ft::Endpoint::anthropic_messages, ft::Endpoint::ollama_chat,
                                        ft::Endpoint::ollama_generate};
constexpr ft::EmbeddingRoute k_embeddings[] = {ft::EmbeddingRoute::openai, ft::EmbeddingRoute::ollama,
                                               ft::EmbeddingRoute::ollama_single};
constexpr ft::TextRoute k_texts[] = {ft::TextRoute::tokenize,          ft::TextRoute::detokenize,
                                     ft::TextRoute::apply_template,    ft::TextRoute::render_chat,
                                     ft::TextRoute::render_completion, ft::TextRoute::count_tokens};

}  // namespace

// The first byte chooses the route: '0' the first endpoint, and so on.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const ft::SmallModel small(k_template);
    const ft::ServedModel model = small.served(k_n_ctx);
    if (size == 0) return 0;
    const auto body = ft::parse_json({reinterpret_cast<const char*>(data) + 1, size - 1});
    if (!body) return 0;
    constexpr size_t n_endpoints = std::size(k_endpoints), n_embeddings = std::size(k_embeddings);
    const size_t route = (data[0] - size_t{'0'}) % (n_endpoints + n_embeddings + std::size(k_texts));
    if (route < n_endpoints) read_answer(k_endpoints[route], *body, model);
    else if (route < n_endpoints + n_embeddings)
        read_embedding(k_embeddings[route - n_endpoints], *body, model);
    else read_text(k_texts[route - n_endpoints - n_embeddings], *body, model);
    return 0;
}
