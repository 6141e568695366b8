#include "server/engine_thread.h"

#include "base/log.h"
#include "base/thread_name.h"

namespace ft {

namespace {

constexpr Seconds k_longest_wait = 0.1;  // until stop() is seen

}  // namespace

EngineThread::~EngineThread() { stop(); }

void EngineThread::start(Load load, const Tokenizer& tokenizer, const SchedulerOptions& options,
                         std::function<void(const Engine&)> on_ready) {
    thread_ =
        std::thread([this, load = std::move(load), &tokenizer, options, on_ready = std::move(on_ready)] {
            name_this_thread("ft-engine");
            if (const Status prepared = prepare(load, tokenizer, options); !prepared) {
                const std::lock_guard lock(mutex_);
                failure_ = prepared.error();
                state_.store(State::failed, std::memory_order_release);
                return;
            }
            on_ready(*engine_);
            state_.store(State::ready, std::memory_order_release);
            take_steps();
        });
}

Status EngineThread::prepare(const Load& load, const Tokenizer& tokenizer, const SchedulerOptions& options) {
    Expected<std::unique_ptr<Engine>> engine = load([this](uint64_t done, uint64_t total) {
        done_.store(done, std::memory_order_relaxed);
        total_.store(total, std::memory_order_relaxed);
    });
    if (!engine) return engine.error();
    Expected<std::unique_ptr<Scheduler>> scheduler = Scheduler::create(**engine, tokenizer, options);
    if (!scheduler) return scheduler.error();
    engine_ = std::move(*engine);
    scheduler_ = std::move(*scheduler);
    return {};
}

void EngineThread::take_steps() {
    while (!stop_.load(std::memory_order_relaxed)) {
        const bool stepped = scheduler_->step();
        if (stepped) look_at_failure();
        else scheduler_->wait(k_longest_wait);
    }
}

// The cause is said once, however many requests it ends.
void EngineThread::look_at_failure() {
    const std::optional<Error> why = scheduler_->failure();
    if (why.has_value() == said_broken_) return;
    said_broken_ = why.has_value();
    if (why)
        log("serve", "the model cannot be computed: {} /health says failed until it can.", why->sentence());
    else log("serve", "the model can be computed again");
}

void EngineThread::stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

std::optional<Error> EngineThread::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

std::optional<Error> EngineThread::broken() const {
    return state() == State::ready ? scheduler_->failure() : std::nullopt;
}

double EngineThread::progress() const {
    const auto total = static_cast<double>(total_.load(std::memory_order_relaxed));
    return total > 0 ? static_cast<double>(done_.load(std::memory_order_relaxed)) / total : 0;
}

Expected<RequestId> EngineThread::submit(Request request, std::shared_ptr<RequestOwner> owner) {
    return scheduler_->submit(std::move(request), std::move(owner));
}

}  // namespace ft
