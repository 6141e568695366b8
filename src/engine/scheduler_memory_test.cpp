// What the scheduler does with memory: windows, contexts that are passed, parked sequences, and that it takes
// what the plan says.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/parking.h"
#include "engine/scheduler_for_test.h"

namespace ft::scheduled {
namespace {

LoadOptions windowed(int64_t n_ctx, int64_t window, bool auto_evict = false) {
    LoadOptions options = Loaded::options_of(n_ctx, 2);
    options.chunk = 32;
    options.kv.sliding_window = window;
    options.kv.auto_evict = auto_evict;
    return options;
}

TEST(SchedulerMemory, RandomSchedulesWithAWindowGiveWhatEachRequestGivesAlone) {
    for (const char* path : {k_recurrent, k_attention}) {
        const Loaded model(path, windowed(512, 96));
        ASSERT_NE(model.engine, nullptr);
        ASSERT_LT(model.engine->plan().sequence_pages, kv_pages(512));
        const Jobs jobs(*model.engine, 12, 180, 3);
        for (uint32_t seed = 0; seed < schedules(8, 60) && !HasFailure(); seed++)
            random_schedule(model, jobs, seed);
    }
}

TEST(SchedulerMemory, RandomSchedulesBeyondTheContextGiveWhatEachRequestGivesAlone) {
    for (const char* path : {k_recurrent, k_attention}) {
        const Loaded model(path, windowed(256, 64, true));
        ASSERT_NE(model.engine, nullptr);
        const Jobs jobs(*model.engine, 8, 400, 4, 230);
        for (uint32_t seed = 0; seed < schedules(6, 60) && !HasFailure(); seed++)
            random_schedule(model, jobs, seed);
    }
}

TEST(SchedulerMemory, AWindowTakesPagesForItselfItsFirstTokensAndAStep) {
    for (const bool overcommit : {false, true}) {
        LoadOptions load = windowed(512, 64);
        load.steps.batch_size = 3;
        const Loaded model(k_attention, load);
        ASSERT_EQ(model.engine->plan().sequence_pages, 3);  // 4 first tokens, 64 + 32 that lie anywhere
        const auto scheduler =
            scheduler_of(model, {.batch_size = 3, .interactive_slots = 0, .overcommit = overcommit});
        std::vector<std::shared_ptr<Heard>> heard;
        std::vector<Request> requests;
        for (int i = 0; i < 5; i++) {
            requests.push_back(plain(some_ids(150 + 30 * i, model.engine->n_vocab(), i), 230, Lane::batch));
            heard.push_back(std::make_shared<Heard>());
            ASSERT_TRUE(scheduler->submit(requests.back(), heard.back()));
        }
        int most_running = 0;
        while (scheduler->step()) most_running = std::max(most_running, scheduler->counters().running);
        EXPECT_EQ(most_running, 3);
        EXPECT_EQ(scheduler->counters().kv_bytes, scheduler->counters().kv_bytes_planned);
        if (!overcommit) {
            EXPECT_EQ(scheduler->counters().parked, 0u);
        }
        for (size_t i = 0; i < heard.size(); i++) {
            EXPECT_EQ(heard[i]->choices[0].ids, alone(*model.engine, requests[i], 0)) << i;
            EXPECT_EQ(heard[i]->record.forgotten_tokens, 0);
        }
        expect_nothing_held(*scheduler);
    }
}

TEST(SchedulerMemory, RefusesAPoolThatIsTooSmallForTheWindow) {
    const Loaded model(k_attention, windowed(512, 64));
    const auto refused = Scheduler::create(*model.engine, *model.tokenizer, {.pool_tokens = 256});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("256"), std::string::npos);
    EXPECT_NE(refused.error().remedy.find("384"), std::string::npos);
}

TEST(SchedulerMemory, AnAnswerGoesOnBeyondTheContextAndSaysHowMuchItForgot) {
    const Loaded model(k_attention, windowed(128, 64, true));
    const auto scheduler = scheduler_of(model, {});
    const auto far = std::make_shared<Heard>(), within = std::make_shared<Heard>();
    const Request r = plain(some_ids(50, model.engine->n_vocab()), 300);
    ASSERT_TRUE(scheduler->submit(r, far));
    Request shorter = r;
    shorter.max_tokens = 60;
    ASSERT_TRUE(scheduler->submit(shorter, within));
    run_all(*scheduler);
    EXPECT_EQ(far->choices[0].ids.size(), 300u);
    EXPECT_EQ(far->choices[0].ids, alone(*model.engine, r, 0));
    EXPECT_EQ(far->record.forgotten_tokens, 349 - 64 - 4);
    EXPECT_EQ(within->choices[0].ids.size(), 60u);
    EXPECT_EQ(within->record.forgotten_tokens, 0);
    EXPECT_FALSE(scheduler->submit(plain(some_ids(128, model.engine->n_vocab()), 1), far));
    expect_nothing_held(*scheduler);
}

// The last page of the first answer would be copied, but the second one needs the whole pool.
TEST(SchedulerMemory, ARequestThatNeedsTheWholePoolGoesOnFromWhatIsKeptOfAnother) {
    for (const char* path : {k_attention, k_recurrent}) {
        const Loaded model(path, 512);
        const auto scheduler = scheduler_of(model, {.batch_size = 1,
                                                    .interactive_slots = 0,
                                                    .prefix_cache_bytes = uint64_t{1} << 30,
                                                    .state_checkpoint_bytes = uint64_t{1} << 30});
        Request r = plain(some_ids(200, model.engine->n_vocab()), 0);
        r.max_tokens.reset();
        const auto first = std::make_shared<Heard>(), second = std::make_shared<Heard>();
        ASSERT_TRUE(scheduler->submit(r, first));
        run_all(*scheduler);
        ASSERT_EQ(first->choices[0].ids.size(), 312u);
        ASSERT_TRUE(scheduler->submit(r, second));
        run_all(*scheduler);
        EXPECT_EQ(second->choices[0].ids, first->choices[0].ids);
        if (path == k_attention) {
            EXPECT_EQ(second->record.cached_tokens, 128);
        }
        expect_nothing_held(*scheduler);
    }
}

TEST(SchedulerMemory, TakesWhatThePlanSaysToTheByte) {
    for (const KvType type : {KvType::f16, KvType::q8_0, KvType::q4_0})
        for (const int64_t window : {0, 64})
            for (const int64_t pool_tokens : {0, 1000}) {
                LoadOptions load = windowed(500, window);
                load.kv.types = {type, type};
                load.kv.pool_tokens = pool_tokens;
                load.steps.batch_size = 3;
                const Loaded model(k_attention, load);
                const auto& items = model.engine->plan().items;
                const auto planned = std::ranges::find(items, "KV cache", &PlanItem::name);
                ASSERT_NE(planned, items.end());
                const auto scheduler = scheduler_of(model, {.batch_size = 3, .pool_tokens = pool_tokens});
                EXPECT_EQ(scheduler->counters().kv_bytes, planned->bytes);
                EXPECT_EQ(scheduler->counters().kv_bytes_planned, planned->bytes);
            }
}

// Four that need two pools. Calls look() after each step.
template <class Fn>
void run_in_a_tight_pool(const Loaded& model, SchedulerOptions options, Fn look) {
    options.interactive_slots = 1;
    options.pool_tokens = 768;
    options.overcommit = true;
    const auto scheduler = scheduler_of(model, options);
    std::vector<std::shared_ptr<Heard>> heard;
    std::vector<Request> requests;
    for (int i = 0; i < 4; i++) {
        requests.push_back(plain(some_ids(100, model.engine->n_vocab(), i), 300, Lane::batch));
        heard.push_back(std::make_shared<Heard>());
        ASSERT_TRUE(scheduler->submit(requests.back(), heard.back()));
    }
    while (scheduler->step()) look(scheduler->counters());
    EXPECT_GT(scheduler->counters().parked, 0u);
    for (size_t i = 0; i < heard.size(); i++)
        EXPECT_EQ(heard[i]->choices[0].ids, alone(*model.engine, requests[i], 0)) << i;
    expect_nothing_held(*scheduler);
}

TEST(SchedulerMemory, ParkedSequencesLieInRamAsFarAsThereIsRoom) {
    const Loaded model(k_recurrent, 512);
    uint64_t most = 0;
    const auto look = [&](const SchedulerCounters& counters) {
        most = std::max(most, counters.parked_bytes);
        EXPECT_EQ(counters.parked_files, 0u);
    };
    run_in_a_tight_pool(model, {}, look);  // what the budget of the machine leaves over
    const uint64_t roomy = most;
    EXPECT_GT(roomy, 0u);
    most = 0;
    run_in_a_tight_pool(model, {.park_ram_bytes = roomy - 1}, look);
    EXPECT_LT(most, roomy);
    most = 0;
    run_in_a_tight_pool(model, {.park_ram_bytes = 0}, look);
    EXPECT_EQ(most, 0u);
}

// A byte in the middle of every file of the folder is another one.
void damage_all(const std::string& folder) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        const auto middle = static_cast<std::streamoff>(file.file_size() / 2);
        bytes.seekg(middle);
        const int was = bytes.get();
        bytes.seekp(middle);
        bytes.put(static_cast<char>(was ^ 1));
    }
}

TEST(SchedulerMemory, AParkedFileThatIsDamagedIsReadAgain) {
    const Loaded model(k_recurrent, 512);
    const std::string folder = fmt::format("{}freetoken_damaged_{}", testing::TempDir(), getpid());
    std::filesystem::create_directories(folder);
    bool damaged = false;
    testing::internal::CaptureStderr();
    run_in_a_tight_pool(model, {.park_dir = folder}, [&](const SchedulerCounters& counters) {
        if (damaged || counters.parked_files == 0) return;
        damage_all(folder);
        damaged = true;
    });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(damaged);
    EXPECT_NE(said.find("The answer is read again."), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

TEST(SchedulerMemory, AWindowedSequenceIsParkedWithThePagesThatItHas) {
    LoadOptions load = windowed(256, 64, true);
    const Loaded model(k_recurrent, load);
    for (const std::string& folder : {std::string(), testing::TempDir()}) {
        const auto scheduler = scheduler_of(model, {.batch_size = 3,
                                                    .interactive_slots = 0,
                                                    .pool_tokens = 5 * k_kv_block,
                                                    .overcommit = true,
                                                    .park_dir = folder,
                                                    .park_ram_bytes = uint64_t{1} << 30});
        std::vector<std::shared_ptr<Heard>> heard;
        std::vector<Request> requests;
        for (int i = 0; i < 3; i++) {
            requests.push_back(plain(some_ids(100, model.engine->n_vocab(), i), 500, Lane::batch));
            heard.push_back(std::make_shared<Heard>());
            ASSERT_TRUE(scheduler->submit(requests.back(), heard.back()));
        }
        testing::internal::CaptureStderr();
        run_all(*scheduler);
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_GT(scheduler->counters().parked, 0u);
        for (size_t i = 0; i < heard.size(); i++)
            EXPECT_EQ(heard[i]->choices[0].ids, alone(*model.engine, requests[i], 0)) << i;
        expect_nothing_held(*scheduler);
    }
}

// Files may not grow beyond a size: writes fail half way, as on a full drive.
class SmallFiles {
 public:
    explicit SmallFiles(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit = before_;
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~SmallFiles() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

 private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

TEST(SchedulerMemory, WhatAnEndedProgramLeftInTheFolderIsRemoved) {
    const std::string folder = testing::TempDir() + "/left-over";
    std::filesystem::create_directories(folder);
    const pid_t ended = fork();
    if (ended == 0) _exit(0);
    ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
    const std::vector<std::string> names = {fmt::format("freetoken-{}-3.sequence", ended),
                                            fmt::format("freetoken-{}-3.sequence", getppid()),
                                            fmt::format("freetoken-{}-3.sequence.mine", ended)};
    for (const std::string& name : names) std::ofstream(folder + "/" + name) << "x";
    const Parking parking(folder, 0, 0);
    EXPECT_FALSE(std::filesystem::exists(folder + "/" + names[0]));
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + names[1])) << "its program still runs";
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + names[2])) << "not of our form";
    std::filesystem::remove_all(folder);
}

TEST(SchedulerMemory, AFullDriveTurnsParkingOffWithOneWarningAndLosesNoAnswer) {
    const Loaded model(k_attention, 512);
    const std::string folder = testing::TempDir() + "/full-drive";
    std::filesystem::create_directories(folder);
    uint64_t files = 0;
    testing::internal::CaptureStderr();
    {
        const SmallFiles small(16 << 10);
        run_in_a_tight_pool(model, {.park_dir = folder}, [&](const SchedulerCounters& counters) {
            files = std::max(files, counters.parked_files);
        });
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(files, 0u);
    const size_t warning = said.find("Nothing is parked there any more");
    EXPECT_NE(warning, std::string::npos) << said;
    EXPECT_EQ(said.find("Nothing is parked there any more", warning + 1), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace ft::scheduled
