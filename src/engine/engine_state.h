// What an engine is made of, for the files of this folder that run sequences on it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "engine/expert_profile.h"
#include "gguf/gguf.h"
#include "kv/kept_states.h"
#include "model/guess_routers.h"
#include "model/model.h"
#include "tiers/expert_cache.h"
#include "tiers/idle_fill.h"
#include "tiers/memory_watch.h"
#include "tiers/plan.h"

namespace ft {

struct Engine::State {
    explicit State(Gguf gguf) : file(std::move(gguf)) {}
    Gguf file;
    ModelShape shape;  // what the plan was made of
    Plan plan;
    std::unique_ptr<Model> model;
    const Kernels* kernels = nullptr;
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<Ops> ops;
    std::optional<ExpertPack> pack;      // where experts are read from a copy
    std::string experts_from;            // what they are read from, a file or a folder
    GuessRouters guess_routers;          // where experts are guessed
    std::unique_ptr<ExpertCache> cache;  // where RAM holds some of the experts
    std::unique_ptr<IdleFill> fill;      // of the cache, until the first step
    std::optional<ExpertProfile> profile;
    int64_t n_ctx = 0;
    KvTypes kv_types;
    KvOptions kv;
    std::vector<std::string> notes;
    double load_ms = 0;
    uint64_t spare_ram = 0;  // bytes of the budget that nothing of the plan takes
    std::shared_ptr<EngineActivity> activity;
    MemoryWatch watch{0};
    std::function<Expected<Ram>()> read_memory;

    ~State() {
        if (fill) fill->stop();
        if (profile && cache) profile->write(cache->uses());
    }
    ModelOutline outline() const {
        return {.file = file,
                .n_vocab = model->hp().n_vocab,
                .n_ctx = n_ctx,
                .n_ctx_model = model->hp().n_ctx_model,
                .endless = kv.auto_evict};
    }
    void note_options(const LoadOptions& options);
    void note_memory(const KvOptions& options);
    Status make_plan(const LoadOptions& options, int threads);
    Expected<std::optional<SwapFolder>> choose_swap(const LoadOptions& options) const;
    Status make_cache(const LoadOptions& options, const std::optional<SwapFolder>& swap);
    // Begins to fill the slots: with what earlier runs used most (uses may be empty), then, if `others`, with
    // the others of all layers by turns.
    void fill_slots(const std::vector<uint32_t>& uses, bool others);
    // Before a step, where experts are streamed: the files must be as they were, and the cache is the step's.
    Status begin_step();
    // Other programs may have taken memory, or given some back.
    void keep_margin();
    // Tokens of a sequence of n_past that no token after them sees, once it has gone on beyond the context.
    int64_t forgotten(int64_t n_past) const {
        return kv.auto_evict && n_past > n_ctx ? std::max<int64_t>(0, n_past - plan.window - kv.sink_tokens)
                                               : 0;
    }
    CacheStats stats() const { return fill ? fill->stats() : cache ? cache->stats() : CacheStats{}; }
};

// Refuses a pool (0: as large as the plan's) that has no room for one sequence with the plan's window.
Status check_pool_holds_window(const Plan& plan, int64_t pool_tokens);

}  // namespace ft
