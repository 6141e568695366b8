// The cache of experts on files in memory: leases, waves, failures, places of passage.
#include "tiers/expert_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "base/few_threads_for_test.h"
#include "io/memory_file.h"
#include "tiers/file_pattern_for_test.h"
#include "tiers/guess_worth.h"
#include "tiers/idle_fill.h"

namespace ft {
namespace {

using ::testing::HasSubstr;

constexpr int k_layers = 3, k_experts = 16;
constexpr uint64_t k_sizes[] = {5000, 4097};  // of the two slices of an expert
constexpr uint64_t k_stack_begin[] = {123, 300'001};

// Every byte depends on its place; reads from `bad_from` on fail.
class PatternFile final : public File {
 public:
    explicit PatternFile(uint64_t size) : File("pattern.gguf"), size_(size) {}
    uint64_t size() const override { return size_; }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override {
        n_read++;
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        if (offset + to.size() > bad_from)
            return Error{Code::io, fmt::format("pattern.gguf: cannot read at byte {}", offset), ""};
        for (size_t i = 0; i < to.size(); i++) to[i] = byte_at(offset + i);
        return {};
    }
    mutable std::atomic<int> n_read{0};
    std::chrono::milliseconds delay{0};  // of every read
    std::atomic<uint64_t> bad_from{UINT64_MAX};

 private:
    uint64_t size_;
};

class ExpertCacheTest : public ::testing::Test {
 protected:
    ExpertRecords records(int n_expert = k_experts) const {
        ExpertRecords all;
        for (int layer = 0; layer < k_layers; layer++) {
            ExpertLayer record{.size_class = 0, .n_expert = n_expert, .stacks = {}};
            for (int s = 0; s < 2; s++) record.stacks.push_back({&file_, place(layer, 0, s), k_sizes[s]});
            all.push_back(record);
        }
        return all;
    }
    static uint64_t place(int layer, int expert, int slice) {
        return static_cast<uint64_t>(layer) * 1'000'000 + k_stack_begin[slice] +
               static_cast<uint64_t>(expert) * k_sizes[slice];
    }
    void make(int64_t n_slot, const std::string& policy = "lfu", int n_expert = k_experts) {
        CacheOptions options;
        options.policy = policy;
        auto cache = ExpertCache::create(records(n_expert), std::vector<int64_t>{n_slot}, options);
        ASSERT_TRUE(cache) << cache.error().what;
        cache_ = std::move(*cache);
    }
    // Every layer's experts in one step, as a long prompt asks for them.
    void long_step() {
        std::vector<int32_t> ids;
        for (int i = 0; i < 2 * k_experts; i++) ids.push_back(i % k_experts);
        cache_->begin_step(2);
        for (int layer = 0; layer < k_layers; layer++) EXPECT_EQ(visit(layer, ids).size(), size_t{k_experts});
    }
    std::vector<std::pair<int, int>> all_by_turns() const {
        std::vector<std::pair<int, int>> all;
        for (int expert = 0; expert < k_experts; expert++)
            for (int layer = 0; layer < k_layers; layer++) all.emplace_back(layer, expert);
        return all;
    }
    static void expect_content(const Lease& lease, int layer) {
        for (int s = 0; s < 2; s++)
            for (uint64_t i = 0; i < k_sizes[s]; i += 97)
                ASSERT_EQ(lease.slice(s)[i], byte_at(place(layer, lease.expert(), s) + i))
                    << "layer " << layer << " expert " << lease.expert();
    }
    // The experts in the order in which they were handed out.
    std::vector<int> visit(int layer, const std::vector<int32_t>& ids) {
        std::vector<int> order;
        std::vector<Lease> ready;
        cache_->begin(layer, ids, ready);
        do {
            for (const Lease& lease : ready) {
                expect_content(lease, layer);
                order.push_back(lease.expert());
            }
        } while (cache_->next(ready));
        return order;
    }

    PatternFile file_{4'000'000};
    std::unique_ptr<ExpertCache> cache_;
};

TEST_F(ExpertCacheTest, WhatIsResidentComesAtOnceAndIsReadOnce) {
    make(8);
    cache_->begin_step();
    EXPECT_EQ(visit(0, {3, 1}).size(), 2u);
    const int reads = file_.n_read;
    std::vector<Lease> ready;
    cache_->begin(0, std::vector<int32_t>{1, 3, 7}, ready);
    EXPECT_EQ(ready.size(), 2u);
    ASSERT_TRUE(cache_->next(ready));
    EXPECT_EQ(ready.size(), 1u);
    EXPECT_EQ(ready[0].expert(), 7);
    EXPECT_FALSE(cache_->next(ready));
    EXPECT_EQ(file_.n_read, reads + 2);
    const CacheStats stats = cache_->stats();
    EXPECT_EQ(stats.hits, 2u);
    EXPECT_EQ(stats.misses, 3u);
    EXPECT_EQ(stats.bytes_read, 3 * (k_sizes[0] + k_sizes[1]));
}

TEST_F(ExpertCacheTest, AGuessIsReadOnceAndOnlyWhenNothingNeededIsLeftToRead) {
    make(8);
    cache_->begin_step();
    std::vector<Lease> ready;
    cache_->begin(0, std::vector<int32_t>{3}, ready);
    ASSERT_TRUE(cache_->wants_guess());
    cache_->guess(1, std::vector<int32_t>{5, 6});
    const uint64_t one = k_sizes[0] + k_sizes[1];
    EXPECT_EQ(cache_->stats().bytes_read, one) << "the guess waits for the needed read";
    while (cache_->next(ready)) {
    }
    EXPECT_EQ(cache_->stats().bytes_read, 3 * one);
    EXPECT_EQ(visit(1, {5, 6}).size(), 2u);
    EXPECT_EQ(cache_->stats().bytes_read, 3 * one) << "what was guessed is not read again";
}

TEST_F(ExpertCacheTest, GuessesTakeAFewPlacesOfTheLeastValuableAndNoMore) {
    make(8);  // two of them may be places of passage
    cache_->begin_step();
    EXPECT_EQ(visit(0, {0, 1, 2, 3, 4, 5, 6, 7}).size(), 8u);
    const std::vector<int32_t> used_twice = {0, 1, 2, 3, 4, 5};
    EXPECT_EQ(visit(0, used_twice).size(), 6u);
    const uint64_t one = k_sizes[0] + k_sizes[1], before = cache_->stats().bytes_read;
    cache_->guess(1, std::vector<int32_t>{8, 9, 10, 11});
    EXPECT_EQ(cache_->stats().bytes_read, before + 2 * one);
    EXPECT_EQ(visit(0, used_twice).size(), 6u);
    EXPECT_EQ(cache_->stats().bytes_read, before + 2 * one) << "what is used more than others stayed";
}

TEST_F(ExpertCacheTest, ALongStepFillsItsPlacesWithGuessesOfTheNextLayerAndLosesNone) {
    make(16);  // four of them may be places of passage
    std::vector<int32_t> all(k_experts);
    for (int i = 0; i < k_experts; i++) all[static_cast<size_t>(i)] = i;
    cache_->begin_step();
    EXPECT_EQ(visit(0, all).size(), 16u);
    EXPECT_EQ(visit(0, all).size(), 16u);
    std::vector<int32_t> long_step;  // of 16 tokens, which all ask for experts 0 and 1
    for (int i = 0; i < 32; i++) long_step.push_back(i % 2);
    std::vector<Lease> ready;
    cache_->begin(1, long_step, ready);
    ASSERT_TRUE(cache_->wants_guess());
    cache_->guess(2, all);
    while (cache_->next(ready)) {
    }
    const uint64_t one = k_sizes[0] + k_sizes[1];
    for (int i = 0; i < 100; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        cache_->tend();
    }
    EXPECT_EQ(cache_->stats().bytes_read, (16 + 2 + 4) * one);
    for (size_t i = 0; i < long_step.size(); i++) long_step[i] = static_cast<int32_t>(i % 4);
    EXPECT_EQ(visit(2, long_step).size(), 4u);
    EXPECT_EQ(cache_->stats().bytes_read, (16 + 2 + 4) * one) << "a guess drove out another";
    EXPECT_FALSE(cache_->wants_guess()) << "nothing was missed";
}

TEST(GuessWorth, StopsForAWhileWhenMostGuessesAreWrong) {
    GuessWorth worth;
    EXPECT_TRUE(worth.pays());
    for (int i = 0; i < 64; i++) worth.judged(i % 3 == 0);
    EXPECT_FALSE(worth.pays());
    int visits = 0;
    while (!worth.pays() && visits < 5000) {
        worth.visited(1);
        visits++;
    }
    EXPECT_EQ(visits, 1024);
    for (int i = 0; i < 640; i++) worth.judged(i % 3 != 0);
    EXPECT_TRUE(worth.pays());
}

TEST(GuessWorth, StopsWhereNothingIsMissed) {
    GuessWorth worth;
    for (int i = 0; i < 1000; i++) worth.visited(0);
    EXPECT_FALSE(worth.pays());
    for (int i = 0; i < 10; i++) worth.visited(2);
    EXPECT_TRUE(worth.pays());
}

// How often `trial` guesses in the last 640 of 1600 steps, each as long as `seconds` says.
int kept_with_guesses(GuessTrial& trial, const std::function<double(bool guesses, int step)>& seconds) {
    int n = 0;
    for (int step = 0; step < 1600; step++) {
        const bool guesses = trial.with_guesses();
        if (step >= 960) n += guesses;
        trial.stepped(seconds(guesses, step), 1);
    }
    return n;
}

TEST(GuessTrial, KeepsWhatIsFasterAndTriesTheOtherNowAndThen) {
    std::minstd_rand random(7);
    const auto noise = [&] { return 0.9 + 0.2 * static_cast<double>(random() % 1000) / 1000; };
    GuessTrial quick, slow;
    const int most = kept_with_guesses(quick, [&](bool g, int) { return (g ? 0.96 : 1.0) * noise(); });
    EXPECT_GT(most, 580) << "of 640 steps, pairs included";
    EXPECT_LT(most, 640) << "the other way was not tried";
    EXPECT_LT(kept_with_guesses(slow, [&](bool g, int) { return (g ? 1.04 : 1.0) * noise(); }), 60);
    // the drive becomes slow while it runs: guesses pay again
    EXPECT_GT(kept_with_guesses(slow, [&](bool g, int) { return (g ? 0.9 : 1.0) * noise(); }), 580);
}

TEST(GuessTrial, AStallOrAMachineThatGetsSlowerDoesNotDecide) {
    GuessTrial trial;
    kept_with_guesses(
        trial, [](bool g, int step) { return (step == 1 ? 50 : 1) * (1 + 1e-3 * step) * (g ? 0.95 : 1.0); });
    EXPECT_NEAR(trial.gain(), -std::log(0.95), 0.01);
}

TEST(GuessTrial, StepsOfOtherNumbersOfTokensAreNotCompared) {
    GuessTrial trial;
    for (int step = 0; step < 1000; step++) {
        const int n_token = 1 + step % 3;
        trial.stepped(trial.with_guesses() ? 2.0 * n_token : n_token, n_token);
    }
    EXPECT_EQ(trial.gain(), 0);
    EXPECT_TRUE(trial.with_guesses()) << "guessing is what is done until something says otherwise";
}

TEST_F(ExpertCacheTest, MoreExpertsThanSlotsComeInWavesEachOnce) {
    std::vector<int32_t> all(k_experts);
    for (int i = 0; i < k_experts; i++) all[static_cast<size_t>(i)] = i;
    for (const PolicyRow& policy : policies())
        for (const int64_t n_slot : {1, 2, 5}) {
            make(n_slot, policy.name);
            for (int step = 0; step < 3; step++) {
                cache_->begin_step();
                for (int layer = 0; layer < k_layers; layer++) {
                    const std::vector<int> order = visit(layer, all);
                    EXPECT_EQ(order.size(), all.size()) << policy.name << " " << n_slot;
                    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), all.size());
                }
            }
            EXPECT_TRUE(cache_->status());
        }
}

TEST_F(ExpertCacheTest, ALeasedSlotKeepsItsContentWhateverIsRead) {
    make(6);
    cache_->begin_step();
    std::vector<Lease> ready, kept;
    cache_->begin(0, std::vector<int32_t>{5}, ready);
    ASSERT_TRUE(cache_->next(ready));
    kept.push_back(std::move(ready[0]));
    EXPECT_FALSE(cache_->next(ready));
    std::minstd_rand random(1);
    for (int step = 0; step < 200; step++) {
        cache_->begin_step();
        std::vector<int32_t> ids;
        for (int i = 0; i < 4; i++) ids.push_back(static_cast<int32_t>(random() % k_experts));
        std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        EXPECT_EQ(visit(static_cast<int>(random() % k_layers), ids).size(), ids.size());
        ASSERT_EQ(kept[0].expert(), 5);
        expect_content(kept[0], 0);
    }
}

TEST_F(ExpertCacheTest, AFailedReadEndsTheVisitAndTheNextStepIsWhole) {
    make(4);
    cache_->begin_step();
    file_.bad_from = place(1, 3, 0);
    std::vector<Lease> ready;
    cache_->begin(1, std::vector<int32_t>{1, 2, 9, 12, 14}, ready);
    while (cache_->next(ready)) {
    }
    ASSERT_FALSE(cache_->status());
    EXPECT_THAT(cache_->status().error().what, HasSubstr("pattern.gguf: cannot read at byte"));
    file_.bad_from = UINT64_MAX;
    cache_->begin_step();
    EXPECT_TRUE(cache_->status());
    EXPECT_EQ(visit(1, {1, 2, 9, 12, 14}).size(), 5u);
    EXPECT_TRUE(cache_->status());
}

TEST_F(ExpertCacheTest, WarmExpertsAreReadBeforeAnyoneAsks) {
    make(8);
    const std::pair<int, int> hot[] = {{2, 4}, {2, 5}};
    cache_->warm(hot);
    cache_->begin_step();
    for (int i = 0; i < 4; i++) visit(0, {0});
    std::vector<Lease> ready;
    cache_->begin(2, std::vector<int32_t>{4, 5}, ready);
    size_t n = ready.size();
    while (cache_->next(ready)) n += ready.size();
    EXPECT_EQ(n, 2u);
    EXPECT_EQ(cache_->stats().bytes_read, 3 * (k_sizes[0] + k_sizes[1]));
}

// A cache that drove out what the next layers are about to ask for would find nothing at all.
TEST_F(ExpertCacheTest, LongStepsOneAfterTheOtherFindWhatIsThere) {
    constexpr int k_slots = 24, k_passing = k_slots / 4;  // for 48 experts
    make(k_slots);
    for (int step = 0; step < 4; step++) {
        const CacheStats before = cache_->stats();
        long_step();
        const uint64_t hits = cache_->stats().hits - before.hits;
        if (step > 0) {
            EXPECT_GE(hits, uint64_t{k_slots - k_passing}) << step;
        }
        EXPECT_EQ(cache_->stats().misses - before.misses + hits, uint64_t{k_layers * k_experts});
    }
}

TEST_F(ExpertCacheTest, ALongStepLeavesFreeSlotsToTheLayersThatCome) {
    make(24);  // six of them for passage: six for each layer
    long_step();
    std::vector<int32_t> ids;
    for (int i = 0; i < 2 * k_experts; i++) ids.push_back(i % k_experts);
    cache_->begin_step(2);
    for (int layer = 0; layer < k_layers; layer++) {
        const uint64_t before = cache_->stats().hits;
        EXPECT_EQ(visit(layer, ids).size(), size_t{k_experts});
        EXPECT_GE(cache_->stats().hits - before, 6u) << layer;
    }
}

TEST_F(ExpertCacheTest, AfterALongStepThatStaysWhichItsLastTokensAskedForMost) {
    make(12);  // three of them for passage: three for each layer
    std::vector<int32_t> ids;
    for (int expert = 0; expert < k_experts; expert++) ids.push_back(expert);  // eight tokens
    for (int token = 0; token < 8; token++) ids.insert(ids.end(), {5, 9});
    cache_->begin_step(16);
    for (int layer = 0; layer < k_layers; layer++) EXPECT_EQ(visit(layer, ids).size(), size_t{k_experts});
    const uint64_t before = cache_->stats().hits;
    cache_->begin_step();
    for (int layer = 0; layer < k_layers; layer++) visit(layer, {5, 9});
    EXPECT_EQ(cache_->stats().hits - before, 2u * k_layers);
}

// The reads that come next wait for the places of passage.
TEST_F(ExpertCacheTest, ALongStepComputesAFewAtATimeAndWhatPassesThroughFirst) {
    constexpr int k_many = 40, k_stay = 20;
    make(80, "lfu", k_many);  // 20 of them for passage: 20 for each layer
    std::vector<int32_t> ids;
    for (int token = 0; token < k_many; token++)  // the first half of the experts is asked for last
        for (int i = 0; i < 2; i++) ids.push_back((2 * token + i + k_stay) % k_many);
    cache_->begin_step(k_many);
    std::vector<Lease> ready;
    cache_->begin(0, ids, ready);
    EXPECT_TRUE(ready.empty());
    for (int i = 0; i < 10'000 && file_.n_read < 2 * k_many; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::vector<size_t> batches;
    size_t n = 0;
    while (cache_->next(ready)) {
        for (const Lease& lease : ready) {
            expect_content(lease, 0);
            if (batches.empty()) {
                EXPECT_GE(lease.expert(), k_stay);
            }
        }
        batches.push_back(ready.size());
        n += ready.size();
    }
    EXPECT_EQ(n, size_t{k_many});
    EXPECT_THAT(batches, ::testing::Each(::testing::Le(16u)));
}

TEST_F(ExpertCacheTest, WhatIsWaitedForCountsAsReadMeanwhile) {
    file_.delay = std::chrono::milliseconds(30);
    make(4);
    cache_->begin_step();
    visit(0, {3, 7});
    const CacheStats stats = cache_->stats();
    EXPECT_GT(stats.wait_seconds, 0.01);
    EXPECT_LE(stats.bytes_waited_for, static_cast<double>(stats.bytes_read));
    EXPECT_GT(stats.bytes_waited_for, 0.2 * static_cast<double>(stats.bytes_read));
    EXPECT_GT(stats.waited_gb_per_second(), 0.0);
    const CacheStats twice = (stats - CacheStats{}) += stats;
    EXPECT_DOUBLE_EQ(twice.waited_gb_per_second(), stats.waited_gb_per_second());
    // What came while nobody waited does not count.
    std::vector<Lease> ready;
    cache_->begin(1, std::vector<int32_t>{1}, ready);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    while (cache_->next(ready)) {
    }
    EXPECT_LE(cache_->stats().bytes_waited_for, 0.9 * static_cast<double>(cache_->stats().bytes_read));
}

TEST_F(ExpertCacheTest, SlotsThatWereFilledWhileNothingWasAskedServeTheFirstLongStep) {
    constexpr int k_slots = 24;
    make(k_slots);
    const auto all = all_by_turns();
    cache_->warm(all);
    IdleFill fill(*cache_);
    ASSERT_TRUE(fill.done_within(60));
    const uint64_t one = k_sizes[0] + k_sizes[1];
    EXPECT_EQ(fill.stats().bytes_read, k_slots * one) << "each free slot once";
    fill.stop();
    long_step();
    EXPECT_GE(cache_->stats().hits, uint64_t{k_slots * 3 / 4});
    EXPECT_LE(cache_->stats().bytes_read, (k_layers * k_experts + k_slots / 4) * one);
}

TEST_F(ExpertCacheTest, AFillThatIsStoppedLeavesAWholeCache) {
    for (int round = 0; round < 50; round++) {
        make(24);
        const auto all = all_by_turns();
        cache_->warm(all);
        IdleFill fill(*cache_);
        if (round % 2 == 1) std::this_thread::sleep_for(std::chrono::microseconds(20 * round));
        fill.stop();
        long_step();
        EXPECT_TRUE(cache_->status());
    }
}

TEST_F(ExpertCacheTest, WithoutAThreadNothingIsFilledAndAllElseWorks) {
    make(24);
    const auto all = all_by_turns();
    cache_->warm(all);
    const uint64_t begun = cache_->stats().bytes_read;  // by warm() itself
    EXPECT_LT(begun, 24 * (k_sizes[0] + k_sizes[1]));
    sigset_t before, after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    const auto fill = [&] {
        const FewThreads none(0);
        return std::make_unique<IdleFill>(*cache_);
    }();
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
    EXPECT_TRUE(fill->done_within(60));
    EXPECT_EQ(fill->stats().bytes_read, begun);
    fill->stop();
    long_step();
    EXPECT_TRUE(cache_->status());
}

TEST_F(ExpertCacheTest, AFillThatCannotReadFailsNoStepThatAsksForSomethingElse) {
    make(24);
    file_.bad_from = place(1, 0, 0);
    const auto all = all_by_turns();
    cache_->warm(all);
    IdleFill fill(*cache_);
    ASSERT_TRUE(fill.done_within(60)) << "each is tried once";
    fill.stop();
    cache_->begin_step();
    EXPECT_EQ(visit(0, {1, 2, 9}).size(), 3u);
    EXPECT_TRUE(cache_->status());
    std::vector<Lease> ready;
    cache_->begin(1, std::vector<int32_t>{4}, ready);
    while (cache_->next(ready)) {
    }
    EXPECT_FALSE(cache_->status());
}

TEST_F(ExpertCacheTest, GivesTheLeastValuableSlotsBackAndTakesThemAgain) {
    for (const PolicyRow& policy : policies()) {
        make(10, policy.name);
        for (int step = 0; step < 20; step++) {
            cache_->begin_step();
            for (int layer = 0; layer < k_layers; layer++) visit(layer, {1, 2, 3 + step % 9});
        }
        const uint64_t slot = cache_->bytes() / 10;
        EXPECT_EQ(cache_->give_back(4 * slot - 1), 4 * slot) << "whole slots";
        EXPECT_EQ(cache_->n_parked(), 4);
        EXPECT_EQ(cache_->bytes_parked(), 4 * slot);
        cache_->begin_step();
        for (int layer = 0; layer < k_layers; layer++) EXPECT_EQ(visit(layer, {1, 2, 7, 9}).size(), 4u);
        EXPECT_EQ(cache_->give_back(UINT64_MAX), 5 * slot) << "one slot of a class stays";
        cache_->begin_step();
        for (int layer = 0; layer < k_layers; layer++) EXPECT_EQ(visit(layer, {0, 5, 11, 15}).size(), 4u);
        EXPECT_EQ(cache_->take_again(3 * slot + 1), 3 * slot);
        EXPECT_EQ(cache_->take_again(UINT64_MAX), 6 * slot);
        EXPECT_EQ(cache_->n_parked(), 0);
        cache_->begin_step();
        for (int layer = 0; layer < k_layers; layer++) EXPECT_EQ(visit(layer, {0, 5, 11, 15}).size(), 4u);
    }
}

// The experts that the policy values most are still there afterwards.
TEST_F(ExpertCacheTest, WhatIsUsedMostStaysWhenMemoryIsGivenBack) {
    make(8);
    for (int step = 0; step < 40; step++) {
        cache_->begin_step();
        visit(0, {4, 6});
        visit(1, {step % k_experts});
    }
    cache_->give_back(cache_->bytes() / 8 * 4);
    cache_->begin_step();
    std::vector<Lease> ready;
    cache_->begin(0, std::vector<int32_t>{4, 6}, ready);
    EXPECT_EQ(ready.size(), 2u);
    ready.clear();
    EXPECT_FALSE(cache_->next(ready));
}

TEST_F(ExpertCacheTest, ThePolicySeesAnExpertOnceInAStepOfFewTokensAndEachChoiceOfALongOne) {
    make(16);
    const auto first_uses = [&] {
        const std::vector<uint32_t> uses = cache_->uses();
        return std::vector<uint32_t>(uses.begin(), uses.begin() + 5);
    };
    cache_->begin_step(3);
    visit(0, {3, 1, 3, 2, 3, 1});
    EXPECT_THAT(first_uses(), ::testing::ElementsAre(0, 1, 1, 1, 0));
    std::vector<int32_t> ids(2 * k_experts, 4);
    ids[0] = 0, ids[1] = 3;
    cache_->begin_step(k_experts);
    visit(0, ids);
    EXPECT_THAT(first_uses(), ::testing::ElementsAre(1, 1, 1, 2, 2 * k_experts - 2));
}

TEST_F(ExpertCacheTest, AnUnknownPolicyIsRefusedByName) {
    CacheOptions options;
    options.policy = "best";
    const auto refused = ExpertCache::create(records(), std::vector<int64_t>{4}, options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("best"));
}

}  // namespace
}  // namespace ft
