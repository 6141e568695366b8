// The routes that the model answers.
#include <ctime>

#include "server/json_body.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/work_bytes.h"

namespace ft {

namespace {

// The call that a body asks for; its JSON is gone afterwards.
ParsedEndpoint call_of_body(Endpoint endpoint, Service& service, const Visit& visit) {
    const auto body = parse_json(visit.request.body);
    if (!body) return {std::nullopt, no_json_body(body.error())};
    return parse_endpoint(endpoint, *body, service.model(),
                          {.id = visit.id,
                           .created = std::time(nullptr),
                           .model = service.options().info.name,
                           .fingerprint = service.options().fingerprint});
}

void take_call(Endpoint endpoint, Service& service, Visit visit) {
    const Expected<std::optional<Lane>> lane = lane_of(visit.request);
    if (!lane) return refuse(visit, {.message = lane.error().sentence(), .param = "X-FreeToken-Lane"});
    ParsedEndpoint parsed = call_of_body(endpoint, service, visit);
    visit.request.body = {};
    if (!parsed.call) return refuse(visit, parsed.error);
    if (const auto error = take_room(visit.request, kept_bytes(parsed.call->call)))
        return refuse(visit, *error);
    std::vector<Request>& requests = parsed.call->call.requests;
    if (*lane)
        for (Request& request : requests) request.lane = **lane;
    if (const std::optional<ApiError> error = service.crowded(requests.size())) return refuse(visit, *error);
    service.go(std::move(visit), std::move(*parsed.call));
}

}  // namespace

void answer_endpoint(Endpoint endpoint, Service& service, Visit visit) {
    service.work(std::move(visit),
                 [endpoint, &service](Visit taken) { take_call(endpoint, service, std::move(taken)); });
}

}  // namespace ft
