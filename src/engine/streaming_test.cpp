// Experts that do not fit the budget: what may not be seen in the bits, what happens when a read fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/golden_models.h"

namespace ft {
namespace {

using ::testing::HasSubstr;

// What all files of a test do beside reading.
struct Trouble {
    std::atomic<int> microseconds{0};      // that a read takes longer, more or less
    std::atomic<int> good_reads{1 << 30};  // after so many, reads fail
    std::atomic<int> n_read{0};
};

// A file that is slow or failing; without direct reads, so that threads read it.
class TroubledFile final : public File {
 public:
    TroubledFile(std::unique_ptr<File> file, std::shared_ptr<Trouble> trouble)
        : File(file->path()), file_(std::move(file)), trouble_(std::move(trouble)) {}
    uint64_t size() const override { return file_->size(); }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override {
        const int number = trouble_->n_read++;
        const int delay = trouble_->microseconds;
        if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay * (number % 5)));
        if (number >= trouble_->good_reads)
            return Error{Code::io,
                         fmt::format("{}: cannot read at byte {}: Input/output error", path(), offset), ""};
        return file_->read_at(offset, to);
    }

 private:
    std::unique_ptr<File> file_;
    std::shared_ptr<Trouble> trouble_;
};

OpenFile with(std::shared_ptr<Trouble> trouble) {
    return [trouble = std::move(trouble)](const std::string& path) -> Expected<std::unique_ptr<File>> {
        auto file = File::open(path);
        if (!file) return file.error();
        return std::unique_ptr<File>(new TroubledFile(std::move(*file), trouble));
    };
}

class EveryMixture : public testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        auto engine = load(options_for(GetParam()));
        ASSERT_NE(engine, nullptr);
        ASSERT_TRUE(engine->experts_resident());
        expected_ = logits_of(*engine);
        least_ = engine->plan().minimum_ram;
        most_ = engine->plan().resident_ram;
        ASSERT_LT(least_, most_);
    }
    void expect_same(const LoadOptions& options, const std::string& what) {
        auto engine = load(options);
        ASSERT_NE(engine, nullptr) << what;
        EXPECT_FALSE(engine->experts_resident()) << what;
        EXPECT_TRUE(same_bits(logits_of(*engine), expected_)) << what;
        EXPECT_GT(engine->expert_stats().misses, 0u) << what;
        EXPECT_GT(engine->expert_stats().bytes_read, 0u) << what;
    }
    LoadOptions at(double share) const {
        LoadOptions options = options_for(GetParam());
        options.ram_budget = least_ + static_cast<uint64_t>(share * static_cast<double>(most_ - 1 - least_));
        return options;
    }

    std::vector<float> expected_;
    uint64_t least_ = 0, most_ = 0;
};

TEST_P(EveryMixture, BudgetsCannotBeSeen) {
    for (const double share : {1.0, 0.6, 0.25, 0.0}) expect_same(at(share), fmt::format("budget {}", share));
}

TEST_P(EveryMixture, PoliciesThreadsAndWaysOfReadingCannotBeSeen) {
    for (const PolicyRow& policy : policies()) {
        LoadOptions options = at(0.3);
        options.expert_policy = policy.name;
        expect_same(options, policy.name);
    }
    LoadOptions options = at(0.3);
    options.prefetch = false;
    expect_same(options, "no prefetch");
    options.threads = 3;
    options.chunk = 7;
    options.reads_by_threads = true;
    options.ram_budget = {};
    auto resident = load(options);  // a shorter step takes less memory beside the experts
    ASSERT_NE(resident, nullptr);
    options.ram_budget = (resident->plan().minimum_ram + resident->plan().resident_ram) / 2;
    expect_same(options, "3 threads, chunks of 7, read by threads");
}

TEST_P(EveryMixture, SlowReadsCannotBeSeen) {
    const auto trouble = std::make_shared<Trouble>();
    trouble->microseconds = 300;
    LoadOptions options = at(0.3);
    options.open_file = with(trouble);
    expect_same(options, "slow");
}

TEST_P(EveryMixture, AFailedReadFailsThatAnswerAndTheNextOneIsRight) {
    const auto trouble = std::make_shared<Trouble>();
    LoadOptions options = at(0.0);
    options.open_file = with(trouble);
    auto engine = load(options);
    ASSERT_NE(engine, nullptr);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    for (const int good : {0, 5}) {
        trouble->good_reads = trouble->n_read + good;
        (*session)->clear();
        const Status failed = (*session)->feed(some_ids(70, engine->n_vocab()));
        ASSERT_FALSE(failed);
        EXPECT_THAT(failed.error().what, AllOf(HasSubstr("/model"), HasSubstr(".gguf: cannot read at byte")));
        EXPECT_LT((*session)->n_past(), 70);
        trouble->good_reads = 1 << 30;
        EXPECT_TRUE(same_bits(logits_of(*engine), expected_)) << good;
    }
}

// A step reads each expert that its tokens ask for once, and no other: a few more tokens of a long
// conversation never cost a pass over all experts.
TEST_P(EveryMixture, AStepReadsTheUnionOfWhatItsTokensAskForOnce) {
    const auto trouble = std::make_shared<Trouble>();
    LoadOptions options = at(0.0);
    options.prefetch = false;
    options.open_file = with(trouble);
    auto engine = load(options);
    ASSERT_NE(engine, nullptr);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    std::set<std::pair<int, int>> asked;
    (*session)->set_route_sink([&](const Route& route) {
        for (const int expert : route.experts) asked.emplace(route.layer, expert);
    });
    const auto ids = some_ids(static_cast<int>((*session)->step_tokens()) + 2, engine->n_vocab());
    std::vector<size_t> unions;
    for (const auto& step : {std::span(ids).first(ids.size() - 2), std::span(ids).last(2)}) {
        asked.clear();
        const CacheStats before = engine->expert_stats();
        const int reads = trouble->n_read;
        ASSERT_TRUE((*session)->feed(step));
        const CacheStats now = engine->expert_stats() - before;
        EXPECT_EQ(now.hits + now.misses, asked.size());
        EXPECT_LE(trouble->n_read - reads, 3 * static_cast<int>(now.misses)) << "slices read twice";
        unions.push_back(asked.size());
    }
    EXPECT_LE(unions[1], unions[0]);
}

INSTANTIATE_TEST_SUITE_P(Goldens, EveryMixture,
                         testing::Values("mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3moe-q4km",
                                         "qwen3moe-layermix", "qwen35moe-q4k", "qwen35moe-gateup-q8",
                                         "mixtral-q8-split"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// A model's file that something is done to while its experts are read.
class FileInUse : public testing::Test {
 protected:
    void SetUp() override {
        std::filesystem::copy_file(golden(k_mixture), path_,
                                   std::filesystem::copy_options::overwrite_existing);
        LoadOptions options = streaming_options(k_mixture, 0.0);
        options.model_path = path_;
        engine_ = load(options);
        ASSERT_NE(engine_, nullptr);
        auto session = engine_->new_session();
        ASSERT_TRUE(session);
        session_ = std::move(*session);
        ASSERT_TRUE(session_->feed(some_ids(3, engine_->n_vocab())));
    }
    void TearDown() override { std::filesystem::remove(path_); }
    std::string failure() {
        const Status failed = session_->feed(some_ids(60, engine_->n_vocab()));
        EXPECT_EQ(session_->n_past(), 3);
        return failed ? "" : failed.error().what;
    }

    std::string path_ = fmt::format("{}freetoken_in_use_{}.gguf", testing::TempDir(), ::getpid());
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Session> session_;
};

TEST_F(FileInUse, Truncated) {
    std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 3);
    const std::string what = failure();
    EXPECT_THAT(what, HasSubstr(path_));
    EXPECT_THAT(what, HasSubstr("the file ends at byte"));
    EXPECT_THAT(failure(), HasSubstr("the file ends at byte")) << "and the program goes on";
}

TEST_F(FileInUse, WrittenTo) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock of file times is coarse
    std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(100'000).put('x');
    EXPECT_THAT(failure(), HasSubstr("written to while it was in use"));
}

TEST_F(FileInUse, WrittenToWhileItIsLoaded) {
    for (const bool resident : {true, false}) {
        LoadOptions options = resident ? options_for(k_mixture) : streaming_options(k_mixture, 0.3);
        options.model_path = path_;
        options.progress = [&](uint64_t done, uint64_t total) {
            if (done == total) std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).put('G');
        };
        const auto refused = Engine::load(options);
        ASSERT_FALSE(refused) << resident;
        EXPECT_THAT(refused.error().what, HasSubstr("written to while it was in use"));
    }
}

TEST_F(FileInUse, AnotherFileOfItsNameIsNotMixedIn) {
    const auto whole = load(options_for(k_mixture));
    ASSERT_NE(whole, nullptr);
    std::ofstream(path_ + ".new") << "another file";
    std::filesystem::rename(path_ + ".new", path_);
    EXPECT_TRUE(same_bits(logits_of(*engine_), logits_of(*whole)));
}

// What a program does between its start and the first prompt shows in what the prompt reads, and in no bit.
TEST(Streaming, SlotsFilledBeforeTheFirstPromptSaveItTheirReads) {
    LoadOptions options = streaming_options(k_mixture, 0.5);
    uint64_t bytes[2] = {}, read_before = 0;
    std::vector<float> logits[2];
    for (const bool filled : {false, true}) {
        options.prefetch = filled;
        options.warm_start = false;
        const auto engine = load(options);
        ASSERT_NE(engine, nullptr);
        EXPECT_TRUE(engine->slots_filled_within(60));
        read_before = engine->expert_stats().bytes_read;
        EXPECT_EQ(read_before > 0, filled);
        logits[filled] = logits_of(*engine, 32, 0);  // one long step
        bytes[filled] = engine->expert_stats().bytes_read - read_before;
    }
    EXPECT_TRUE(same_bits(logits[0], logits[1]));
    EXPECT_LE(bytes[1], bytes[0] - read_before * 3 / 4) << "a quarter of the slots is for passage at most";
}

TEST(Streaming, ABudgetBelowOneStepIsRefusedWithTheSmallestThatWorks) {
    auto engine = load(options_for("qwen3moe-q4km"));
    ASSERT_NE(engine, nullptr);
    LoadOptions options = options_for("qwen3moe-q4km");
    options.ram_budget = engine->plan().minimum_ram - 1;
    const auto refused = Engine::load(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_THAT(refused.error().sentence(), HasSubstr("--ram"));
}

// Two amounts that differ by a little are written so that the difference shows, and the budget that is named
// works.
TEST(Streaming, ABudgetBeyondWhatIsAvailableIsRefusedWithOneThatWorks) {
    LoadOptions options = options_for("qwen3moe-q4km");
    const auto whole = load(options);
    ASSERT_NE(whole, nullptr);
    options.ram_budget = whole->plan().resident_ram;
    const auto exact = load(options);
    ASSERT_NE(exact, nullptr);
    const uint64_t taken = exact->plan().total.ram, least = exact->plan().minimum_ram;
    options.read_memory = [=]() -> Expected<Ram> { return Ram{64ull << 30, taken - 5000}; };
    const auto refused = Engine::load(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    const std::string what = refused.error().what;
    double numbers[2] = {};
    ASSERT_EQ(
        std::sscanf(what.c_str() + what.find("the plan takes"),
                    "the plan takes %lf GiB of RAM, but %lf GiB are available", &numbers[0], &numbers[1]),
        2)
        << what;
    EXPECT_GT(numbers[0], numbers[1]) << what;
    const std::string remedy = refused.error().remedy, before = "(--ram) to ";
    ASSERT_THAT(remedy, HasSubstr(before));
    options.ram_budget =
        static_cast<uint64_t>(std::stod(remedy.substr(remedy.find(before) + before.size())) * (1ull << 30));
    EXPECT_NE(load(options), nullptr) << remedy;
    options.read_memory = [=]() -> Expected<Ram> { return Ram{64ull << 30, least - 5000}; };
    const auto hopeless = Engine::load(options);
    ASSERT_FALSE(hopeless);
    EXPECT_THAT(hopeless.error().remedy, HasSubstr("are the least that works"));
}

}  // namespace
}  // namespace ft
