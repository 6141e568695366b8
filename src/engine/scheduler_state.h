// What the parts of the scheduler share: scheduler.cpp takes requests in, admission.cpp starts, parks and
// ends their choices, scheduler_step.cpp runs them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "base/buffer.h"
#include "engine/choice.h"
#include "engine/engine_state.h"
#include "engine/lanes.h"
#include "engine/scheduler.h"
#include "engine/sequence_store.h"
#include "engine/step_pace.h"
#include "engine/step_plan.h"

namespace ft {

struct Scheduler::State {
    State(Engine::State& engine, const Tokenizer& tokenizer, const SchedulerOptions& options,
          std::unique_ptr<SequenceStore> store);

    // scheduler.cpp; any thread
    Status check(const Request& request) const;
    int64_t n_ctx() const;  // tokens of one sequence: the context, or the pool where that is smaller

    // admission.cpp
    void take_submitted();
    void take_cancelled();
    void admit();
    bool start_first(Lane lane, std::optional<Lane> passed);
    bool give_memory(Choice& choice, int64_t n_position);
    void first_start(Choice& choice);
    void prompt_reached(Choice& first);
    void unpin(Ticket& ticket);
    bool grow(size_t of_running, int64_t n_position);
    size_t youngest() const;
    void park(size_t of_running);
    void queue_parked();
    void end(Choice& choice, FinishReason reason, const Error* error = nullptr);
    void close(Ticket& ticket);
    void remove_ended();

    // scheduler_step.cpp
    bool step();
    void plan_rows();
    void take_pages();
    void lay_out();
    Status forward();
    void advance();
    void tell_embedding(Choice& choice);
    void keep_beginning(Choice& choice);
    void draw_all();
    static Expected<int32_t> draw(Choice& choice, std::span<const float> of);
    void accept(Choice& choice, std::span<const float> of);
    void count_experts(const CacheStats& stats);
    void keep_failure(const Status& done);
    void publish();

    Engine::State& engine;
    const Tokenizer& tokenizer;
    const SchedulerOptions options;
    const int64_t step_rows;

    std::unique_ptr<SequenceStore> store;
    Parking parking;
    Lanes lanes;
    StepPace pace;
    std::deque<std::unique_ptr<Choice>> waiting[2];  // by lane
    std::vector<std::unique_ptr<Choice>> running;    // the oldest first
    uint64_t turn = 0;

    // of the present step; sized once
    std::vector<StepNeed> needs;  // of running
    std::vector<Slice> slices;
    std::vector<int32_t> step_ids;
    std::vector<size_t> order;    // of running: in the order of their rows, single tokens first
    std::vector<size_t> drawing;  // of running: whose logits are wanted, in the order of their rows
    int64_t single_rows = 0;
    Buffer<float> logits;  // [batch_size, n_vocab]

    mutable std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::vector<std::shared_ptr<Ticket>> submitted;
    std::unordered_set<RequestId> cancelled;
    std::unordered_set<RequestId> alive;
    RequestId next_id = 1;
    SchedulerCounters counters;
    std::optional<Error> failure;  // of the last step
};

}  // namespace ft
