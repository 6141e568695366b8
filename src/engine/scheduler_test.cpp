// The scheduler on small models: whatever runs beside a request, it gets the tokens that it gets alone.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace ft {
namespace {

std::string source(const std::string& path) { return std::string(FREETOKEN_SOURCE_DIR) + "/" + path; }

struct Loaded {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Tokenizer> tokenizer;

    explicit Loaded(const std::string& path, int64_t n_ctx, int threads = 1) {
        LoadOptions options;
        options.model_path = source(path);
        options.threads = threads;
        options.n_ctx = n_ctx;
        auto made = Engine::load(options);
        EXPECT_TRUE(made) << (made ? "" : made.error().sentence());
        if (!made) return;
        engine = std::move(*made);
        auto vocabulary = Tokenizer::load(engine->file());
        EXPECT_TRUE(vocabulary);
        if (vocabulary) tokenizer = std::move(*vocabulary);
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
std::vector<int32_t> alone(Engine& engine, const Request& request, int choice) {
    auto session = engine.new_session();
    EXPECT_TRUE(session);
    Sampler sampler(request.sampling);
    for (const int32_t id : request.prompt) sampler.accept(id);
    EXPECT_TRUE((*session)->feed(request.prompt));
    std::vector<int32_t> ids;
    const int64_t room = engine.n_ctx() - static_cast<int64_t>(request.prompt.size());
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

std::unique_ptr<Scheduler> scheduler_of(const Loaded& model, const SchedulerOptions& options) {
    auto made = Scheduler::create(*model.engine, *model.tokenizer, options);
    EXPECT_TRUE(made) << (made ? "" : made.error().sentence());
    return made ? std::move(*made) : nullptr;
}

void expect_nothing_held(Scheduler& scheduler) {
    scheduler.drop_prefix_cache();
    const SchedulerCounters c = scheduler.counters();
    EXPECT_EQ(c.pages_used, 0u);
    EXPECT_EQ(c.checkpoints, 0u);
    EXPECT_EQ(c.parked_files, 0u);
    EXPECT_EQ(c.running, 0);
    EXPECT_EQ(c.waiting, 0);
}

// Requests with what they get alone. Prompts share beginnings, so that there is something to reuse.
struct Jobs {
    std::vector<Request> requests;
    std::vector<std::vector<std::vector<int32_t>>> expected;  // [request][choice]

    Jobs(Engine& engine, size_t n, int64_t longest_answer, uint32_t seed) {
        std::mt19937 random(seed);
        const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % most); };
        const int64_t n_vocab = engine.n_vocab();
        std::vector<std::vector<int32_t>> beginnings(3);
        for (auto& b : beginnings)
            for (int64_t i = 0, length = 1 + below(300); i < length; i++)
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
void random_schedule(const Loaded& model, const Jobs& jobs, uint32_t seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t most) { return static_cast<size_t>(random() % most); };
    SchedulerOptions options;
    options.batch_size = static_cast<int>(1 + below(8));
    options.interactive_slots = static_cast<int>(below(static_cast<size_t>(options.batch_size)));
    options.step_tokens = below(2) == 0 ? 0 : static_cast<int64_t>(1 + below(48));
    options.step_ms = below(2) == 0 ? 0.001 : 250;
    options.overcommit = below(2) == 0;
    if (below(2) == 0) options.park_dir = testing::TempDir();
    const int64_t n_ctx = model.engine->n_ctx();
    if (below(2) == 0) options.pool_tokens = n_ctx + static_cast<int64_t>(below(static_cast<size_t>(n_ctx)));
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
uint32_t schedules(uint32_t n, uint32_t all) {
    const char* const given = std::getenv("FREETOKEN_ALL_SCHEDULES");
    return given != nullptr && *given != '\0' ? all : n;
}

TEST(Scheduler, RandomSchedulesGiveWhatEachRequestGivesAlone) {
    for (const char* name : {"qwen35moe-q4k", "qwen3moe-q4km"}) {
        const Loaded model(std::string("tests/goldens/small/") + name + "/model.gguf", 512);
        ASSERT_NE(model.engine, nullptr);
        const Jobs jobs(*model.engine, 24, 40, 1);
        for (uint32_t seed = 0; seed < schedules(20, 200) && !HasFailure(); seed++)
            random_schedule(model, jobs, seed);
    }
}

TEST(Scheduler, RandomSchedulesOfTheDemoModel) {
    const Loaded model("models/freetoken-demo-q4_k_m.gguf", 512, 2);
    ASSERT_NE(model.engine, nullptr);
    const Jobs jobs(*model.engine, schedules(5, 16), 24, 2);
    for (uint32_t seed = 0; seed < schedules(3, 100) && !HasFailure(); seed++)
        random_schedule(model, jobs, seed);
}

Request plain(std::vector<int32_t> prompt, int64_t max_tokens, Lane lane = Lane::interactive) {
    Request r;
    r.prompt = std::move(prompt);
    r.sampling.temperature = 0;
    r.max_tokens = max_tokens;
    r.lane = lane;
    return r;
}

std::vector<int32_t> some_ids(int n, int64_t n_vocab, int first = 17) {
    std::vector<int32_t> ids;
    for (int i = 0; i < n; i++) ids.push_back(static_cast<int32_t>((first + i * 7919) % n_vocab));
    return ids;
}

const char* const k_recurrent = "tests/goldens/small/qwen35moe-q4k/model.gguf";
const char* const k_attention = "tests/goldens/small/qwen3moe-q4km/model.gguf";

void run_all(Scheduler& scheduler) {
    for (int i = 0; scheduler.step(); i++) ASSERT_LT(i, 100000);
}

TEST(Scheduler, CutsMaxTokensToTheContextAndRefusesAPromptThatFillsIt) {
    const Loaded model(k_attention, 64);
    const auto scheduler = scheduler_of(model, {});
    const auto heard = std::make_shared<Heard>();
    ASSERT_TRUE(scheduler->submit(plain(some_ids(50, model.engine->n_vocab()), 5000), heard));
    run_all(*scheduler);
    EXPECT_EQ(heard->choices[0].ids.size(), 14u);
    EXPECT_EQ(heard->choices[0].reason, FinishReason::length);
    const auto refused = scheduler->submit(plain(some_ids(64, model.engine->n_vocab()), 1), heard);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_NE(refused.error().what.find("64"), std::string::npos);
    EXPECT_FALSE(refused.error().remedy.empty());
    EXPECT_FALSE(scheduler->submit(plain({}, 1), heard));
    EXPECT_FALSE(scheduler->submit(plain({-1}, 1), heard));
}

TEST(Scheduler, RefusesSlotsThatLeaveTheBatchLaneNone) {
    const Loaded model(k_attention, 64);
    const auto refused =
        Scheduler::create(*model.engine, *model.tokenizer, {.batch_size = 4, .interactive_slots = 4});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("interactive_slots"), std::string::npos);
    EXPECT_NE(refused.error().what.find("batch_size"), std::string::npos);
}

TEST(Scheduler, ReadsAConversationThatGoesOnFromWhereItStood) {
    for (const char* path : {k_attention, k_recurrent}) {
        const Loaded model(path, 512);
        const auto scheduler = scheduler_of(
            model, {.prefix_cache_bytes = uint64_t{1} << 30, .state_checkpoint_bytes = uint64_t{1} << 30});
        const int64_t n_vocab = model.engine->n_vocab();
        const auto first = std::make_shared<Heard>(), second = std::make_shared<Heard>(),
                   third = std::make_shared<Heard>();
        Request turn = plain(some_ids(200, n_vocab), 20);
        ASSERT_TRUE(scheduler->submit(turn, first));
        run_all(*scheduler);
        EXPECT_EQ(first->record.cached_tokens, 0);
        ASSERT_TRUE(scheduler->submit(turn, second));  // the same again
        run_all(*scheduler);
        EXPECT_EQ(second->record.cached_tokens, 199) << path;
        EXPECT_EQ(second->choices[0].ids, first->choices[0].ids);
        const auto& said = first->choices[0].ids;
        turn.prompt.insert(turn.prompt.end(), said.begin(), said.end());
        for (const int32_t id : some_ids(10, n_vocab, 5)) turn.prompt.push_back(id);
        ASSERT_TRUE(scheduler->submit(turn, third));
        run_all(*scheduler);
        EXPECT_GE(third->record.cached_tokens, 219) << path;
        EXPECT_EQ(third->choices[0].ids, alone(*model.engine, turn, 0));
        EXPECT_EQ(scheduler->counters().cached_tokens,
                  static_cast<uint64_t>(199 + third->record.cached_tokens));
        expect_nothing_held(*scheduler);
    }
}

TEST(Scheduler, ChoicesShareThePromptOfTheFirstEvenWithoutAPrefixCache) {
    for (const char* path : {k_attention, k_recurrent}) {
        const Loaded model(path, 512);
        const auto scheduler = scheduler_of(model, {});
        const auto heard = std::make_shared<Heard>();
        Request r = plain(some_ids(300, model.engine->n_vocab()), 4);
        r.sampling.temperature = 1;
        r.n_choices = 6;
        ASSERT_TRUE(scheduler->submit(r, heard));
        run_all(*scheduler);
        EXPECT_EQ(scheduler->counters().prompt_tokens, 300u + 5) << path;  // one each for the other choices
        ASSERT_EQ(heard->choices.size(), 6u);
        for (int c = 0; c < 6; c++) EXPECT_EQ(heard->choices[c].ids, alone(*model.engine, r, c));
        expect_nothing_held(*scheduler);
    }
}

TEST(Scheduler, WithTooFewPagesTheYoungestOfTheBatchLaneIsParkedAndComesBack) {
    for (const std::string& folder : {std::string(), testing::TempDir()}) {
        const Loaded model(k_recurrent, 512);
        const auto scheduler = scheduler_of(
            model, {.interactive_slots = 1, .pool_tokens = 768, .overcommit = true, .park_dir = folder});
        std::vector<std::shared_ptr<Heard>> heard;
        std::vector<Request> requests;
        for (int i = 0; i < 4; i++) {
            requests.push_back(plain(some_ids(100, model.engine->n_vocab(), i), 300,
                                     i == 0 ? Lane::interactive : Lane::batch));
            heard.push_back(std::make_shared<Heard>());
            ASSERT_TRUE(scheduler->submit(requests.back(), heard.back()));
        }
        uint64_t most_files = 0;
        while (scheduler->step()) most_files = std::max(most_files, scheduler->counters().parked_files);
        EXPECT_EQ(most_files > 0, !folder.empty());
        EXPECT_GT(scheduler->counters().parked, 0u);
        EXPECT_EQ(heard[0]->record.parked, 0);
        for (size_t i = 0; i < 4; i++)
            EXPECT_EQ(heard[i]->choices[0].ids, alone(*model.engine, requests[i], 0)) << i;
        expect_nothing_held(*scheduler);
    }
}

TEST(Scheduler, AFolderThatCannotBeWrittenTurnsParkingOffAndLosesNoAnswer) {
    const Loaded model(k_attention, 512);
    const auto scheduler = scheduler_of(model, {.interactive_slots = 0,
                                                .pool_tokens = 512,
                                                .overcommit = true,
                                                .park_dir = testing::TempDir() + "/missing"});
    std::vector<std::shared_ptr<Heard>> heard;
    const Request r = plain(some_ids(100, model.engine->n_vocab()), 300, Lane::batch);
    for (int i = 0; i < 3; i++) {
        heard.push_back(std::make_shared<Heard>());
        ASSERT_TRUE(scheduler->submit(r, heard.back()));
    }
    testing::internal::CaptureStderr();
    run_all(*scheduler);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_GT(scheduler->counters().parked, 1u);
    const size_t warning = said.find("Nothing is parked there any more");
    EXPECT_NE(warning, std::string::npos) << said;
    EXPECT_EQ(said.find("Nothing is parked there any more", warning + 1), std::string::npos) << said;
    const auto want = alone(*model.engine, r, 0);
    for (const auto& h : heard) EXPECT_EQ(h->choices[0].ids, want);
}

TEST(Scheduler, CancelledRequestsEndWithinAStepWhereverTheyAre) {
    const Loaded model(k_attention, 512);
    const auto scheduler = scheduler_of(model, {.batch_size = 1, .interactive_slots = 0, .step_tokens = 16});
    const auto running = std::make_shared<Heard>(), waiting = std::make_shared<Heard>();
    const auto a = scheduler->submit(plain(some_ids(300, model.engine->n_vocab()), 100), running);
    const auto b = scheduler->submit(plain(some_ids(300, model.engine->n_vocab()), 100), waiting);
    ASSERT_TRUE(a && b);
    scheduler->step();
    scheduler->cancel(*a);
    scheduler->cancel(*b);
    scheduler->cancel(12345);  // unknown
    EXPECT_FALSE(scheduler->step());
    for (const auto& heard : {running, waiting}) {
        EXPECT_EQ(heard->done, 1);
        EXPECT_EQ(heard->choices[0].reason, FinishReason::cancelled);
    }
    EXPECT_GT(running->record.prefill_ms, 0);
    EXPECT_GT(waiting->record.queue_ms, 0);
    expect_nothing_held(*scheduler);
}

TEST(Scheduler, NeitherLaneStarves) {
    const Loaded model(k_attention, 64);
    const auto scheduler = scheduler_of(model, {.batch_size = 2, .interactive_slots = 1});
    const auto ids = some_ids(4, model.engine->n_vocab());
    const auto of_batch = std::make_shared<Heard>();
    std::vector<std::shared_ptr<Heard>> people;
    const auto arrive = [&] {
        people.push_back(std::make_shared<Heard>());
        ASSERT_TRUE(scheduler->submit(plain(ids, 6), people.back()));
    };
    for (int i = 0; i < 8; i++) arrive();
    ASSERT_TRUE(scheduler->submit(plain(ids, 6, Lane::batch), of_batch));
    int steps = 0;
    for (; of_batch->done == 0 && steps < 1000; steps++) {
        if (steps % 2 == 0) arrive();  // faster than they are answered
        scheduler->step();
    }
    EXPECT_LT(steps, 30);
    EXPECT_EQ(people[0]->done, 1);
}

// Any thread may ask and cancel while another one steps.
TEST(Scheduler, RequestsComeFromOtherThreads) {
    const Loaded model(k_attention, 128);
    const auto scheduler = scheduler_of(model, {});
    constexpr int k_each = 20;
    std::atomic<int> asking = 2;
    std::vector<std::shared_ptr<Heard>> heard(2 * k_each);
    const auto ask = [&](int who) {
        for (int i = 0; i < k_each; i++) {
            const auto owner = heard[static_cast<size_t>(who * k_each + i)] = std::make_shared<Heard>();
            const auto id = scheduler->submit(plain(some_ids(1 + i, model.engine->n_vocab(), i), 5,
                                                    who == 0 ? Lane::batch : Lane::interactive),
                                              owner);
            if (id && i % 4 == 0) scheduler->cancel(*id);
            (void)scheduler->counters();
        }
        asking--;
    };
    std::thread first(ask, 0), second(ask, 1);
    while (scheduler->step() || asking > 0) scheduler->wait(0.001);
    first.join();
    second.join();
    run_all(*scheduler);
    for (const auto& h : heard) EXPECT_EQ(h->done, 1);
    expect_nothing_held(*scheduler);
}

TEST(Scheduler, ManyRequestsLeaveNothingBehind) {
    const Loaded model(k_recurrent, 256);
    std::mt19937 random(3);
    const auto below = [&](size_t most) { return static_cast<size_t>(random() % most); };
    const auto scheduler = scheduler_of(model, {.batch_size = 8,
                                                .interactive_slots = 2,
                                                .pool_tokens = 640,
                                                .overcommit = true,
                                                .park_dir = testing::TempDir(),
                                                .prefix_cache_bytes = uint64_t{1} << 18,
                                                .state_checkpoint_bytes = uint64_t{1} << 21});
    const uint32_t n = schedules(600, 10000);
    std::vector<RequestId> ids;
    for (uint32_t i = 0; i < n; i++) {
        const auto length = static_cast<int>(below(8) == 0 ? 1 + below(200) : 1 + below(12));
        Request r = plain(some_ids(length, model.engine->n_vocab(), static_cast<int>(below(3))),
                          static_cast<int64_t>(1 + below(below(20) == 0 ? 200 : 6)),
                          below(2) == 0 ? Lane::batch : Lane::interactive);
        r.n_choices = below(10) == 0 ? 3 : 1;
        const auto id = scheduler->submit(std::move(r), std::make_shared<Heard>());
        ASSERT_TRUE(id);
        ids.push_back(*id);
        if (below(5) == 0) scheduler->cancel(ids[ids.size() - 1 - below(std::min<size_t>(ids.size(), 30))]);
        while (scheduler->counters().waiting > 30) scheduler->step();
    }
    run_all(*scheduler);
    EXPECT_EQ(scheduler->counters().done, n);
    EXPECT_GT(scheduler->counters().parked, 0u);
    expect_nothing_held(*scheduler);
}

}  // namespace
}  // namespace ft
