#include "cli/batch_line.h"

#include "cli/batch_output.h"
#include "server/json_body.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

constexpr int k_status_ok = 200;

ApiError invalid_line(std::string message, std::string param = "") {
    return {.message = std::move(message), .param = std::move(param), .code = "invalid_line"};
}

// The members around the body, into `envelope`; why they cannot be read.
std::optional<ApiError> read_members(const ordered_json& object, BatchEnvelope& envelope) {
    const auto custom_id = object.find("custom_id");
    if (custom_id == object.end() || !custom_id->is_string() ||
        custom_id->get_ref<const std::string&>().empty() ||
        custom_id->get_ref<const std::string&>().size() > k_longest_custom_id)
        return invalid_line("custom_id is missing, or no text of 1 to 1024 bytes.", "custom_id");
    envelope.line.custom_id = custom_id->get<std::string>();
    if (const auto method = object.find("method"); method != object.end() && *method != "POST")
        return invalid_line("method is not POST.", "method");
    const auto url = object.find("url");
    if (url == object.end() || !url->is_string()) return invalid_line("url is missing, or no text.", "url");
    const std::optional<OpenAiRoute> route = openai_route(url->get_ref<const std::string&>());
    if (!route)
        return invalid_line(fmt::format("url is {}, not /v1/completions or /v1/chat/completions.",
                                        printable(url->get_ref<const std::string&>(), 60)),
                            "url");
    envelope.route = *route;
    const auto body = object.find("body");
    if (body == object.end() || !body->is_object())
        return invalid_line("body is missing, or no object.", "body");
    envelope.body = *body;
    return std::nullopt;
}

ordered_json output_line(const BatchLine& line) {
    return {{"id", BatchOutput::id_of(line.number)},
            {"custom_id", line.custom_id.empty() ? ordered_json() : ordered_json(line.custom_id)}};
}

ordered_json response(const BatchLine& line, int status, ordered_json body) {
    return {
        {"status_code", status}, {"request_id", BatchOutput::id_of(line.number)}, {"body", std::move(body)}};
}

}  // namespace

BatchEnvelope read_envelope(int64_t number, std::string_view text) {
    BatchEnvelope envelope;
    envelope.line.number = number;
    const Expected<ordered_json> object = parse_json(text);
    if (!object) envelope.line.error = invalid_line(object.error().sentence());
    else if (!object->is_object()) envelope.line.error = invalid_line("the line is no JSON object.");
    else envelope.line.error = read_members(*object, envelope);
    return envelope;
}

BatchLine read_batch_line(BatchEnvelope envelope, const ServedModel& model) {
    BatchLine line = std::move(envelope.line);
    if (line.error) return line;
    ParsedCall parsed = parse_openai(envelope.route, envelope.body, model);
    if (parsed.call && parsed.call->stream)
        parsed = {std::nullopt, {.message = "stream: an answer of a batch comes whole.", .param = "stream"}};
    if (!parsed.call) {
        line.error = std::move(parsed.error);
        line.body_refused = true;
        return line;
    }
    line.call = std::make_unique<OpenAiCall>(std::move(*parsed.call));
    for (Request& request : line.call->requests) request.lane = Lane::batch;
    return line;
}

ordered_json answered_line(const BatchLine& line, ordered_json body) {
    ordered_json out = output_line(line);
    out["response"] = response(line, k_status_ok, std::move(body));
    out["error"] = nullptr;
    return out;
}

ordered_json failed_line(const BatchLine& line, const ApiError& error) {
    ordered_json out = output_line(line);
    out["response"] =
        line.error && !line.body_refused ? ordered_json() : response(line, error.status, to_json(error));
    out["error"] = {{"code", error.code.empty() ? error.type : error.code},
                    {"message", fmt::format("line {}: {}", line.number, error.message)}};
    return out;
}

}  // namespace ft::cli
