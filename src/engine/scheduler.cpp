#include "engine/scheduler.h"

#include <algorithm>

#include "engine/scheduler_state.h"
#include "engine/sequence_file.h"

namespace ft {

namespace {

Status check_options(const SchedulerOptions& options) {
    if (options.batch_size < 1)
        return Error{
            Code::invalid,
            fmt::format("inference.batch_size is {}, but at least one answer must be written at once",
                        options.batch_size),
            "Choose 1 or more."};
    if (options.interactive_slots < 0 || options.interactive_slots >= options.batch_size)
        return Error{Code::invalid,
                     fmt::format("inference.interactive_slots is {}, inference.batch_size {}: the batch lane "
                                 "would have no slot",
                                 options.interactive_slots, options.batch_size),
                     fmt::format("Choose interactive_slots from 0 to {}.", options.batch_size - 1)};
    if (options.step_tokens < 0)
        return Error{Code::invalid, fmt::format("inference.step_tokens is {}", options.step_tokens),
                     "Choose 1 or more."};
    return {};
}

StoreOptions store_options(const SchedulerOptions& options, const Plan& plan, int64_t sinks) {
    StoreOptions store;
    store.n_sequence = options.batch_size;
    store.n_page =
        options.pool_tokens > 0 ? kv_pages(options.pool_tokens) : options.batch_size * plan.sequence_pages;
    store.prefix = {options.prefix_cache_bytes, options.state_checkpoint_bytes};
    store.window = plan.window;
    store.sinks = sinks;
    store.sequence_pages = plan.sequence_pages;
    return store;
}

// Of the RAM budget, what nothing of the plan takes, less the checkpoints that are not part of it.
uint64_t room_for_parked(uint64_t spare_ram, const Plan& plan, const ModelShape& shape,
                         const SchedulerOptions& options) {
    if (options.park_ram_bytes) return *options.park_ram_bytes;
    const uint64_t states = shape.state_bytes > 0 ? options.state_checkpoint_bytes : 0;
    const uint64_t planned = static_cast<uint64_t>(plan.state_copies) * shape.state_bytes;
    const uint64_t beside = states > planned ? states - planned : 0;
    return spare_ram > beside ? spare_ram - beside : 0;
}

}  // namespace

Scheduler::State::State(Engine::State& engine_state, const Tokenizer& its_tokenizer,
                        const SchedulerOptions& how, std::unique_ptr<SequenceStore> memory)
    : engine(engine_state),
      tokenizer(its_tokenizer),
      options(how),
      step_rows(how.step_tokens > 0 ? std::min(how.step_tokens, engine_state.plan.chunk)
                                    : engine_state.plan.chunk),
      store(std::move(memory)),
      parking(how.park_dir,
              room_for_parked(engine_state.spare_ram, engine_state.plan, engine_state.shape, how),
              sequence_model_key(engine_state.file)),
      lanes({how.batch_size, how.interactive_slots}),
      pace(how.step_ms / 1e3),
      logits(static_cast<size_t>(how.batch_size) * static_cast<size_t>(engine_state.model->hp().n_vocab)) {
    const auto n = static_cast<size_t>(how.batch_size);
    running.reserve(n);
    needs.reserve(n);
    slices.reserve(n);
    order.reserve(n);
    drawing.reserve(n);
    step_ids.reserve(static_cast<size_t>(step_rows));
    publish();
}

Scheduler::Scheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scheduler::~Scheduler() = default;

Expected<std::unique_ptr<Scheduler>> Scheduler::create(Engine& engine, const Tokenizer& tokenizer,
                                                       const SchedulerOptions& options) {
    if (Status s = check_options(options); !s) return s.error();
    Engine::State& of = *engine.state_;
    const StoreOptions memory = store_options(options, of.plan, of.kv.sink_tokens);
    if (Status s = check_pool_holds_window(of.plan, options.pool_tokens); !s) return s.error();
    auto store = SequenceStore::create(of.model->kv_shape(of.kv_types), of.model->recurrent_shape(), memory);
    if (!store) return store.error();
    return std::unique_ptr<Scheduler>(
        new Scheduler(std::make_unique<State>(of, tokenizer, options, std::move(*store))));
}

int64_t Scheduler::State::n_ctx() const {
    return engine.plan.window > 0 ? engine.n_ctx
                                  : std::min(engine.n_ctx, store->pool().n_page() * k_kv_block);
}

Status Scheduler::State::check(const Request& request) const {
    const auto n_prompt = static_cast<int64_t>(request.prompt.size());
    if (request.prompt.empty())
        return Error{Code::invalid, "the prompt has no tokens", "Give one with some text."};
    if (n_prompt >= n_ctx())
        return Error{Code::too_large,
                     fmt::format("the prompt has {} tokens, but the context has room for {}, answer included",
                                 n_prompt, n_ctx()),
                     n_ctx() < engine.n_ctx
                         ? "Shorten it, or raise kv_cache.pool_tokens."
                         : fmt::format("Shorten it, or choose a longer context with kv_cache.max_context "
                                       "(this model: up to {}).",
                                       engine.model->hp().n_ctx_model)};
    if (Status known = engine.outline().check_ids(request.prompt); !known) return known;
    if (request.n_choices < 1)
        return Error{Code::invalid, fmt::format("{} answers are asked for", request.n_choices),
                     "Choose 1 or more."};
    return {};
}

Expected<RequestId> Scheduler::submit(Request request, std::shared_ptr<RequestOwner> owner) {
    State& s = *state_;
    if (Status fits = s.check(request); !fits) return fits.error();
    auto ticket = std::make_shared<Ticket>();
    const int64_t left = s.n_ctx() - static_cast<int64_t>(request.prompt.size());
    const int64_t room = s.engine.kv.auto_evict ? std::max(left, request.max_tokens.value_or(0)) : left;
    ticket->most = std::clamp<int64_t>(request.max_tokens.value_or(room), 1, room);
    ticket->owner = std::move(owner);
    ticket->submitted = now_seconds();
    ticket->open = request.n_choices;
    ticket->unstarted = request.n_choices - 1;
    ticket->record.prompt_tokens = static_cast<int64_t>(request.prompt.size());
    ticket->record.dropped_tokens = request.dropped_tokens;
    ticket->request = std::move(request);
    RequestId id = 0;
    {
        const std::lock_guard lock(s.mutex);
        if (static_cast<size_t>(s.counters.waiting) >= s.options.most_waiting)
            return Error{
                Code::too_large,
                fmt::format("{} requests are waiting already, which is as many as may", s.counters.waiting),
                "Try again later."};
        id = ticket->id = s.next_id++;
        s.counters.waiting++;
        s.alive.insert(id);
        s.submitted.push_back(std::move(ticket));
    }
    s.changed.notify_all();
    return id;
}

void Scheduler::cancel(RequestId id) {
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->alive.contains(id)) return;
        state_->cancelled.insert(id);
    }
    state_->changed.notify_all();
}

bool Scheduler::step() { return state_->step(); }

void Scheduler::wait(Seconds seconds) {
    State& s = *state_;
    std::unique_lock lock(s.mutex);
    s.changed.wait_for(lock, std::chrono::duration<double>(seconds),
                       [&] { return !s.submitted.empty() || !s.cancelled.empty(); });
}

SchedulerCounters Scheduler::counters() const {
    const std::lock_guard lock(state_->mutex);
    return state_->counters;
}

std::optional<Error> Scheduler::failure() const {
    const std::lock_guard lock(state_->mutex);
    return state_->failure;
}

void Scheduler::drop_prefix_cache() {
    state_->store->tree().clear();
    state_->publish();
}

}  // namespace ft
