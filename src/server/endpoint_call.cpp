#include "server/endpoint_call.h"

#include "server/dialects.h"
#include "server/event_lines.h"
#include "server/openai_response.h"
#include "server/sampling_fields.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t k_completion_length = 16;  // of /v1/completions, where nothing is said: OpenAI's

ResponseHead with_prefix(const char* prefix, const ResponseHead& head) {
    ResponseHead out = head;
    out.id = prefix + head.id;
    return out;
}

// The two that the batch command has too.
std::optional<ApiError> read_openai(OpenAiRoute route, const Json& body, const ServedModel& model,
                                    const JsonFields& fields, EndpointCall& out) {
    ParsedCall parsed = parse_openai(route, body, model);
    if (!parsed.call) return std::move(parsed.error);
    out.call = std::move(*parsed.call);
    for (Request& request : out.call.requests) open_top_p(fields, model.defaults, request);
    if (route == OpenAiRoute::chat) return std::nullopt;
    for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"})
        if (fields.find(name)) return std::nullopt;
    for (Request& request : out.call.requests) request.max_tokens = k_completion_length;
    return std::nullopt;
}

void read_lane(JsonFields& fields, EndpointCall& out) {
    const std::optional<std::string> lane = fields.text("lane");
    if (!lane) return;
    if (*lane != "batch" && *lane != "interactive")
        return fields.fail("lane",
                           fmt::format("lane takes interactive or batch, not {}.", printable(*lane, 60)));
    out.lane = *lane == "batch" ? Lane::batch : Lane::interactive;
    for (Request& request : out.call.requests) request.lane = *out.lane;
}

// The call without its lane, and its shape.
void read_body(Endpoint endpoint, const Json& body, const ServedModel& model, const ResponseHead& head,
               JsonFields& fields, EndpointCall& out) {
    OpenAiCall& call = out.call;
    switch (endpoint) {
        case Endpoint::completions:
        case Endpoint::chat: {
            const bool chat = endpoint == Endpoint::chat;
            if (auto refused = read_openai(chat ? OpenAiRoute::chat : OpenAiRoute::completions, body, model,
                                           fields, out))
                return fields.fail(std::move(*refused));
            out.shape = openai_shape(call, with_prefix(chat ? "chatcmpl-" : "cmpl-", head), model.tokenizer);
            break;
        }
        case Endpoint::generate:
            read_generate(fields, model, call);
            out.shape = generate_shape(call, head, model.tokenizer);
            break;
        case Endpoint::responses: {
            Json repeated = read_responses(fields, model, call);
            out.shape = responses_shape(head, std::move(repeated));
            break;
        }
        case Endpoint::anthropic_messages:
            read_anthropic(fields, model, call);
            out.shape = anthropic_shape(call, with_prefix("msg_", head));
            break;
        case Endpoint::ollama_chat:
        case Endpoint::ollama_generate: {
            const bool chat = endpoint == Endpoint::ollama_chat;
            read_ollama(chat, fields, model, head.model, call);
            out.shape = ollama_shape(chat, call, head, model.tokenizer);
            break;
        }
    }
}

}  // namespace

Dialect dialect_of(Endpoint endpoint) {
    switch (endpoint) {
        case Endpoint::generate:
            return Dialect::native;
        case Endpoint::completions:
        case Endpoint::chat:
        case Endpoint::responses:
            return Dialect::openai;
        case Endpoint::anthropic_messages:
            return Dialect::anthropic;
        case Endpoint::ollama_chat:
        case Endpoint::ollama_generate:
            return Dialect::ollama;
    }
    return Dialect::native;
}

ParsedEndpoint parse_endpoint(Endpoint endpoint, const Json& body, const ServedModel& model,
                              const ResponseHead& head) {
    if (!body.is_object()) return {std::nullopt, {.message = "the body is no JSON object."}};
    std::optional<ApiError> error;
    JsonFields fields(body, error);
    EndpointCall out;
    read_body(endpoint, body, model, head, fields, out);
    read_lane(fields, out);
    if (error) return {std::nullopt, std::move(*error)};
    return {std::move(out), {}};
}

std::string error_body(Dialect dialect, const ApiError& error) {
    switch (dialect) {
        case Dialect::native:
        case Dialect::openai:
            return json_line(to_json(error));
        case Dialect::anthropic:
            return json_line(anthropic_error(error));
        case Dialect::ollama:
            return json_line({{"error", error.message}});
    }
    return "";
}

}  // namespace ft
