#include "server/live_call.h"

#include <ctime>

#include "server/openai_response.h"

namespace ft {

namespace {

constexpr std::string_view k_event_stream = "text/event-stream";

}  // namespace

class LiveCall::Owner : public RequestOwner {
 public:
    Owner(std::shared_ptr<LiveCall> call, size_t request) : call_(std::move(call)), request_(request) {}

    void on_token(const TokenEvent& token) override {
        Event event{.kind = Event::Kind::token,
                    .request = request_,
                    .choice = token.choice,
                    .time = now_seconds(),
                    .text = std::string(token.text),
                    .cached_tokens = token.cached_tokens};
        if (token.logprobs) event.logprobs = *token.logprobs;
        call_->post(std::move(event));
    }
    void on_end(const ChoiceEnd& end) override {
        Event event{.kind = Event::Kind::end,
                    .request = request_,
                    .choice = end.choice,
                    .text = std::string(end.text),
                    .stop_text = std::string(end.stop_text),
                    .reason = end.reason};
        if (end.error) event.error = *end.error;
        call_->post(std::move(event));
    }
    void on_done(const RequestRecord& record) override {
        call_->post({.kind = Event::Kind::done, .request = request_, .record = record});
    }

 private:
    const std::shared_ptr<LiveCall> call_;
    const size_t request_;
};

LiveCall::LiveCall(Visit visit, EndpointCall call, EngineThread& engine, Metrics& metrics, OnOver on_over)
    : visit_(std::move(visit)),
      engine_(engine),
      metrics_(metrics),
      on_over_(std::move(on_over)),
      call_(std::move(call)),
      reader_(call_.call),
      stream_(call_.call.stream),
      lane_(call_.call.requests.empty() ? Lane::interactive : call_.call.requests.front().lane),
      started_(std::time(nullptr)),
      records_(call_.call.requests.size()),
      n_expected_(call_.call.requests.size()) {
    size_t n = 0;
    for (const Request& request : call_.call.requests) {
        first_choice_.push_back(n);
        n += static_cast<size_t>(request.n_choices);
    }
    last_token_.resize(n);
}

void LiveCall::start() {
    visit_.responder->on_gone([self = shared_from_this()] { self->lose(); });
    if (stream_ && call_.shape->content_type(true) == k_event_stream)
        visit_.responder->on_quiet([self = shared_from_this()] { self->ping(); });
    for (size_t i = 0; i < call_.call.requests.size(); i++) {
        const Expected<RequestId> id =
            engine_.submit(std::move(call_.call.requests[i]), std::make_shared<Owner>(shared_from_this(), i));
        if (!id) {
            visit_.responder->run([self = shared_from_this(), i, error = api_error(id.error())] {
                self->n_expected_ = i;
                self->fail(error);
                self->conclude();
            });
            return;
        }
        const std::lock_guard lock(mutex_);
        ids_.push_back(*id);
        if (cancelled_) engine_.cancel(*id);
    }
    // Nothing was asked of the model: the answer is complete.
    if (n_expected_ == 0) visit_.responder->run([self = shared_from_this()] { self->conclude(); });
}

void LiveCall::stop(const ApiError& why) {
    visit_.responder->run([self = shared_from_this(), why] { self->fail(why); });
}

void LiveCall::cancel_requests() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (const RequestId id : ids_) engine_.cancel(id);
}

void LiveCall::post(Event event) {
    {
        const std::lock_guard lock(mutex_);
        events_.push_back(std::move(event));
        if (std::exchange(posted_, true)) return;
    }
    visit_.responder->run([self = shared_from_this()] { self->drain(); });
}

void LiveCall::drain() {
    {
        const std::lock_guard lock(mutex_);
        posted_ = false;
        taken_.swap(events_);
    }
    try {
        std::string out;
        for (Event& event : taken_) take(event, out);
        if (!out.empty()) tell(std::move(out));
    } catch (const std::exception& e) {  // of the JSON library, or no memory
        fail({.status = 500,
              .message = fmt::format("the answer cannot be told: {}.", e.what()),
              .type = "server_error"});
    }
    taken_.clear();
    conclude();
}

void LiveCall::take(Event& event, std::string& out) {
    switch (event.kind) {
        case Event::Kind::token:
            return take_token(event, out);
        case Event::Kind::end:
            return take_end(event, out);
        case Event::Kind::done:
            records_[event.request] = event.record;
            n_done_++;
    }
}

void LiveCall::take_token(const Event& event, std::string& out) {
    if (answered_) return;
    const size_t choice = number_of(event);
    if (last_token_[choice] > 0) metrics_.observe_token_gap(event.time - last_token_[choice]);
    last_token_[choice] = event.time;
    if (!begun_) call_.shape->prompt_read(event.cached_tokens);
    begin(out);
    add(reader_.token(choice, event.text, event.logprobs ? &*event.logprobs : nullptr), out);
}

void LiveCall::take_end(const Event& event, std::string& out) {
    if (answered_) return;
    if (event.error || event.reason == FinishReason::cancelled) {
        if (!out.empty()) tell(std::exchange(out, {}));
        return fail(
            event.error
                ? api_error(*event.error)
                : ApiError{.status = 503, .message = "the answer was cancelled.", .type = "server_error"});
    }
    const size_t choice = number_of(event);
    begin(out);
    add(reader_.finish(choice, event.text), out);
    outcomes_.push_back(reader_.outcome(choice, event.reason, event.stop_text));
    if (stream_) out += call_.shape->end(outcomes_.back());
}

void LiveCall::add(std::vector<AnswerPiece> pieces, std::string& out) {
    for (AnswerPiece& piece : pieces) {
        if (stream_) out += call_.shape->piece(piece);
        else pieces_.push_back(std::move(piece));
    }
}

void LiveCall::begin(std::string& out) {
    if (!stream_ || std::exchange(begun_, true)) return;
    out += call_.shape->begin();
}

// To a stream; its head leaves with what is told first.
void LiveCall::tell(std::string bytes) {
    if (head_sent_) return visit_.responder->write(std::move(bytes));
    head_sent_ = true;
    visit_.responder->begin(
        dressed(visit_, {.content_type = call_.shape->content_type(true),
                         .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                         .body = std::move(bytes)}));
}

// A comment line, so that nobody between takes the stream for dead while a long prompt is read.
void LiveCall::ping() {
    if (!answered_) tell(": still working\n\n");
}

void LiveCall::fail(const ApiError& error) {
    if (std::exchange(answered_, true)) return;
    status_ = error.status;
    if (head_sent_) {
        std::string out;
        begin(out);
        visit_.responder->write(out + call_.shape->error(error));
        visit_.responder->finish();
    } else {
        refuse(visit_, error);
    }
    cancel_requests();
}

void LiveCall::lose() {
    if (std::exchange(answered_, true)) return;
    status_ = k_client_gone;
    cancel_requests();
}

void LiveCall::send_whole() {
    if (!stream_)
        return answer(visit_, {.content_type = call_.shape->content_type(false),
                               .body = call_.shape->whole(pieces_, outcomes_, records_)});
    std::string out;
    begin(out);
    tell(out + call_.shape->done(records_));
    visit_.responder->finish();
}

void LiveCall::conclude() {
    if (n_done_ < n_expected_ || std::exchange(concluded_, true)) return;
    if (!std::exchange(answered_, true)) send_whole();
    RequestNote note{.id = visit_.id,
                     .client_id = std::string(visit_.request.header("x-request-id")),
                     .path = visit_.request.path,
                     .started = started_,
                     .lane = lane_,
                     .stream = stream_,
                     .status = status_,
                     .finish = "stop",
                     .record = merged(records_)};
    if (status_ == k_client_gone) note.finish = "cancelled";
    else if (status_ != 200) note.finish = "error";
    else if (n_expected_ > 0) note.finish = finish_name(note.record.finish);
    on_over_(shared_from_this(), note);
}

}  // namespace ft
