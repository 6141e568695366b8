// What the server does with requests: finds the route, checks the key, reads the body on a work thread, hands
// what is asked to the engine, and keeps the books. Sockets are http's, words are the dialects'.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "server/api_keys.h"
#include "server/engine_thread.h"
#include "server/live_call.h"
#include "server/metrics.h"
#include "server/model_lists.h"
#include "server/openai_request.h"
#include "server/visit.h"
#include "server/work_threads.h"

namespace ft {

struct ServiceOptions {
    ServedModelInfo info;                        // its context is the engine's, once that is loaded
    std::string fingerprint;                     // of program and model
    std::string version;                         // of the program
    size_t max_waiting = 1024;                   // requests in the queue; more: 429
    std::vector<std::string> cors_origins = {};  // of pages that may ask; "*": any
    // No key is needed, and this machine alone is served: a request must call it by a name that no web page
    // can have (host_names.h), or by one of these.
    bool local_only = false;
    std::vector<std::string> host_names = {};
    int64_t block_tokens = 0;  // of a page of the KV cache
};

class Service {
 public:
    // All must outlive this. chat_template: nullptr where the model has none.
    Service(ServiceOptions options, EngineThread& engine, const ApiKeys& keys, const Tokenizer& tokenizer,
            const ChatTemplate* chat_template, const RequestDefaults& defaults);
    ~Service();

    HttpCallbacks callbacks();
    void watch(const HttpServer& http) { http_ = &http; }  // for its counters

    // Refuses new requests from here on, waits for those under way, and after so long ends what is left.
    void drain(Seconds most);
    void hurry() { hurry_ = true; }  // drain() waits no longer
    void stop_work() { work_.stop(); }
    size_t under_way() const { return n_under_way_; }  // requests that are not answered to the end

    // For the routes.
    const ServiceOptions& options() const { return options_; }
    EngineThread& engine() { return engine_; }
    bool draining() const { return draining_; }
    ServedModel model() const;
    ServedModelInfo info() const;
    const RequestRing& ring() const { return ring_; }
    MetricsNow now() const;
    std::string metrics_text() const { return metrics_.text(now()); }
    // Runs on a work thread, once there is room for what the body's reading takes (work_bytes.h); what it
    // throws is answered with 500.
    void work(Visit visit, std::function<void(Visit)> job);
    void go(Visit visit, EndpointCall call);
    // Of an answer that is over: into the metrics, the log and the ring. On the connections' thread.
    void note(const RequestNote& note);
    // Why so many requests cannot be queued now; nothing where they can. Whoever was let in before the server
    // was told to stop is still served.
    std::optional<ApiError> crowded(size_t n_requests);

 private:
    std::optional<WebReply> admit(const WebRequest& head);
    std::optional<ApiError> not_let_in(const WebRequest& head) const;
    void handle(WebRequest request, std::shared_ptr<Responder> responder);
    std::optional<ApiError> unavailable() const;
    WebReply refused(const WebRequest& head, const ApiError& error);
    std::vector<WebHeader> common_headers(const WebRequest& head) const;
    const std::string* allowed_origin(const WebRequest& head) const;
    WebReply preflight(const WebRequest& head) const;
    void over(const std::shared_ptr<LiveCall>& call, const RequestNote& note);
    bool idle_within(Seconds most, bool may_hurry);

    const ServiceOptions options_;
    EngineThread& engine_;
    const ApiKeys& keys_;
    const Tokenizer& tokenizer_;
    const ChatTemplate* chat_template_;
    const RequestDefaults& defaults_;
    const HttpServer* http_ = nullptr;
    const Seconds start_ = now_seconds();

    // The connections' thread.
    Metrics metrics_;
    RequestRing ring_;

    std::atomic<bool> draining_{false}, hurry_{false};
    std::atomic<size_t> n_under_way_{0};
    std::mutex mutex_;  // guards calls_
    std::unordered_set<std::shared_ptr<LiveCall>> calls_;
    WorkThreads work_;
};

}  // namespace ft
