#include "engine/engine.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/gib_digits.h"
#include "base/log.h"
#include "base/size_text.h"
#include "device/cpu.h"
#include "engine/engine_state.h"
#include "engine/machine_profile.h"
#include "engine/model_shape.h"
#include "engine/sequence_file.h"
#include "tiers/half_life.h"
#include "tiers/plan_predict.h"

namespace ft {

namespace {

constexpr int64_t k_default_ctx = 8192;
constexpr int64_t k_head_rows = 16;  // rows of logits that feed_all() works out at a time

Expected<int64_t> context_length(const LoadOptions& options, int64_t n_ctx_model) {
    const int64_t chosen = options.n_ctx == 0 ? std::min(n_ctx_model, k_default_ctx) : options.n_ctx;
    const int64_t n_ctx = std::max(chosen, options.n_ctx_least);
    if (n_ctx <= n_ctx_model) return n_ctx;
    if (n_ctx > options.n_ctx)
        return Error{Code::too_large,
                     fmt::format("{} tokens are to be read or written, but the model was made for {}", n_ctx,
                                 n_ctx_model),
                     "Give or ask for fewer."};
    return Error{
        Code::too_large,
        fmt::format("a context of {} tokens is asked for, but the model was made for {}", n_ctx, n_ctx_model),
        fmt::format("Choose {} or less by --ctx (kv_cache.max_context), or leave it out.", n_ctx_model)};
}

// The plan keeps its budget, and the machine has less just now.
Error too_little_available(const Plan& plan, const Ram& ram) {
    const uint64_t available = ram.fillable_bytes();
    const char* const more = available < ram.available_bytes ? "Raise the limit on address space (ulimit -v)"
                                                             : "Close other programs";
    const int digits = gib_digits(plan.total.ram, available);
    Error error{
        Code::too_large,
        fmt::format("not enough memory: the plan takes {:.{}f} GiB of RAM, but {:.{}f} GiB are available",
                    gib(plan.total.ram), digits, gib(available), digits),
        ""};
    if (available >= plan.minimum_ram)
        error.remedy = fmt::format("{}, or lower memory.ram_budget (--ram) to {} GiB.", more,
                                   gib_rounded_down(available, plan.minimum_ram));
    else
        error.remedy = fmt::format(
            "{}: {:.{}f} GiB are the least that works. A shorter context (--ctx) or a smaller model takes "
            "less.",
            more, gib(plan.minimum_ram), gib_digits(plan.minimum_ram, available));
    return error;
}

}  // namespace

// Without a window a small pool makes the context smaller, which is said (note_memory).
Status check_pool_holds_window(const Plan& plan, int64_t pool_tokens) {
    if (plan.window == 0 || pool_tokens == 0 || kv_pages(pool_tokens) >= plan.sequence_pages) return {};
    const int64_t least = plan.sequence_pages * k_kv_block;
    return Error{Code::invalid,
                 fmt::format("kv_cache.pool_tokens is {}, but a sequence with a window of {} tokens takes {} "
                             "with its first tokens and a step",
                             pool_tokens, plan.window, least),
                 fmt::format("Choose pool_tokens of {} or more.", least)};
}

struct Session::State {
    Engine::State& engine;
    std::unique_ptr<PagePool> pool;  // as many pages as one sequence may take
    SequenceMemory memory;
    int64_t n_past = 0;
    Buffer<float> logits;      // [n_vocab] of the last id
    Buffer<float> all_logits;  // [k_head_rows, n_vocab], made when it is first needed
    bool has_logits = false;
    KeptStates kept;  // of recurrent layers
    CacheStats stats;
    std::function<void(const Route&)> route_sink;

    // Some ids of a feed as one step. After an error the ids are not part of the sequence, and where the
    // model has recurrent layers it is back where its state was last kept. `stop` ends a step of several
    // tokens at its next layer; a single token is finished, because a conversation is worth more than the
    // moment.
    Status step(std::span<const int32_t> ids, const std::atomic<bool>* stop) {
        const Slice slice{
            .memory = &memory, .first = 0, .count = static_cast<int>(ids.size()), .position = n_past};
        if (route_sink)
            engine.ops->on_route = [this](int layer, int token, std::span<const int32_t> chosen) {
                Route route{
                    .layer = layer, .position = n_past + token, .experts = {chosen.begin(), chosen.end()}};
                route_sink(route);
            };
        else engine.ops->on_route = nullptr;
        if (Status s = engine.begin_step(); !s) return s;
        memory.kv.slide(n_past, engine.plan.window, engine.kv.sink_tokens);
        check(memory.kv.reserve(n_past + static_cast<int64_t>(ids.size())), "a plan with too few pages");
        const CacheStats before = engine.stats();
        const Status status =
            engine.model->forward(*engine.ops, {&slice, 1}, ids, ids.size() > 1 ? stop : nullptr);
        stats += engine.stats() - before;
        if (status) count(ids.size());
        else if (engine.model->hp().has_recurrent()) go_back(n_past);
        return status;
    }
    void count(size_t n) {
        n_past += static_cast<int64_t>(n);
        (n == 1 ? engine.activity->generated_tokens : engine.activity->prompt_tokens) += n;
    }
    void clear() {
        n_past = 0;
        has_logits = false;
        memory.kv.truncate(0);
        memory.state.clear();
        kept.clear();
    }
    // To the last position up to n that can be gone back to.
    void go_back(int64_t n) {
        if (engine.model->hp().has_recurrent()) n = kept.newest(n).value_or(0);
        if (n == 0 || !memory.kv.holds(n, engine.plan.window, engine.kv.sink_tokens)) return clear();
        if (engine.model->hp().has_recurrent()) kept.restore(n, memory.state);
        memory.kv.truncate(n);
        n_past = n;
        has_logits = false;
    }
    Status check_ids(std::span<const int32_t> ids) const { return engine.outline().check_ids(ids, n_past); }
};

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

Expected<std::unique_ptr<Engine>> Engine::load(const LoadOptions& options) {
    const Seconds start = now_seconds();
    auto kernels = choose_kernels();
    if (!kernels) return kernels.error();
    auto file = Gguf::open(options.model_path);
    if (!file) return file.error();
    auto state = std::make_unique<State>(std::move(*file));
    auto model = Model::bind(state->file, options.top_k_experts);
    if (!model) return model.error();
    state->model = std::move(*model);
    state->activity = options.activity;
    auto n_ctx = context_length(options, state->model->hp().n_ctx_model);
    if (!n_ctx) return n_ctx.error().within(options.model_path);
    state->n_ctx = *n_ctx;
    state->kernels = options.reference ? &reference_kernels() : *kernels;
    state->kv = options.kv;
    state->kv_types = options.reference ? KvTypes{KvType::f32, KvType::f32} : options.kv.types;
    state->note_options(options);
    const int threads = options.threads > 0 ? options.threads : physical_cores();
    if (Status s = state->make_plan(options, threads); !s) return s.error().within(options.model_path);
    if (options.before_weights)
        if (Status s = options.before_weights(state->outline()); !s) return s.error();
    const auto swap = state->choose_swap(options);
    if (!swap) return swap.error();
    const ModelLoad how{.experts = state->plan.experts_resident,
                        .open_file = options.open_file,
                        .progress = options.progress};
    if (Status s = state->model->load(how); !s) return s.error();
    state->pool = std::make_unique<ThreadPool>(threads);
    state->ops =
        std::make_unique<Ops>(state->model->hp(), state->model->arch().renormalise, *state->kernels,
                              *state->pool, state->model->rope(), static_cast<int>(state->plan.chunk));
    state->ops->use_window(state->plan.window, options.kv.sink_tokens);
    if (!state->plan.experts_resident)
        if (Status s = state->make_cache(options, *swap); !s) return s.error();
    state->load_ms = (now_seconds() - start) * 1e3;
    return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

void Engine::State::note_options(const LoadOptions& options) {
    const KvShape shape = model->kv_shape(kv_types);
    if (shape.type_k != kv_types.k || shape.type_v != kv_types.v)
        notes.push_back(
            fmt::format("keys and values stay f16: heads of {} and {} values cannot be cut into "
                        "blocks of 32.",
                        shape.dim_k, shape.dim_v));
    if (options.reference && (options.kv.types.k != KvType::f16 || options.kv.types.v != KvType::f16))
        notes.push_back("keys and values are f32: that is what --reference computes with.");
    if (model->hp().has_recurrent() && (options.kv.sliding_window > 0 || options.kv.auto_evict))
        notes.push_back(
            "kv_cache.sliding_window and kv_cache.auto_evict hold for attention alone: the model's recurrent "
            "layers (delta net) have a state of a fixed size, and nothing is taken out of it.");
    const auto own = model->own_top_k();
    if (own > model->hp().top_k)
        notes.push_back(
            fmt::format("a token uses {} experts of each layer in place of the model's own {}: "
                        "answers get worse.",
                        model->hp().top_k, own));
}

// Settings that the plan could not take as they are.
void Engine::State::note_memory(const KvOptions& options) {
    if (options.auto_evict && plan.window < options.sliding_window)
        notes.push_back(
            fmt::format("kv_cache.sliding_window of {} is more than the context of {} has room for beside "
                        "the first {}: a token sees the last {}.",
                        options.sliding_window, n_ctx, options.sink_tokens, plan.window));
    else if (!options.auto_evict && options.sliding_window >= n_ctx)
        notes.push_back(fmt::format(
            "kv_cache.sliding_window of {} is no shorter than the context of {}: nothing is forgotten.",
            options.sliding_window, n_ctx));
    const int64_t pool = plan.pool_pages * k_kv_block;
    if (plan.window == 0 && pool < n_ctx)
        notes.push_back(
            fmt::format("kv_cache.pool_tokens ({}) is less than the context of {} tokens: prompt "
                        "and answer have {} together.",
                        options.pool_tokens, n_ctx, pool));
}

Status Engine::State::make_plan(const LoadOptions& options, int threads) {
    experts_from = options.model_path;
    read_memory = options.read_memory;
    const auto ram = read_memory();
    if (!ram) return ram.error();
    const Machine machine{.ram_total = ram->total_bytes, .ram_available = ram->fillable_bytes(), .card = {}};
    PlanSettings settings;
    settings.ram_budget = options.ram_budget;
    settings.prefetch = options.prefetch;
    settings.cpu_offload = options.cpu_offload;
    settings.n_ctx = n_ctx;
    settings.n_sequences = options.steps.batch_size;
    settings.chunk = options.chunk;
    settings.pool_tokens = options.kv.pool_tokens;
    settings.window = options.kv.sliding_window;
    settings.sinks = options.kv.sink_tokens;
    settings.endless = options.kv.auto_evict;
    settings.requests = options.requests;
    settings.state_checkpoint_bytes = options.kv.state_checkpoint_bytes;
    shape = model_shape(file, *model, kv_types, *kernels, threads);
    plan = ft::plan(machine, shape, settings);
    if (Status s = check_first_tokens(settings, plan.n_ctx); !s) return s;
    if (Status s = check_pool_holds_window(plan, options.kv.pool_tokens); !s) return s;
    note_memory(options.kv);
    if (!plan.fits)
        return Error{Code::too_large, plan.shortage, shortage_remedy(machine, shape, settings, plan)};
    const uint64_t fillable = ram->fillable_bytes();
    if (plan.total.ram > fillable) return too_little_available(plan, *ram);
    const uint64_t allowed = std::min(plan.ram_budget, fillable);
    spare_ram = allowed > plan.total.ram ? allowed - plan.total.ram : 0;
    watch = MemoryWatch(ft::memory_margin(ram->total_bytes, ram->available_bytes - plan.total.ram),
                        options.memory_look_seconds);
    return {};
}

Expected<std::optional<SwapFolder>> Engine::State::choose_swap(const LoadOptions& options) const {
    if (options.swap_dir.empty()) return std::optional<SwapFolder>();
    if (plan.experts_resident) {
        log("mem", "memory.swap_dir: {}, so nothing is copied to the folder", k_all_in_ram);
        return std::optional<SwapFolder>();
    }
    auto chosen = SwapFolder::choose(options.swap_dir, options.model_path,
                                     ExpertPack::bytes_of(model->expert_records()), options.compare_drives);
    if (!chosen) return chosen.error();
    return std::optional(std::move(*chosen));
}

Status Engine::State::begin_step() {
    if (!cache) return {};
    if (Status s = model->check_files(); !s) return s;
    if (fill) fill->stop();
    keep_margin();
    return {};
}

void Engine::State::keep_margin() {
    const Seconds now = now_seconds();
    if (!watch.is_due(now)) return;
    const auto ram = read_memory();
    if (!ram) return;
    const bool was_whole = cache->n_parked() == 0;
    const int64_t change = watch.change(now, ram->available_bytes, cache->bytes_parked());
    if (change < 0) cache->give_back(static_cast<uint64_t>(-change));
    if (change > 0) cache->take_again(static_cast<uint64_t>(change));
    const bool is_whole = cache->n_parked() == 0;
    if (was_whole && !is_whole)
        log("mem",
            "other programs need memory ({} available, {} are to stay so): {} of {} slots for experts are "
            "given back, answers get slower",
            size_text(ram->available_bytes), size_text(watch.margin()), cache->n_parked(), cache->n_slot());
    if (!was_whole && is_whole)
        log("mem", "memory is free again: all {} slots for experts are in use", cache->n_slot());
}

Status Engine::State::make_cache(const LoadOptions& options, const std::optional<SwapFolder>& swap) {
    CacheOptions how;
    how.policy = options.expert_policy;
    how.method = options.reads_by_threads ? ReadMethod::threads : ReadMethod::automatic;
    how.look_ahead = options.prefetch;
    how.threads = pool->size();
    if (options.warm_start && model->hp().n_expert > 0) {
        const auto n_layer =
            static_cast<size_t>(std::count_if(model->layers().begin(), model->layers().end(),
                                              [](const Layer& layer) { return layer.is_mixture(); }));
        profile.emplace(file, n_layer, static_cast<size_t>(model->hp().n_expert));
        how.profile = profile->read();
    }
    ExpertRecords records = model->expert_records();
    if (swap) pack = swap->pack(records, options.open_file, options.progress);
    if (pack) {
        records = pack->records();
        experts_from = options.swap_dir;
    }
    how.policy_options.half_life = half_life_for(plan.n_ram_slots(), shape.demand_slots());
    for (size_t i = 0; i < records.size(); i++) records[i].size_class = shape.mixtures[i].expert_class;
    for (const ExpertClass& kind : shape.classes) how.least_slots.push_back(kind.top_k);
    auto made = ExpertCache::create(std::move(records), plan.ram_slots, how);
    if (!made) return made.error();
    cache = std::move(*made);
    if (options.prefetch) guess_routers = GuessRouters(model->layers());
    ops->use_cache(*cache, guess_routers);
    if (options.prefetch || !how.profile.empty()) fill_slots(how.profile, options.prefetch);
    return {};
}

void Engine::State::fill_slots(const std::vector<uint32_t>& uses, bool others) {
    std::vector<std::pair<int, int>> experts;
    if (!uses.empty()) experts = profile->hottest(uses);
    if (others)
        for (int expert = 0; expert < model->hp().n_expert; expert++)
            for (int layer = 0; layer < static_cast<int>(shape.mixtures.size()); layer++)
                if (expert < shape.mixtures[static_cast<size_t>(layer)].n_expert)
                    experts.emplace_back(layer, expert);
    cache->warm(experts);
    fill = std::make_unique<IdleFill>(*cache);
}

const Gguf& Engine::file() const { return state_->file; }
int64_t Engine::n_ctx() const { return state_->n_ctx; }
int64_t Engine::n_vocab() const { return state_->model->hp().n_vocab; }
int64_t Engine::n_ctx_model() const { return state_->model->hp().n_ctx_model; }
int Engine::threads() const { return state_->pool->size(); }
KvTypes Engine::kv_types() const {
    const KvShape kv = state_->model->kv_shape(state_->kv_types);
    return {.k = kv.type_k, .v = kv.type_v};
}
const char* Engine::kernels_name() const { return state_->kernels->name; }
const std::vector<std::string>& Engine::notes() const { return state_->notes; }
bool Engine::endless() const { return state_->kv.auto_evict; }
int64_t Engine::forgotten(int64_t n_past) const { return state_->forgotten(n_past); }
double Engine::load_ms() const { return state_->load_ms; }
const Plan& Engine::plan() const { return state_->plan; }
std::optional<Prediction> Engine::prediction() const {
    const auto profile = known_machine_profile(state_->experts_from);
    if (!profile) return std::nullopt;
    return predict(Machine{}, state_->shape, state_->plan, with_threads(*profile, threads()));
}
bool Engine::slots_filled_within(Seconds most) { return !state_->fill || state_->fill->done_within(most); }
uint64_t Engine::slot_bytes() const { return state_->cache ? state_->cache->bytes() : 0; }
bool Engine::experts_resident() const { return state_->plan.experts_resident; }
uint64_t Engine::memory_margin() const { return state_->watch.margin(); }
int64_t Engine::slots_given_back() const { return state_->cache ? state_->cache->n_parked() : 0; }
bool Engine::reads_pack() const { return state_->pack.has_value(); }
CacheStats Engine::expert_stats() const { return state_->stats(); }
uint64_t Engine::bytes_loaded() const {
    return state_->model->weight_bytes() - (experts_resident() ? 0 : state_->model->expert_bytes());
}
uint64_t Engine::bytes_per_token() const { return state_->model->bytes_per_token(); }
uint64_t Engine::kv_bytes() const {
    return state_->model->kv_shape(state_->kv_types).page_bytes() *
           static_cast<uint64_t>(state_->plan.sequence_pages);
}

Expected<std::unique_ptr<Session>> Engine::new_session() {
    auto pool = PagePool::create(state_->model->kv_shape(state_->kv_types), state_->plan.sequence_pages);
    if (!pool) return pool.error();
    KvSequence kv(**pool);
    auto session = std::unique_ptr<Session::State>(new Session::State{
        .engine = *state_,
        .pool = std::move(*pool),
        .memory = SequenceMemory{std::move(kv), RecurrentState(state_->model->recurrent_shape())},
        .logits = Buffer<float>(static_cast<size_t>(n_vocab())),
        .all_logits = {},
        .kept = KeptStates(std::min(k_kept_states, state_->plan.state_copies)),
        .stats = {},
        .route_sink = {}});
    return std::unique_ptr<Session>(new Session(std::move(session)));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Status ModelOutline::check_ids(std::span<const int32_t> ids, int64_t n_past) const {
    for (int32_t id : ids)
        if (id < 0 || id >= n_vocab)
            return Error{Code::invalid,
                         fmt::format("the id {} is outside the vocabulary of {} tokens", id, n_vocab),
                         fmt::format("Ids lie between 0 and {}.", n_vocab - 1)};
    if (!endless && static_cast<int64_t>(ids.size()) > n_ctx - n_past)
        return Error{
            Code::too_large,
            fmt::format("{} tokens do not fit the context of {}, of which {} are in use", ids.size(), n_ctx,
                        n_past),
            fmt::format("Shorten the text, or choose a longer context with --ctx (this model: up to {}).",
                        n_ctx_model)};
    return {};
}

Status Session::feed(std::span<const int32_t> ids, const std::atomic<bool>* stop) {
    if (Status s = state_->check_ids(ids); !s) return s;
    State& s = *state_;
    const Seconds start = now_seconds();
    const auto chunk = static_cast<size_t>(s.engine.ops->max_token());
    for (size_t begin = 0; begin < ids.size(); begin += chunk) {
        if (stop != nullptr && stop->load(std::memory_order_relaxed))
            return Error{Code::negative, "stopped while the prompt was read", ""};
        const auto part = ids.subspan(begin, std::min(chunk, ids.size() - begin));
        if (Status status = s.step(part, stop); !status) return status;
        if (begin + part.size() == ids.size()) {
            const auto n_vocab = static_cast<int64_t>(s.logits.size());
            s.engine.model->head(*s.engine.ops, static_cast<int64_t>(part.size()) - 1,
                                 {s.logits.data(), 1, n_vocab, n_vocab});
            s.has_logits = true;
        }
    }
    if (ids.size() == 1) s.engine.activity->generated_in(now_seconds() - start);
    return {};
}

Status Session::feed_all(std::span<const int32_t> ids,
                         const std::function<Status(std::span<const float>)>& sink) {
    if (Status s = state_->check_ids(ids); !s) return s;
    State& s = *state_;
    const auto n_vocab = static_cast<int64_t>(s.logits.size());
    if (s.all_logits.size() == 0) s.all_logits = Buffer<float>(static_cast<size_t>(k_head_rows * n_vocab));
    const auto chunk = static_cast<size_t>(s.engine.ops->max_token());
    for (size_t begin = 0; begin < ids.size(); begin += chunk) {
        const auto part = ids.subspan(begin, std::min(chunk, ids.size() - begin));
        if (Status status = s.step(part, nullptr); !status) return status;
        for (int64_t row = 0; row < static_cast<int64_t>(part.size()); row += k_head_rows) {
            const int64_t rows = std::min<int64_t>(k_head_rows, static_cast<int64_t>(part.size()) - row);
            s.engine.model->head(*s.engine.ops, row, {s.all_logits.data(), rows, n_vocab, n_vocab});
            for (int64_t i = 0; i < rows; i++)
                if (Status status = sink({s.all_logits.data() + i * n_vocab, static_cast<size_t>(n_vocab)});
                    !status)
                    return status;
            std::copy_n(s.all_logits.data() + (rows - 1) * n_vocab, n_vocab, s.logits.data());
            s.has_logits = true;
        }
    }
    return {};
}

std::span<const float> Session::logits() const {
    return state_->has_logits ? state_->logits.span() : std::span<const float>{};
}
int64_t Session::n_past() const { return state_->n_past; }
int64_t Session::step_tokens() const { return state_->engine.ops->max_token(); }
CacheStats Session::expert_stats() const { return state_->stats; }

void Session::clear() { state_->clear(); }

int64_t Session::rewind(int64_t n_past) {
    check(n_past >= 0 && n_past <= state_->n_past, "rewind to a position that was never reached");
    if (n_past < state_->n_past) state_->go_back(n_past);
    return state_->n_past;
}

bool Session::keeps_states() const { return state_->kept.most() > 0; }
void Session::keep_state() { state_->kept.keep(state_->memory.state, state_->n_past); }

Status Session::save(const std::string& path, std::span<const int32_t> ids, const std::string& note) const {
    const State& s = *state_;
    check(static_cast<int64_t>(ids.size()) == s.n_past, "other ids are saved than were fed");
    return write_sequence(path, sequence_model_key(s.engine.file), {{ids.begin(), ids.end()}, note}, *s.pool,
                          s.memory);
}

Expected<Session::Saved> Session::load(const std::string& path) {
    State& s = *state_;
    const uint64_t model = sequence_model_key(s.engine.file);
    auto saved = read_saved(path, model, *s.pool, s.memory.state);
    if (!saved) return saved.error();
    const auto n = static_cast<int64_t>(saved->ids.size());
    if (n > s.engine.n_ctx && !s.engine.kv.auto_evict)
        return Error{Code::too_large,
                     fmt::format("{}: saved with {} tokens, but the context has room for {}", printable(path),
                                 n, s.engine.n_ctx),
                     fmt::format("Choose a longer context with --ctx {} or more.", n + 1)};
    s.clear();
    if (Status read = read_sequence(path, model, *s.pool, s.memory); !read) {
        s.clear();
        return read.error();
    }
    if (!s.memory.kv.holds(n, s.engine.plan.window, s.engine.kv.sink_tokens)) {
        s.clear();
        return Error{Code::unsupported,
                     fmt::format("{}: saved with a shorter window, so that positions are missing that are "
                                 "in sight now",
                                 printable(path)),
                     "Choose the kv_cache.sliding_window and kv_cache.sink_tokens that it was saved with."};
    }
    s.n_past = n;
    return Saved{std::move(saved->ids), std::move(saved->note)};
}

void Session::set_route_sink(std::function<void(const Route&)> sink) { state_->route_sink = std::move(sink); }

}  // namespace ft
