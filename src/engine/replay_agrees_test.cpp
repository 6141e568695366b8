// What `simulate` says of a recorded trace is what the running cache does: the same object decides in both.
#include <gtest/gtest.h>

#include "engine/golden_models.h"
#include "tiers/half_life.h"
#include "tiers/replay.h"

namespace ft {
namespace {

constexpr int k_prompt = 40, k_answer = 120;

struct Both {
    double live = 0;               // hit rate of the answer
    uint64_t live_hits = 0;        // and the hits
    ReplayCounts replay, smaller;  // with all slots, and without those that experts pass through
};

Both run_both(const std::string& policy, int n_prompt, double share) {
    LoadOptions options = streaming_options(k_mixture, share);
    options.expert_policy = policy;
    options.prefetch = false;
    auto engine = load(options);
    if (!engine) return {};
    auto session = engine->new_session();
    EXPECT_TRUE(session);
    Trace header{.n_experts = 32, .top_k = 8, .n_prompt = n_prompt};
    std::vector<Route> routes;
    (*session)->set_route_sink([&](const Route& route) { routes.push_back(route); });
    const auto ids = some_ids(n_prompt + k_answer, engine->n_vocab());
    EXPECT_TRUE((*session)->feed(std::span(ids).first(static_cast<size_t>(n_prompt))));
    const CacheStats before = engine->expert_stats();
    for (const int32_t id : std::span(ids).subspan(static_cast<size_t>(n_prompt)))
        EXPECT_TRUE((*session)->feed(std::span(&id, 1)));
    const CacheStats live = engine->expert_stats() - before;

    for (const Route& route : routes) header.n_layers = std::max(header.n_layers, route.layer + 1);
    TraceRecorder recorder(header);
    for (const Route& route : routes) recorder.add(route.layer, route.position, route.experts);
    const Trace trace = recorder.finish();
    const Replayer replayer(trace, one_slot_class(trace), engine->plan().chunk);
    const int64_t slots = engine->plan().n_ram_slots();
    const PolicyOptions how{.half_life = half_life_for(slots, trace.demand_slots())};
    Both both{.live = live.hit_rate(), .live_hits = live.hits, .replay = {}, .smaller = {}};
    for (const ReplayPolicy& row : replay_policies())
        if (row.name == policy) {
            both.replay = replayer.run(row, slots, how);
            both.smaller = replayer.run(row, slots - std::clamp<int64_t>(slots / 4, 1, 128), how);
        }
    EXPECT_EQ(both.replay.uses, live.hits + live.misses);
    return both;
}

TEST(ReplayAgrees, HitForHitWhereNoExpertPassesThrough) {
    for (const double share : {0.2, 0.5, 0.8}) {
        const Both both = run_both("lru", 1, share);
        EXPECT_EQ(both.live_hits, both.replay.hits) << share;
        EXPECT_EQ(both.live_hits > 0, share > 0.4) << "below one token's demand lru finds nothing";
    }
}

// With a guard or a floor some slots are places of passage, which the replay does not have: the running cache
// then lies between a replay with all slots and one without those. A prompt's chunk is one step in both; the
// order in which its experts enter differs.
TEST(ReplayAgrees, WithinTheSlotsOfPassageUnderAGuard) {
    for (const char* policy : {"lru", "lru-layer", "lfu", "lfru", "static"})
        for (const double share : {0.2, 0.5, 0.8}) {
            const Both both = run_both(policy, k_prompt, share);
            EXPECT_GE(both.live, both.smaller.hit_rate() - 0.02) << policy << " " << share;
            EXPECT_LE(both.live, both.replay.hit_rate() + 0.02) << policy << " " << share;
        }
}

}  // namespace
}  // namespace ft
