// The routes that turn texts into vectors.
#include <ctime>
#include <nlohmann/json.hpp>

#include "server/embeddings.h"
#include "server/event_lines.h"
#include "server/json_body.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/work_bytes.h"

namespace ft {

namespace {

// So many texts of one call are with the engine at once; the others follow as these are done.
constexpr size_t k_texts_at_once = 8;

// Bytes of a vector's value: as the engine gives it, scaled, and in the answer with its copies.
constexpr uint64_t k_per_written_value = 96, k_per_base64_value = 32;

// A call whose texts are being read. The engine's thread fills in the vectors; who ends the last one answers.
class LiveEmbedding : public std::enable_shared_from_this<LiveEmbedding> {
 public:
    LiveEmbedding(Visit visit, EmbeddingCall call, Service& service)
        : visit_(std::move(visit)),
          service_(service),
          call_(std::move(call)),
          lane_(call_.requests.front().lane),
          vectors_(call_.requests.size()),
          records_(call_.requests.size()) {}

    void start() {
        visit_.responder->on_gone(
            [self = shared_from_this()] { self->give_up({.status = k_client_gone, .message = ""}); });
        for (size_t i = 0; i < k_texts_at_once; i++) submit_next();
    }

 private:
    class Text : public RequestOwner {
     public:
        Text(std::shared_ptr<LiveEmbedding> call, size_t number) : call_(std::move(call)), number_(number) {}
        void on_token(const TokenEvent&) override {}
        void on_embedding(std::span<const float> mean) override {
            call_->vectors_[number_].assign(mean.begin(), mean.end());
        }
        void on_end(const ChoiceEnd& end) override {
            if (end.error) call_->give_up(api_error(*end.error));
            else if (end.reason == FinishReason::cancelled)
                call_->give_up(
                    {.status = 503, .message = "the answer was cancelled.", .type = "server_error"});
        }
        void on_done(const RequestRecord& record) override {
            call_->records_[number_] = record;
            call_->text_done();
        }

     private:
        const std::shared_ptr<LiveEmbedding> call_;
        const size_t number_;
    };

    void submit_next() {
        size_t number = 0;
        {
            const std::lock_guard lock(mutex_);
            if (over_ || next_ >= call_.requests.size()) return;
            number = next_++;
        }
        const Expected<RequestId> id = service_.engine().submit(
            std::move(call_.requests[number]), std::make_shared<Text>(shared_from_this(), number));
        if (!id) return give_up(api_error(id.error()));
        const std::lock_guard lock(mutex_);
        ids_.push_back(*id);
        if (over_) service_.engine().cancel(*id);
    }

    void text_done() {
        bool last = false;
        {
            const std::lock_guard lock(mutex_);
            last = ++n_done_ == vectors_.size() && !over_;
            over_ = over_ || last;
        }
        if (!last) return submit_next();
        visit_.responder->run([self = shared_from_this()] {
            const RequestRecord record = embedding_record(self->records_, now_seconds() - self->start_);
            answer_large(self->visit_, json_line(embedding_body(self->call_, self->vectors_,
                                                                self->service_.options().info.name, record)));
            self->note(200, "stop", record);
        });
    }

    // No message: nobody is there to read it.
    void give_up(const ApiError& error) {
        {
            const std::lock_guard lock(mutex_);
            if (std::exchange(over_, true)) return;
            for (const RequestId id : ids_) service_.engine().cancel(id);
        }
        if (!error.message.empty()) refuse(visit_, error);
        visit_.responder->run([self = shared_from_this(), status = error.status] {
            RequestRecord record;
            record.queue_ms = (now_seconds() - self->start_) * 1e3;
            record.prompt_tokens = self->call_.n_tokens;
            self->note(status, status == k_client_gone ? "cancelled" : "error", record);
        });
    }

    void note(int status, const char* finish, const RequestRecord& record) {
        service_.note({.id = visit_.id,
                       .client_id = std::string(visit_.request.header("x-request-id")),
                       .path = visit_.request.path,
                       .started = started_,
                       .lane = lane_,
                       .stream = false,
                       .status = status,
                       .finish = finish,
                       .record = record});
    }

    const Visit visit_;
    Service& service_;
    EmbeddingCall call_;
    const Lane lane_;
    std::vector<std::vector<float>> vectors_;
    std::vector<RequestRecord> records_;
    const Seconds start_ = now_seconds();
    const int64_t started_ = std::time(nullptr);
    std::mutex mutex_;  // guards what follows
    std::vector<RequestId> ids_;
    size_t next_ = 0, n_done_ = 0;
    bool over_ = false;
};

uint64_t answer_bytes(const EmbeddingCall& call, int64_t n_embd) {
    return call.requests.size() * static_cast<uint64_t>(n_embd) *
           (call.base64 ? k_per_base64_value : k_per_written_value);
}

ParsedEmbedding read_embedding(EmbeddingRoute route, Service& service, const Visit& visit) {
    const auto body = parse_json(visit.request.body);
    if (!body) return {std::nullopt, no_json_body(body.error())};
    const ServedModelInfo& info = service.options().info;
    return parse_embedding(route, *body, service.model(), info.embedding_length, info.name);
}

void take_embedding(EmbeddingRoute route, Service& service, Visit visit) {
    const Expected<std::optional<Lane>> lane = lane_of(visit.request);
    if (!lane) return refuse(visit, {.message = lane.error().sentence(), .param = "X-FreeToken-Lane"});
    ParsedEmbedding parsed = read_embedding(route, service, visit);
    visit.request.body = {};
    if (!parsed.call) return refuse(visit, parsed.error);
    if (*lane)
        for (Request& request : parsed.call->requests) request.lane = **lane;
    const uint64_t bytes = kept_bytes(parsed.call->requests) +
                           answer_bytes(*parsed.call, service.options().info.embedding_length);
    if (const auto error = take_room(visit.request, bytes)) return refuse(visit, *error);
    if (const std::optional<ApiError> error = service.crowded(1)) return refuse(visit, *error);
    std::make_shared<LiveEmbedding>(std::move(visit), std::move(*parsed.call), service)->start();
}

void work_on(EmbeddingRoute route, Service& service, Visit visit) {
    service.work(std::move(visit),
                 [route, &service](Visit taken) { take_embedding(route, service, std::move(taken)); });
}

}  // namespace

void answer_embeddings(Service& service, Visit visit) {
    work_on(EmbeddingRoute::openai, service, std::move(visit));
}
void answer_ollama_embed(Service& service, Visit visit) {
    work_on(EmbeddingRoute::ollama, service, std::move(visit));
}
void answer_ollama_embeddings(Service& service, Visit visit) {
    work_on(EmbeddingRoute::ollama_single, service, std::move(visit));
}

}  // namespace ft
