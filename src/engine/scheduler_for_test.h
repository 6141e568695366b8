// For tests of the scheduler: small models, what requests are told, what each gets alone, random schedules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "gguf/gguf.h"
#include "kv/kv_shape.h"
#include "text/tokenizer.h"
#include "tiers/plan.h"

namespace ft::scheduled {

inline std::string source(const std::string& path) { return std::string(FREETOKEN_SOURCE_DIR) + "/" + path; }

struct Loaded {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Tokenizer> tokenizer;

    explicit Loaded(const std::string& path, int64_t n_ctx, int threads = 1)
        : Loaded(path, options_of(n_ctx, threads)) {}
    Loaded(const std::string& path, LoadOptions options) {
        options.model_path = source(path);
        auto made = Engine::load(options);
        EXPECT_TRUE(made) << (made ? "" : made.error().sentence());
        if (!made) return;
        engine = std::move(*made);
        auto vocabulary = Tokenizer::load(engine->file());
        EXPECT_TRUE(vocabulary);
        if (vocabulary) tokenizer = std::move(*vocabulary);
    }
    static LoadOptions options_of(int64_t n_ctx, int threads) {
        LoadOptions options;
        options.threads = threads;
        options.n_ctx = n_ctx;
        return options;
    }
};

// What a request was told.
struct Heard : RequestOwner {
    struct OfChoice {
        std::vector<int32_t> ids;
        std::string text;
        int ends = 0;
        FinishReason reason = FinishReason::error;
        std::string error;
    };
    std::map<int, OfChoice> choices;
    RequestRecord record;
    int done = 0;

    void on_token(const TokenEvent& token) override {
        EXPECT_EQ(choices[token.choice].ends, 0);
        choices[token.choice].ids.push_back(token.id);
        choices[token.choice].text += token.text;
    }
    void on_end(const ChoiceEnd& end) override {
        OfChoice& c = choices[end.choice];
        c.ends++;
        c.reason = end.reason;
        c.text += end.text;
        if (end.error != nullptr) c.error = end.error->sentence();
    }
    void on_done(const RequestRecord& its) override {
        done++;
        record = its;
    }
};

// The plain way: one session, one token after the other.
inline std::vector<int32_t> alone(Engine& engine, const Request& request, int choice) {
    auto session = engine.new_session();
    EXPECT_TRUE(session);
    Sampler sampler(request.sampling);
    for (const int32_t id : request.prompt) sampler.accept(id);
    EXPECT_TRUE((*session)->feed(request.prompt));
    std::vector<int32_t> ids;
    const int64_t left = engine.n_ctx() - static_cast<int64_t>(request.prompt.size());
    const int64_t room = engine.endless() ? std::max(left, request.max_tokens.value_or(0)) : left;
    const int64_t most = std::min(request.max_tokens.value_or(room), room);
    for (int64_t n = 0; n < most; n++) {
        const int32_t id = *sampler.sample((*session)->logits(), static_cast<uint64_t>((*session)->n_past()),
                                           static_cast<uint64_t>(choice));
        if (std::ranges::find(request.end_ids, id) != request.end_ids.end()) break;
        sampler.accept(id);
        ids.push_back(id);
        if (n + 1 == most) break;
        EXPECT_TRUE((*session)->feed({&id, 1}));
    }
    return ids;
}

inline std::unique_ptr<Scheduler> scheduler_of(const Loaded& model, const SchedulerOptions& options) {
    auto made = Scheduler::create(*model.engine, *model.tokenizer, options);
    EXPECT_TRUE(made) << (made ? "" : made.error().sentence());
    return made ? std::move(*made) : nullptr;
}

inline void expect_nothing_held(Scheduler& scheduler) {
    scheduler.drop_prefix_cache();
    const SchedulerCounters c = scheduler.counters();
    EXPECT_EQ(c.pages_used, 0u);
    EXPECT_EQ(c.checkpoints, 0u);
    EXPECT_EQ(c.parked_files, 0u);
    EXPECT_EQ(c.parked_bytes, 0u);
    EXPECT_EQ(c.running, 0);
    EXPECT_EQ(c.waiting, 0);
}

// Requests with what they get alone. Prompts share beginnings, so that there is something to reuse.
struct Jobs {
    std::vector<Request> requests;
    std::vector<std::vector<std::vector<int32_t>>> expected;  // [request][choice]

    Jobs(Engine& engine, size_t n, int64_t longest_answer, uint32_t seed, int64_t longest_beginning = 300) {
        std::mt19937 random(seed);
        const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % most); };
        const int64_t n_vocab = engine.n_vocab();
        std::vector<std::vector<int32_t>> beginnings(3);
        for (auto& b : beginnings)
            for (int64_t i = 0, length = 1 + below(longest_beginning); i < length; i++)
                b.push_back(static_cast<int32_t>(below(n_vocab)));
        for (size_t i = 0; i < n; i++) {
            Request r;
            const auto& b = beginnings[i % beginnings.size()];
            r.prompt.assign(b.begin(), b.begin() + 1 + below(static_cast<int64_t>(b.size())));
            for (int64_t k = below(20); k > 0; k--) r.prompt.push_back(static_cast<int32_t>(below(n_vocab)));
            r.sampling.temperature = i % 3 == 0 ? 0.0f : 1.0f;
            r.sampling.seed = i;
            r.max_tokens = 1 + below(longest_answer);
            r.end_ids = {static_cast<int32_t>(below(n_vocab)), static_cast<int32_t>(below(n_vocab))};
            r.n_choices = i % 5 == 4 ? 3 : 1;
            r.lane = i % 2 == 0 ? Lane::batch : Lane::interactive;
            expected.emplace_back();
            for (int c = 0; c < r.n_choices; c++) expected.back().push_back(alone(engine, r, c));
            requests.push_back(std::move(r));
        }
    }
};

// One random schedule: options, order, times of arrival and cancelled neighbours are all drawn.
inline void random_schedule(const Loaded& model, const Jobs& jobs, uint32_t seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t most) { return static_cast<size_t>(random() % most); };
    SchedulerOptions options;
    options.batch_size = static_cast<int>(1 + below(8));
    options.interactive_slots = static_cast<int>(below(static_cast<size_t>(options.batch_size)));
    options.step_tokens = below(2) == 0 ? 0 : static_cast<int64_t>(1 + below(48));
    options.step_ms = below(2) == 0 ? 0.001 : 250;
    options.overcommit = below(2) == 0;
    if (below(2) == 0) options.park_dir = testing::TempDir();
    if (below(2) == 0) options.park_ram_bytes = below(size_t{1} << 20);
    const int64_t least = model.engine->plan().sequence_pages * k_kv_block;
    if (below(2) == 0) options.pool_tokens = least + static_cast<int64_t>(below(static_cast<size_t>(least)));
    if (below(4) != 0) options.prefix_cache_bytes = uint64_t{1} << (16 + below(10));
    if (below(4) != 0) options.state_checkpoint_bytes = uint64_t{1} << (16 + below(10));
    const auto scheduler = scheduler_of(model, options);
    ASSERT_NE(scheduler, nullptr);

    struct Running {
        size_t job;
        RequestId id;
        std::shared_ptr<Heard> heard;
        bool cancelled;
    };
    std::vector<Running> all;
    const size_t n = 2 + below(7);
    const auto over = [](const Running& one) { return one.heard->done > 0; };
    for (int steps = 0; all.size() < n || !std::ranges::all_of(all, over); steps++) {
        ASSERT_LT(steps, 100000);
        if (all.size() < n && below(3) == 0) {
            Running one{below(jobs.requests.size()), 0, std::make_shared<Heard>(), false};
            auto id = scheduler->submit(jobs.requests[one.job], one.heard);
            ASSERT_TRUE(id) << id.error().sentence();
            one.id = *id;
            all.push_back(one);
        }
        if (!all.empty() && below(40) == 0) {
            Running& one = all[below(all.size())];
            one.cancelled = true;
            scheduler->cancel(one.id);
        }
        scheduler->step();
    }
    for (const Running& one : all) {
        EXPECT_EQ(one.heard->done, 1);
        const auto& expected = jobs.expected[one.job];
        EXPECT_EQ(one.heard->choices.size(), expected.size());
        for (const auto& [choice, heard] : one.heard->choices) {
            EXPECT_EQ(heard.ends, 1);
            const auto& want = expected[static_cast<size_t>(choice)];
            if (heard.reason == FinishReason::cancelled) {
                EXPECT_TRUE(one.cancelled);
                ASSERT_LE(heard.ids.size(), want.size());
                EXPECT_TRUE(std::equal(heard.ids.begin(), heard.ids.end(), want.begin())) << "seed " << seed;
            } else {
                EXPECT_NE(heard.reason, FinishReason::error) << heard.error;
                EXPECT_EQ(heard.ids, want) << "seed " << seed << ", request " << one.job;
            }
        }
    }
    expect_nothing_held(*scheduler);
}

// How many of `n` random schedules are run: all of them where the whole suite is asked for.
inline uint32_t schedules(uint32_t n, uint32_t all) {
    const char* const given = std::getenv("FREETOKEN_ALL_SCHEDULES");
    return given != nullptr && *given != '\0' ? all : n;
}

inline Request plain(std::vector<int32_t> prompt, int64_t max_tokens, Lane lane = Lane::interactive) {
    Request r;
    r.prompt = std::move(prompt);
    r.sampling.temperature = 0;
    r.max_tokens = max_tokens;
    r.lane = lane;
    return r;
}

inline std::vector<int32_t> some_ids(int n, int64_t n_vocab, int first = 17) {
    std::vector<int32_t> ids;
    for (int i = 0; i < n; i++) ids.push_back(static_cast<int32_t>((first + i * 7919) % n_vocab));
    return ids;
}

inline constexpr const char* k_recurrent = "tests/goldens/small/qwen35moe-q4k/model.gguf";
inline constexpr const char* k_attention = "tests/goldens/small/qwen3moe-q4km/model.gguf";

inline void run_all(Scheduler& scheduler) {
    for (int i = 0; scheduler.step(); i++) ASSERT_LT(i, 100000);
}

}  // namespace ft::scheduled
