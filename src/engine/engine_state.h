// What an engine is made of, for the files of this folder that run sequences on it.
#pragma once

#include <memory>
#include <optional>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "engine/expert_profile.h"
#include "gguf/gguf.h"
#include "model/model.h"
#include "tiers/expert_cache.h"
#include "tiers/plan.h"

namespace ft {

struct Engine::State {
    explicit State(Gguf gguf) : file(std::move(gguf)) {}
    Gguf file;
    Plan plan;
    std::unique_ptr<Model> model;
    const Kernels* kernels = nullptr;
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<Ops> ops;
    std::unique_ptr<ExpertCache> cache;  // where RAM holds some of the experts
    std::optional<ExpertProfile> profile;
    int64_t n_ctx = 0;
    KvType kv_type = KvType::f16;
    double load_ms = 0;
    std::shared_ptr<EngineActivity> activity;

    ~State() {
        if (profile && cache) profile->write(cache->uses());
    }
    Status make_plan(const LoadOptions& options);
    Status make_cache(const LoadOptions& options);
    CacheStats stats() const { return cache ? cache->stats() : CacheStats{}; }
};

}  // namespace ft
