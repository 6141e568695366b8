// The scheduler on small models: whatever runs beside a request, it gets the tokens that it gets alone.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/scheduler_for_test.h"

namespace ft::scheduled {
namespace {

TEST(Scheduler, RandomSchedulesGiveWhatEachRequestGivesAlone) {
    for (const char* name : {"qwen35moe-q4k", "qwen3moe-q4km"}) {
        const Loaded model(std::string("tests/goldens/small/") + name + "/model.gguf", 512, 2);
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

// Two messages, and a third one that begins with `first`; each begins with a control token, as those of chats
// do.
std::vector<int32_t> three_messages(const Tokenizer& tokenizer, int64_t n_vocab, int first) {
    std::vector<int32_t> controls, words;
    for (int32_t id = 0; id < n_vocab; id++) {
        std::string bytes;
        tokenizer.append_bytes(id, false, bytes);
        (bytes.empty() ? controls : words).push_back(id);
    }
    EXPECT_FALSE(controls.empty());
    std::vector<int32_t> ids;
    if (controls.empty()) return ids;
    const auto add = [&](int n, int from) {
        ids.push_back(controls[0]);
        for (const int32_t i : some_ids(n, static_cast<int64_t>(words.size()), from))
            ids.push_back(words[static_cast<size_t>(i)]);
    };
    add(60, 3);
    add(60, 8);
    add(30, first);
    return ids;
}

TEST(Scheduler, ReadsAnEditedConversationFromTheLastMessageThatIsTheSame) {
    for (const char* path : {k_attention, k_recurrent}) {
        const Loaded model(path, 512);
        const auto scheduler = scheduler_of(
            model, {.prefix_cache_bytes = uint64_t{1} << 30, .state_checkpoint_bytes = uint64_t{1} << 30});
        const int64_t n_vocab = model.engine->n_vocab();
        const Request told = plain(three_messages(*model.tokenizer, n_vocab, 1), 12);
        const Request edited = plain(three_messages(*model.tokenizer, n_vocab, 2), 12);
        ASSERT_EQ(told.prompt.size(), 153u);
        // the last: what was kept for the first one was copied, not moved
        for (const auto& [request, least] : {std::pair(&told, 0), {&edited, 122}, {&told, 152}}) {
            const auto heard = std::make_shared<Heard>();
            ASSERT_TRUE(scheduler->submit(*request, heard));
            run_all(*scheduler);
            EXPECT_GE(heard->record.cached_tokens, least) << path;
            EXPECT_EQ(heard->choices[0].ids, alone(*model.engine, *request, 0)) << path;
        }
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

// Steps until the first token of a prompt of 90 tokens comes, in steps of 64.
int steps_to_first_token(Scheduler& scheduler, int64_t n_vocab) {
    const auto person = std::make_shared<Heard>();
    EXPECT_TRUE(scheduler.submit(plain(some_ids(90, n_vocab), 4), person));
    int steps = 0;
    for (; person->choices[0].ids.empty() && steps < 1000; steps++) scheduler.step();
    return steps;
}

// Its slots are its own, and so is the larger part of a step: with the batch lane full of long prompts and of
// answers, and many more waiting, a person waits at most twice as many steps as with nobody else. How long a
// step lasts is bounded too (inference.step_ms).
TEST(Scheduler, AFullBatchLaneAtMostDoublesTheStepsToAPersonsFirstToken) {
    const Loaded model(k_attention, 512);
    const int64_t n_vocab = model.engine->n_vocab();
    const SchedulerOptions options{
        .batch_size = 4, .interactive_slots = 2, .step_tokens = 64, .step_ms = 3.6e6};
    const auto idle = scheduler_of(model, options), busy = scheduler_of(model, options);
    const int alone_steps = steps_to_first_token(*idle, n_vocab);
    EXPECT_EQ(alone_steps, 2);
    std::vector<std::shared_ptr<Heard>> of_batch;
    for (int i = 0; i < 12; i++) {
        of_batch.push_back(std::make_shared<Heard>());
        ASSERT_TRUE(
            busy->submit(plain(some_ids(150 + 20 * i, n_vocab, i), 30, Lane::batch), of_batch.back()));
    }
    for (int person = 0; person < 12; person++) {
        EXPECT_GT(busy->counters().waiting + busy->counters().running, 1) << person;
        EXPECT_LE(steps_to_first_token(*busy, n_vocab), 2 * alone_steps) << person;
        for (int i = 0; i < 5; i++) busy->step();
    }
    run_all(*busy);
    for (const auto& heard : of_batch) EXPECT_EQ(heard->done, 1);
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

}  // namespace
}  // namespace ft::scheduled
