#include "server/text_bodies.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/utf8.h"
#include "server/endpoint_call.h"
#include "server/event_lines.h"
#include "server/json_fields.h"

namespace ft {

namespace {

using TextJson = nlohmann::ordered_json;

// Bytes of the answer for each id at most: its digits, or {"id":…,"piece":"…"} of a short piece.
constexpr size_t k_per_id = 8, k_per_piece = 48;

// A text, or a list of its bytes where they are no UTF-8: half a character, say.
std::string piece_text(const std::string& piece) {
    if (is_utf8(piece)) return json_line(piece);
    std::string text;
    for (const char byte : piece)
        text += fmt::format("{}{}", text.empty() ? "[" : ",", static_cast<unsigned char>(byte));
    return text + "]";
}

// Written as they come: a list of JSON values would take several times the place.
std::string ids_text(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool with_pieces) {
    std::string text = R"({"tokens":[)";
    text.reserve(text.size() + ids.size() * (with_pieces ? k_per_piece : k_per_id));
    std::string piece;
    for (size_t i = 0; i < ids.size(); i++) {
        if (i > 0) text += ',';
        if (!with_pieces) {
            text += std::to_string(ids[i]);
            continue;
        }
        piece.clear();
        tokenizer.append_bytes(ids[i], true, piece);
        text += fmt::format(R"({{"id":{},"piece":{}}})", ids[i], piece_text(piece));
    }
    return text + "]}";
}

std::string tokens_of(const TextJson& body, const Tokenizer& tokenizer, TextRoom room,
                      std::optional<ApiError>& error) {
    JsonFields fields(body, error);
    const std::optional<std::string> content = fields.text("content");
    if (!content && !error) fields.fail("content", "content is missing: the text whose ids are wanted.");
    const bool add_special = fields.boolean("add_special").value_or(false);
    const bool parse_special = fields.boolean("parse_special").value_or(true);
    const bool with_pieces = fields.boolean("with_pieces").value_or(false);
    if (error) return {};
    const std::vector<int32_t> ids =
        tokenizer.encode(*content, {.special = parse_special, .add_special = add_special});
    if (with_pieces) error = room(ids.size() * k_per_piece);
    return error ? std::string() : ids_text(tokenizer, ids, with_pieces);
}

std::string content_of(const TextJson& body, const Tokenizer& tokenizer, std::optional<ApiError>& error) {
    JsonFields fields(body, error);
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
std::optional<OpenAiCall> call_of(Endpoint endpoint, const TextJson& body, const ServedModel& model,
                                  const std::string& served_name, std::optional<ApiError>& error) {
    ParsedEndpoint parsed = parse_endpoint(endpoint, body, model,
                                           {.id = "", .created = 0, .model = served_name, .fingerprint = ""});
    if (parsed.call) return std::move(parsed.call->call);
    error = std::move(parsed.error);
    return std::nullopt;
}

Endpoint endpoint_of(TextRoute route) {
    if (route == TextRoute::render_completion) return Endpoint::completions;
    return route == TextRoute::count_tokens ? Endpoint::anthropic_messages : Endpoint::chat;
}

}  // namespace

std::string text_answer(TextRoute route, const TextJson& body, const ServedModel& model,
                        const std::string& served_name, TextRoom room, std::optional<ApiError>& error) {
    if (!body.is_object()) {
        error = ApiError{.message = "the body is no JSON object."};
        return {};
    }
    if (route == TextRoute::tokenize) return tokens_of(body, model.tokenizer, room, error);
    if (route == TextRoute::detokenize) return content_of(body, model.tokenizer, error);
    const auto call = call_of(endpoint_of(route), body, model, served_name, error);
    if (!call) return {};
    if (route == TextRoute::apply_template) return json_line({{"prompt", call->prompt_text}});
    const std::vector<int32_t>& first = call->requests.front().prompt;
    if (route == TextRoute::count_tokens) return json_line({{"input_tokens", first.size()}});
    if (route == TextRoute::render_chat) return json_line({{"token_ids", first}});
    TextJson prompts = TextJson::array();
    for (const Request& request : call->requests) prompts.push_back({{"token_ids", request.prompt}});
    return json_line(prompts);
}

}  // namespace ft
