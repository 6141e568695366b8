#include "server/visit.h"

#include <nlohmann/json.hpp>

#include "server/event_lines.h"
#include "server/work_bytes.h"

namespace ft {

namespace {

constexpr const char* k_busy_seconds = "1";    // until a queue has likely moved
constexpr const char* k_absent_seconds = "5";  // until a model is loaded, or another server has taken over

}  // namespace

WebReply dressed(const Visit& visit, WebReply reply) {
    reply.headers.insert(reply.headers.end(), visit.headers.begin(), visit.headers.end());
    return reply;
}

void answer(const Visit& visit, WebReply reply) { visit.responder->send(dressed(visit, std::move(reply))); }

void answer_json(const Visit& visit, const nlohmann::ordered_json& body) {
    answer(visit, {.body = json_line(body)});
}

void answer_large(const Visit& visit, std::string json) {
    // With its head and once more where the connection writes it.
    if (const auto error = take_room(visit.request, 2 * uint64_t{json.size()})) return refuse(visit, *error);
    answer(visit, {.body = std::move(json), .room = visit.request.room});
}

void refuse(const Visit& visit, const ApiError& error) { answer(visit, refusal(visit.dialect, error)); }

Expected<std::optional<Lane>> lane_of(const WebRequest& request) {
    const std::string_view name = request.header("x-freetoken-lane");
    if (name.empty()) return std::optional<Lane>();
    if (name == "interactive") return std::optional(Lane::interactive);
    if (name == "batch") return std::optional(Lane::batch);
    return Error{
        Code::invalid,
        fmt::format("the header X-FreeToken-Lane takes interactive or batch, not {}", printable(name)), ""};
}

WebReply refusal(Dialect dialect, const ApiError& error) {
    WebReply reply{.status = error.status, .body = error_body(dialect, error)};
    if (error.status == 401) reply.headers.push_back({"WWW-Authenticate", "Bearer"});
    if (error.status == 429) reply.headers.push_back({"Retry-After", k_busy_seconds});
    if (error.status == 503) reply.headers.push_back({"Retry-After", k_absent_seconds});
    return reply;
}

}  // namespace ft
