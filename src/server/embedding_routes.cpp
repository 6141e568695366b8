// The routes that turn texts into vectors.
#include <nlohmann/json.hpp>

#include "base/log.h"
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
          vectors_(call_.requests.size()) {}

    void start() {
        visit_.responder->on_gone([self = shared_from_this()] { self->give_up({}); });
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
            else if (end.reason == FinishReason::cancelled) call_->give_up({});
        }
        void on_done(const RequestRecord&) override { call_->text_done(); }

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
            answer_large(self->visit_, json_line(embedding_body(self->call_, self->vectors_,
                                                                self->service_.options().info.name,
                                                                now_seconds() - self->start_)));
            log("request", "{} {}: {} texts, {} tokens, {:.1f} ms in all, queue included", self->visit_.id,
                self->visit_.request.path, self->vectors_.size(), self->call_.n_tokens,
                (now_seconds() - self->start_) * 1e3);
        });
    }

    // No message: nobody is there to read it.
    void give_up(const ApiError& error) {
        const std::lock_guard lock(mutex_);
        if (std::exchange(over_, true)) return;
        for (const RequestId id : ids_) service_.engine().cancel(id);
        if (!error.message.empty()) refuse(visit_, error);
    }

    const Visit visit_;
    Service& service_;
    EmbeddingCall call_;
    std::vector<std::vector<float>> vectors_;
    const Seconds start_ = now_seconds();
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
    if (!body) return {std::nullopt, {.message = fmt::format("the body is {}", body.error().sentence())}};
    const ServedModelInfo& info = service.options().info;
    return parse_embedding(route, *body, service.model(), info.embedding_length, info.name);
}

void take_embedding(EmbeddingRoute route, Service& service, Visit visit) {
    ParsedEmbedding parsed = read_embedding(route, service, visit);
    visit.request.body = {};
    if (!parsed.call) return refuse(visit, parsed.error);
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
