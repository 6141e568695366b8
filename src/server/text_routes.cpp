// The routes that turn texts into ids and back, with nothing computed by the model.
#include <ctime>
#include <nlohmann/json.hpp>

#include "server/event_lines.h"
#include "server/json_body.h"
#include "server/json_fields.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/work_bytes.h"
#include "text/utf8.h"

namespace ft {

namespace {

using TextJson = nlohmann::ordered_json;

std::optional<TextJson> body_of(const Visit& visit) {
    Expected<TextJson> body = parse_json(visit.request.body);
    if (!body) refuse(visit, {.message = fmt::format("the body is {}", body.error().sentence())});
    else if (!body->is_object()) refuse(visit, {.message = "the body is no JSON object."});
    else return std::optional<TextJson>(std::in_place, std::move(*body));
    return std::nullopt;
}

// Reads a body on a work thread, and answers with the JSON text that `make` makes of it; an error that it sets
// instead.
using Make = std::string (*)(Service& service, const Visit& visit, const TextJson& body,
                             std::optional<ApiError>& error);

void answer_with(Service& service, Visit visit, Make make) {
    service.work(std::move(visit), [&service, make](const Visit& taken) {
        std::optional<ApiError> error;
        std::string made;
        {
            const std::optional<TextJson> body = body_of(taken);
            if (!body) return;
            made = make(service, taken, *body, error);
        }
        if (error) refuse(taken, *error);
        else answer_large(taken, std::move(made));
    });
}

// Bytes of the answer for each id at most: its digits, or {"id":…,"piece":"…"} of a short piece.
constexpr size_t k_per_id = 8, k_per_piece = 48;

// Written as they come: a list of JSON values would take several times the place.
std::string ids_text(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool with_pieces) {
    std::string text = R"({"tokens":[)";
    text.reserve(ids.size() * (with_pieces ? k_per_piece : k_per_id));
    std::string piece;
    for (size_t i = 0; i < ids.size(); i++) {
        if (i > 0) text += ',';
        if (!with_pieces) {
            text += std::to_string(ids[i]);
            continue;
        }
        piece.clear();
        tokenizer.append_bytes(ids[i], true, piece);
        text += fmt::format(R"({{"id":{},"piece":{}}})", ids[i], json_line(mend_utf8(piece)));
    }
    return text + "]}";
}

std::string tokens_of(Service& service, const Visit& visit, const TextJson& body,
                      std::optional<ApiError>& error) {
    JsonFields fields(body, error);
    const std::optional<std::string> content = fields.text("content");
    if (!content && !error) fields.fail("content", "content is missing: the text whose ids are wanted.");
    const bool add_special = fields.boolean("add_special").value_or(false);
    const bool parse_special = fields.boolean("parse_special").value_or(true);
    const bool with_pieces = fields.boolean("with_pieces").value_or(false);
    if (error) return {};
    const Tokenizer& tokenizer = service.model().tokenizer;
    const std::vector<int32_t> ids =
        tokenizer.encode(*content, {.special = parse_special, .add_special = add_special});
    // The ids themselves are part of what the body's reading may take; their pieces are more.
    if (with_pieces)
        error = take_room(visit.request, work_bytes(visit.request.body) + visit.request.body.size() +
                                             ids.size() * k_per_piece);
    return error ? std::string() : ids_text(tokenizer, ids, with_pieces);
}

std::string content_of(Service& service, const Visit&, const TextJson& body,
                       std::optional<ApiError>& error) {
    JsonFields fields(body, error);
    const Tokenizer& tokenizer = service.model().tokenizer;
    const TextJson* tokens = fields.find("tokens");
    if (!tokens) fields.fail("tokens", "tokens is missing: a list of ids.");
    std::vector<int32_t> ids;
    if (tokens && !tokens->is_array()) fields.expected("tokens", "a list of ids", *tokens);
    if (error) return {};
    for (const TextJson& id : *tokens) {
        if (!id.is_number_integer() || id < 0 || id >= tokenizer.vocab_size()) {
            fields.expected("tokens", fmt::format("ids below {}", tokenizer.vocab_size()), id);
            return {};
        }
        ids.push_back(id.get<int32_t>());
    }
    return json_line({{"content", mend_utf8(tokenizer.decode(ids))}});
}

// What the model would be fed for a body of `endpoint`.
std::optional<OpenAiCall> call_of(Service& service, Endpoint endpoint, const TextJson& body,
                                  std::optional<ApiError>& error) {
    ParsedEndpoint parsed =
        parse_endpoint(endpoint, body, service.model(),
                       {.id = "", .created = 0, .model = service.options().info.name, .fingerprint = ""});
    if (parsed.call) return std::move(parsed.call->call);
    error = std::move(parsed.error);
    return std::nullopt;
}

std::string prompt_of(Service& service, const Visit&, const TextJson& body,
                      std::optional<ApiError>& error) {
    const auto call = call_of(service, Endpoint::chat, body, error);
    if (error) return {};
    return json_line({{"prompt", call->prompt_text}});
}

std::string chat_ids(Service& service, const Visit&, const TextJson& body,
                     std::optional<ApiError>& error) {
    const auto call = call_of(service, Endpoint::chat, body, error);
    if (error) return {};
    return json_line({{"token_ids", call->requests.front().prompt}});
}

std::string completion_ids(Service& service, const Visit&, const TextJson& body,
                           std::optional<ApiError>& error) {
    const auto call = call_of(service, Endpoint::completions, body, error);
    if (error) return {};
    TextJson prompts = TextJson::array();
    for (const Request& request : call->requests) prompts.push_back({{"token_ids", request.prompt}});
    return json_line(prompts);
}

std::string count_of(Service& service, const Visit&, const TextJson& body,
                     std::optional<ApiError>& error) {
    const auto call = call_of(service, Endpoint::anthropic_messages, body, error);
    if (error) return {};
    return json_line({{"input_tokens", call->requests.front().prompt.size()}});
}

}  // namespace

void answer_tokenize(Service& service, Visit visit) { answer_with(service, std::move(visit), &tokens_of); }
void answer_detokenize(Service& service, Visit visit) { answer_with(service, std::move(visit), &content_of); }
void answer_apply_template(Service& service, Visit visit) {
    answer_with(service, std::move(visit), &prompt_of);
}
void answer_render_chat(Service& service, Visit visit) { answer_with(service, std::move(visit), &chat_ids); }
void answer_render_completion(Service& service, Visit visit) {
    answer_with(service, std::move(visit), &completion_ids);
}
void answer_count_tokens(Service& service, Visit visit) { answer_with(service, std::move(visit), &count_of); }

}  // namespace ft
