// Thousands of random requests one after the other and beside each other: nothing may be left of them, no
// page, checkpoint or parked file. 500 as part of the tests, 10,000 where FREETOKEN_ALL_SCHEDULES is set.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "engine/scheduler_for_test.h"

namespace ft::scheduled {
namespace {

// Counts alone: what the answers are is compared elsewhere (scheduler_test.cpp).
struct SoakOwner : RequestOwner {
    int tokens = 0, ends = 0, failed = 0, done = 0;

    void on_token(const TokenEvent&) override { tokens++; }
    void on_end(const ChoiceEnd& end) override {
        ends++;
        failed += end.reason == FinishReason::error;
    }
    void on_done(const RequestRecord&) override { done++; }
};

// The most that was held at any time: what the end can be compared with.
struct SoakMost {
    uint64_t checkpoints = 0, parked_files = 0, parked_bytes = 0, pages_cached = 0;
    int running = 0;

    void see(const SchedulerCounters& counters) {
        checkpoints = std::max(checkpoints, counters.checkpoints);
        parked_files = std::max(parked_files, counters.parked_files);
        parked_bytes = std::max(parked_bytes, counters.parked_bytes);
        pages_cached = std::max(pages_cached, counters.pages_cached);
        running = std::max(running, counters.running);
        EXPECT_LE(counters.pages_used, counters.pages);
        EXPECT_LE(counters.pages_cached, counters.pages_used);
    }
};

class Soak {
 public:
    Soak(const Loaded& model, const SchedulerOptions& options, uint32_t seed)
        : model_(model), scheduler_(scheduler_of(model, options)), random_(seed) {
        for (size_t b = 0; b < beginnings_.size(); b++)
            for (size_t i = 0, n = 40 * (b + 1) + below(40); i < n; i++) beginnings_[b].push_back(any_id());
    }

    // Requests arrive faster than they are answered, or one by one; some are cancelled wherever they are.
    void run(uint32_t n) {
        ASSERT_NE(scheduler_, nullptr);
        for (uint32_t i = 0; i < n; i++) {
            owners_.push_back(std::make_shared<SoakOwner>());
            choices_.push_back(below(10) == 0 ? 3 : 1);
            const auto id = scheduler_->submit(request(choices_.back()), owners_.back());
            ASSERT_TRUE(id) << id.error().sentence();
            ids_.push_back(*id);
            if (below(5) == 0)
                scheduler_->cancel(ids_[ids_.size() - 1 - below(std::min<size_t>(ids_.size(), 30))]);
            const int most = below(100) == 0 ? 0 : 30;  // now and then all that waits is worked off
            while (scheduler_->counters().waiting > most) step();
            for (size_t steps = below(3); steps > 0; steps--) step();
        }
        for (int steps = 0; step(); steps++) ASSERT_LT(steps, 1000000);
        check_all_ended(n);
        expect_nothing_held(*scheduler_);
    }

    const SoakMost& most() const { return most_; }
    SchedulerCounters counters() const { return scheduler_->counters(); }

 private:
    size_t below(size_t most) { return static_cast<size_t>(random_() % most); }
    int32_t any_id() { return static_cast<int32_t>(below(static_cast<size_t>(model_.engine->n_vocab()))); }

    bool step() {
        const bool did = scheduler_->step();
        most_.see(scheduler_->counters());
        return did;
    }

    // Most are short; prompts begin as others did, up to a random place, or go on from the one before.
    Request request(int n_choices) {
        Request r;
        const auto& beginning = beginnings_[below(beginnings_.size())];
        const size_t shared =
            below(6) == 0 ? beginning.size() : below(std::min<size_t>(beginning.size(), 16));
        if (below(4) == 0 && before_.size() < 200) r.prompt = before_;
        else r.prompt.assign(beginning.begin(), beginning.begin() + static_cast<ptrdiff_t>(shared));
        for (size_t i = 0, own = 1 + below(12); i < own; i++) r.prompt.push_back(any_id());
        before_ = r.prompt;
        r.sampling.temperature = below(2) == 0 ? 0.0f : 1.0f;
        r.sampling.seed = random_();
        r.max_tokens = static_cast<int64_t>(1 + below(below(8) == 0 ? 200 : 6));
        if (below(4) == 0) r.end_ids = {any_id(), any_id()};
        r.lane = below(2) == 0 ? Lane::batch : Lane::interactive;
        r.n_choices = n_choices;
        return r;
    }

    void check_all_ended(uint32_t n) const {
        EXPECT_EQ(scheduler_->counters().done, n);
        for (size_t i = 0; i < owners_.size(); i++) {
            ASSERT_EQ(owners_[i]->done, 1) << "request " << i;
            ASSERT_EQ(owners_[i]->ends, choices_[i]) << "request " << i;
            ASSERT_EQ(owners_[i]->failed, 0) << "request " << i;
        }
    }

    const Loaded& model_;
    std::unique_ptr<Scheduler> scheduler_;
    std::mt19937 random_;
    std::array<std::vector<int32_t>, 4> beginnings_;
    std::vector<int32_t> before_;  // the prompt of the last request
    std::vector<std::shared_ptr<SoakOwner>> owners_;
    std::vector<int> choices_;
    std::vector<RequestId> ids_;
    SoakMost most_;
};

// A folder of the test's own: what is left in it is seen.
struct ParkFolder {
    std::string path = fmt::format("{}freetoken_soak_{}", testing::TempDir(), getpid());
    ParkFolder() { std::filesystem::create_directories(path); }
    ~ParkFolder() { std::filesystem::remove_all(path); }
};

// Pages for a little more than two long sequences, so that some are parked.
SchedulerOptions tight(int64_t pages, const std::string& park_dir) {
    SchedulerOptions options;
    options.batch_size = 8;
    options.interactive_slots = 2;
    options.pool_tokens = pages * k_kv_block;
    options.overcommit = true;
    options.park_dir = park_dir;
    options.prefix_cache_bytes = uint64_t{1} << 18;
    options.state_checkpoint_bytes = uint64_t{1} << 21;
    return options;
}

TEST(SchedulerSoak, RandomRequestsLeaveNothingBehind) {
    const ParkFolder folder;
    const Loaded recurrent(k_recurrent, 256), attention(k_attention, 256);
    LoadOptions windowed = Loaded::options_of(256, 1);
    windowed.chunk = 32;
    windowed.kv.sliding_window = 64;
    windowed.kv.auto_evict = true;
    const Loaded beyond(k_attention, windowed);
    {
        Soak soak(recurrent, tight(5, folder.path), 1);
        soak.run(schedules(200, 4000));
        EXPECT_GT(soak.counters().parked, 0u);
        EXPECT_GT(soak.counters().cached_tokens, 0u);
        EXPECT_GT(soak.most().parked_files, 0u);
        EXPECT_GT(soak.most().checkpoints, 0u);
        EXPECT_GT(soak.most().pages_cached, 0u);
        EXPECT_GT(soak.most().running, 2);
    }
    {
        Soak soak(recurrent, tight(5, ""), 2);  // parked in RAM
        soak.run(schedules(100, 2000));
        EXPECT_GT(soak.most().parked_bytes, 0u);
    }
    {
        Soak soak(beyond, tight(4, folder.path), 3);
        soak.run(schedules(100, 2000));
        EXPECT_GT(soak.counters().parked, 0u);
    }
    {
        SchedulerOptions roomy = tight(16, "");  // memory is promised before a request begins
        roomy.overcommit = false;
        Soak soak(attention, roomy, 4);
        soak.run(schedules(100, 2000));
        EXPECT_EQ(soak.counters().parked, 0u);
        EXPECT_GT(soak.counters().cached_tokens, 0u);
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

}  // namespace
}  // namespace ft::scheduled
