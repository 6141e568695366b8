#include "server/service.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "server/host_names.h"
#include "server/routes.h"
#include "server/work_bytes.h"

namespace ft {

namespace {

constexpr int k_work_threads = 2;
constexpr size_t k_longest_client_id = 200;
// After the rest of the answers was cancelled: until the engine has taken its step.
constexpr Seconds k_after_cancel_seconds = 10;

std::string new_id() {
    const uint64_t high = random_seed(), low = random_seed();
    return fmt::format("{:016x}{:08x}", high, static_cast<uint32_t>(low));
}

}  // namespace

Service::Service(ServiceOptions options, EngineThread& engine, const ApiKeys& keys,
                 const Tokenizer& tokenizer, const ChatTemplate* chat_template,
                 const RequestDefaults& defaults)
    : options_(std::move(options)),
      engine_(engine),
      keys_(keys),
      tokenizer_(tokenizer),
      chat_template_(chat_template),
      defaults_(defaults),
      work_(k_work_threads) {}

Service::~Service() = default;

HttpCallbacks Service::callbacks() {
    return {.admit = [this](const WebRequest& head) { return admit(head); },
            .handle =
                [this](WebRequest request, std::shared_ptr<Responder> responder) {
                    handle(std::move(request), std::move(responder));
                },
            .refuse =
                [this](const WebRequest& head, int status, std::string_view what) {
                    ApiError error{.status = status, .message = fmt::format("{}.", what)};
                    if (status == 503) error.type = "unavailable_error";
                    return refused(head, error);
                }};
}

ServedModel Service::model() const {
    return {tokenizer_, chat_template_, defaults_, engine_.engine().n_ctx(), engine_.engine().endless()};
}

ServedModelInfo Service::info() const {
    ServedModelInfo info = options_.info;
    if (engine_.state() == EngineThread::State::ready) info.context = engine_.engine().n_ctx();
    return info;
}

MetricsNow Service::now() const {
    MetricsNow now{.model = options_.info.name, .ready = engine_.state() == EngineThread::State::ready};
    now.uptime_seconds = now_seconds() - start_;
    if (now.ready) now.scheduler = engine_.counters();
    if (http_) now.http = http_->counters();
    now.block_tokens = options_.block_tokens;
    return now;
}

const std::string* Service::allowed_origin(const WebRequest& head) const {
    const std::string_view origin = head.header("origin");
    const auto found =
        std::find_if(options_.cors_origins.begin(), options_.cors_origins.end(),
                     [&](const std::string& allowed) { return allowed == "*" || allowed == origin; });
    return origin.empty() || found == options_.cors_origins.end() ? nullptr : &*found;
}

std::vector<WebHeader> Service::common_headers(const WebRequest& head) const {
    std::vector<WebHeader> headers;
    const std::string_view client_id = head.header("x-request-id");
    if (!client_id.empty())
        headers.push_back({"X-Request-Id", std::string(client_id.substr(0, k_longest_client_id))});
    if (const std::string* origin = allowed_origin(head)) {
        headers.push_back({"Access-Control-Allow-Origin", *origin});
        headers.push_back({"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"});
        if (*origin != "*") headers.push_back({"Vary", "Origin"});
    }
    return headers;
}

// What a browser asks before it lets a page ask.
WebReply Service::preflight(const WebRequest& head) const {
    WebReply reply{.status = 204, .content_type = "", .headers = common_headers(head)};
    const std::string methods = methods_of(head.path);
    const std::string allowed = methods.empty() ? "OPTIONS" : methods + ", OPTIONS";
    reply.headers.push_back({"Allow", allowed});
    if (!allowed_origin(head)) return reply;
    const std::string_view wanted = head.header("access-control-request-headers");
    reply.headers.push_back({"Access-Control-Allow-Methods", allowed});
    reply.headers.push_back({"Access-Control-Allow-Headers",
                             wanted.empty() ? "authorization, content-type" : std::string(wanted)});
    reply.headers.push_back({"Access-Control-Max-Age", "3600"});
    return reply;
}

WebReply Service::refused(const WebRequest& head, const ApiError& error) {
    metrics_.refused(error.status);
    WebReply reply = refusal(dialect_of_path(head.path), error);
    if (error.status == 405) reply.headers.push_back({"Allow", methods_of(head.path) + ", OPTIONS"});
    for (WebHeader& header : common_headers(head)) reply.headers.push_back(std::move(header));
    return reply;
}

// Why whoever asks may not, whatever is asked; nothing where that is all right.
std::optional<ApiError> Service::not_let_in(const WebRequest& head) const {
    const std::string_view host = head.header("host");
    if (options_.local_only && !may_be_called(host, options_.host_names))
        return ApiError{.status = 403,
                        .message = fmt::format(
                            "this server needs no key, so it answers to names of its own machine alone and "
                            "not to {}, which a web page could have taken. Add the name to "
                            "server.host_names, or set server.api_keys_file.",
                            printable(host, 100)),
                        .type = "permission_error",
                        .code = "host_not_allowed"};
    std::string_view key = bearer_key(head.header("authorization"));
    if (key.empty()) key = head.header("x-api-key");
    if (keys_.accepts(key)) return std::nullopt;
    return ApiError{.status = 401,
                    .message = key.empty() ? "this server needs a key: send it as Authorization: Bearer KEY."
                                           : "the key is not one of this server's.",
                    .type = "authentication_error",
                    .code = "invalid_api_key"};
}

std::optional<WebReply> Service::admit(const WebRequest& head) {
    if (head.method == "OPTIONS") return std::nullopt;
    const WebRoute* route = find_route(head.method, head.path);
    if (!route || route->needs != Needs::nothing)
        if (const std::optional<ApiError> error = not_let_in(head)) return refused(head, *error);
    if (!route) return refused(head, no_route(head.method, head.path));
    if (route->needs != Needs::model) return std::nullopt;
    if (const std::optional<ApiError> error = unavailable()) return refused(head, *error);
    return std::nullopt;
}

// Why no call may begin; nothing where one may.
std::optional<ApiError> Service::unavailable() const {
    const auto because = [](std::string message) {
        return ApiError{.status = 503, .message = std::move(message), .type = "unavailable_error"};
    };
    if (draining_) return because("the server is about to stop and takes no more requests.");
    if (engine_.state() == EngineThread::State::failed) return because("the model could not be loaded.");
    if (engine_.state() == EngineThread::State::loading)
        return because(fmt::format("the model is being loaded: {:.0f} %.", 100 * engine_.progress()));
    return std::nullopt;
}

std::optional<ApiError> Service::crowded(size_t n_requests) {
    const int waiting = engine_.counters().waiting;
    if (static_cast<size_t>(waiting) + n_requests <= options_.max_waiting) return std::nullopt;
    return ApiError{
        .status = 429,
        .message = fmt::format("{} requests are waiting, and server.max_waiting is {}. Try again.", waiting,
                               options_.max_waiting),
        .type = "rate_limit_error",
        .code = "rate_limit_exceeded"};
}

void Service::handle(WebRequest request, std::shared_ptr<Responder> responder) {
    Visit visit{.request = std::move(request), .responder = std::move(responder)};
    if (visit.request.method == "OPTIONS") return visit.responder->send(preflight(visit.request));
    const WebRoute* route = find_route(visit.request.method, visit.request.path);
    visit.headers = common_headers(visit.request);
    visit.dialect = route->dialect;
    visit.id = new_id();
    n_under_way_++;
    visit.under_way = std::shared_ptr<void>(nullptr, [this](void*) { n_under_way_--; });
    route->answer(*this, std::move(visit));
}

void Service::work(Visit visit, std::function<void(Visit)> job) {
    const auto body = std::make_shared<std::string>(std::move(visit.request.body));
    visit.request.body = {};
    work_.push([visit = std::move(visit), body, job = std::move(job)] {
        try {
            if (const auto error = take_room(visit.request, body->size() + work_bytes(*body)))
                return refuse(visit, *error);
            Visit taken = visit;
            taken.request.body = std::move(*body);
            job(std::move(taken));
        } catch (const std::exception& e) {  // of the JSON library, or no memory
            refuse(visit,
                   {.status = 500,
                    .message = fmt::format("the request cannot be worked on: {}.", printable(e.what())),
                    .type = "server_error"});
        }
    });
}

void Service::go(Visit visit, EndpointCall call) {
    const auto live = std::make_shared<LiveCall>(
        std::move(visit), std::move(call), engine_, metrics_,
        [this](const std::shared_ptr<LiveCall>& ended, const RequestNote& note) { over(ended, note); });
    {
        const std::lock_guard lock(mutex_);
        calls_.insert(live);
    }
    live->start();
}

void Service::note(const RequestNote& note) {
    metrics_.observe(note);
    log_line("request", log_text(note));
    ring_.add(note);
}

void Service::over(const std::shared_ptr<LiveCall>& call, const RequestNote& note) {
    this->note(note);
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
}

bool Service::idle_within(Seconds most, bool may_hurry) {
    const Seconds until = now_seconds() + most;
    while (n_under_way_ > 0 && now_seconds() < until && !(may_hurry && hurry_))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return n_under_way_ == 0;
}

void Service::drain(Seconds most) {
    draining_ = true;
    if (idle_within(most, true)) return;
    std::vector<std::shared_ptr<LiveCall>> left;
    {
        const std::lock_guard lock(mutex_);
        left.assign(calls_.begin(), calls_.end());
    }
    log("serve", "{} cancelled",
        left.size() == 1 ? "1 answer is" : fmt::format("{} answers are", left.size()));
    for (const auto& call : left)
        call->stop({.status = 503, .message = "the server stops.", .type = "unavailable_error"});
    left.clear();
    idle_within(k_after_cancel_seconds, false);
}

}  // namespace ft
