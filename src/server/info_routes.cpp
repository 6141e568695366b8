// The routes by which the server tells of itself.
#include <nlohmann/json.hpp>

#include "server/event_lines.h"
#include "server/routes.h"
#include "server/service.h"

namespace ft {

namespace {

using InfoJson = nlohmann::ordered_json;

const char* state_name(Service& service) {
    if (service.draining()) return "draining";
    if (service.engine().broken()) return "failed";
    switch (service.engine().state()) {
        case EngineThread::State::loading:
            return "loading";
        case EngineThread::State::failed:
            return "failed";
        case EngineThread::State::ready:
            break;
    }
    return "ok";
}

}  // namespace

void answer_root(Service&, Visit visit) {
    answer(visit, {.content_type = "text/plain; charset=utf-8", .body = "FreeToken is running\n"});
}

void answer_health(Service& service, Visit visit) {
    const std::string state = state_name(service);
    if (state == "ok") return answer_json(visit, {{"status", state}});
    const std::string message = state == "failed" ? "failed: the log names the cause" : state;
    WebReply reply =
        refusal(Dialect::native, {.status = 503, .message = message, .type = "unavailable_error"});
    InfoJson body = {{"status", state}};
    if (state == "loading") body["progress"] = service.engine().progress();
    body["error"] = {{"code", 503}, {"message", message}, {"type", "unavailable_error"}};
    reply.body = json_line(body);
    answer(visit, std::move(reply));
}

void answer_alive(Service&, Visit visit) { answer_json(visit, {{"status", "alive"}}); }

void answer_stats(Service& service, Visit visit) {
    const MetricsNow now = service.now();
    const SchedulerCounters& s = now.scheduler;
    answer_json(visit, {{"status", state_name(service)},
                        {"model", now.model},
                        {"uptime_seconds", now.uptime_seconds},
                        {"running", s.running},
                        {"waiting", s.waiting},
                        {"done", s.done},
                        {"steps", s.steps},
                        {"prompt_tokens", s.prompt_tokens},
                        {"cached_tokens", s.cached_tokens},
                        {"generated_tokens", s.generated_tokens},
                        {"parked", s.parked},
                        {"kv_cache",
                         {{"bytes", s.kv_bytes},
                          {"page_tokens", now.block_tokens},
                          {"pages", s.pages},
                          {"pages_used", s.pages_used},
                          {"pages_cached", s.pages_cached},
                          {"checkpoints", s.checkpoints}}},
                        {"http",
                         {{"connections", now.http.connections},
                          {"accepted", now.http.accepted},
                          {"refused", now.http.over_limit},
                          {"requests", now.http.requests},
                          {"dropped", now.http.dropped}}}});
}

void answer_requests(Service& service, Visit visit) {
    InfoJson list = InfoJson::array();
    for (const RequestNote& note : service.ring().notes()) list.push_back(to_json(note));
    answer_json(visit, {{"requests", std::move(list)}});
}

void answer_metrics(Service& service, Visit visit) {
    answer(visit,
           {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = service.metrics_text()});
}

}  // namespace ft
