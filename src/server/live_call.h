// One answer on its way from the engine to its client. The engine's thread only puts events into a list; the
// connections' thread turns them into the words of the dialect and sends them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/endpoint_call.h"
#include "server/engine_thread.h"
#include "server/metrics.h"
#include "server/request_ring.h"
#include "server/visit.h"

namespace ft {

class LiveCall : public std::enable_shared_from_this<LiveCall> {
 public:
    // Called once on the connections' thread, when the engine has no part of it any more.
    using OnOver = std::function<void(const std::shared_ptr<LiveCall>&, const RequestNote&)>;

    LiveCall(Visit visit, EndpointCall call, EngineThread& engine, Metrics& metrics, OnOver on_over);

    // Hands its requests to the engine; once, from any thread.
    void start();
    // What is left of it ends with this error. Any thread.
    void stop(const ApiError& why);

 private:
    // What the engine's thread tells.
    struct Event {
        enum class Kind : uint8_t { token, end, done } kind = Kind::token;
        size_t request = 0;
        int choice = 0;
        Seconds time = 0;
        std::string text = {}, stop_text = {};
        std::optional<TokenLogprobs> logprobs = {};
        int64_t cached_tokens = 0;
        FinishReason reason = FinishReason::stop;
        std::optional<Error> error = {};
        RequestRecord record = {};
    };
    class Owner;

    void post(Event event);
    void drain();
    void take(Event& event, std::string& out);
    void take_token(const Event& event, std::string& out);
    void take_end(const Event& event, std::string& out);
    void add(std::vector<AnswerPiece> pieces, std::string& out);
    void begin(std::string& out);
    void tell(std::string bytes);
    void send_whole();
    void fail(const ApiError& error);
    void lose();
    void ping();
    void conclude();
    void cancel_requests();
    size_t number_of(const Event& event) const {
        return first_choice_[event.request] + static_cast<size_t>(event.choice);
    }

    const Visit visit_;
    EngineThread& engine_;
    Metrics& metrics_;
    const OnOver on_over_;
    EndpointCall call_;
    AnswerReader reader_;
    const bool stream_;
    const Lane lane_;
    const int64_t started_;             // seconds since 1970
    std::vector<size_t> first_choice_;  // of each request, among the choices of the call

    std::mutex mutex_;  // guards what follows, up to the blank line
    std::vector<Event> events_;
    bool posted_ = false;  // drain() will come
    std::vector<RequestId> ids_;
    bool cancelled_ = false;

    // The connections' thread alone.
    std::vector<Event> taken_;
    std::vector<AnswerPiece> pieces_;  // of an answer that is sent whole
    std::vector<ChoiceOutcome> outcomes_;
    std::vector<RequestRecord> records_;
    std::vector<Seconds> last_token_;  // of each choice
    size_t n_done_ = 0, n_expected_;   // requests
    bool head_sent_ = false, begun_ = false, answered_ = false, concluded_ = false;
    int status_ = 200;
};

}  // namespace ft
