// The thread that owns the model: loads it, then takes the scheduler's steps until it is stopped.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/engine.h"
#include "engine/scheduler.h"

namespace ft {

class EngineThread {
 public:
    using Progress = std::function<void(uint64_t done, uint64_t total)>;
    using Load = std::function<Expected<std::unique_ptr<Engine>>(const Progress& progress)>;
    enum class State { loading, ready, failed };

    EngineThread() = default;
    ~EngineThread();  // stop()
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

    // Once. `load` and `on_ready` are called on the thread; the state is `ready` only after on_ready.
    // tokenizer must outlive this.
    void start(Load load, const Tokenizer& tokenizer, const SchedulerOptions& options,
               std::function<void(const Engine&)> on_ready);
    // Ends after the present step; what still runs is never told. An unfinished load is waited for.
    void stop();

    // Any thread, from here on.
    State state() const { return state_.load(std::memory_order_acquire); }
    std::optional<Error> failure() const;  // once it has failed
    std::optional<Error> broken() const;   // ready, but the last step could not be computed: why
    double progress() const;               // 0 to 1, of the weights read

    // Only where the state is ready:
    const Engine& engine() const { return *engine_; }  // what is const of it for good: n_ctx, plan, file
    Expected<RequestId> submit(Request request, std::shared_ptr<RequestOwner> owner);
    void cancel(RequestId id) { scheduler_->cancel(id); }
    SchedulerCounters counters() const { return scheduler_->counters(); }

 private:
    Status prepare(const Load& load, const Tokenizer& tokenizer, const SchedulerOptions& options);
    void take_steps();
    void look_at_failure();

    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Scheduler> scheduler_;
    std::atomic<State> state_{State::loading};
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> done_{0}, total_{0};
    mutable std::mutex mutex_;  // guards failure_
    std::optional<Error> failure_;
    bool said_broken_ = false;  // the thread's own
    std::thread thread_;
};

}  // namespace ft
