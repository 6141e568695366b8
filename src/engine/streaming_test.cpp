// Experts that do not fit the budget: what may not be seen in the bits, what happens when a read fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "tiers/plan.h"

namespace ft {
namespace {

using ::testing::HasSubstr;

std::string golden(const std::string& name) {
    const std::string file = name.ends_with("-split") ? "model-00001-of-00002.gguf" : "model.gguf";
    return std::string(FREETOKEN_SOURCE_DIR) + "/tests/goldens/small/" + name + "/" + file;
}

std::vector<int32_t> some_ids(int n, int64_t n_vocab) {
    std::vector<int32_t> ids;
    for (int i = 0; i < n; i++) ids.push_back(static_cast<int32_t>((17 + i * 7919) % n_vocab));
    return ids;
}

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

LoadOptions options_for(const std::string& name) {
    LoadOptions options;
    options.model_path = golden(name);
    options.threads = 2;
    options.n_ctx = 256;
    options.chunk = 32;
    return options;
}

std::unique_ptr<Engine> load(const LoadOptions& options) {
    auto engine = Engine::load(options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().sentence());
    return engine ? std::move(*engine) : nullptr;
}

// Logits of a prompt in one piece, then of tokens one by one.
std::vector<float> logits_of(Engine& engine, int n_prompt = 70, int n_more = 6) {
    std::vector<float> all;
    auto session = engine.new_session();
    EXPECT_TRUE(session);
    const auto ids = some_ids(n_prompt + n_more, engine.n_vocab());
    const auto keep = [&](std::span<const float> logits) -> Status {
        all.insert(all.end(), logits.begin(), logits.end());
        return {};
    };
    EXPECT_TRUE((*session)->feed_all(std::span(ids).first(static_cast<size_t>(n_prompt)), keep));
    for (int i = 0; i < n_more; i++)
        EXPECT_TRUE((*session)->feed_all(std::span(ids).subspan(static_cast<size_t>(n_prompt + i), 1), keep));
    return all;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
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
    options.open_file = [=](const std::string& path) -> Expected<std::unique_ptr<File>> {
        auto file = File::open(path);
        if (!file) return file.error();
        return std::unique_ptr<File>(new TroubledFile(std::move(*file), trouble));
    };
    expect_same(options, "slow");
}

TEST_P(EveryMixture, AFailedReadFailsThatAnswerAndTheNextOneIsRight) {
    const auto trouble = std::make_shared<Trouble>();
    LoadOptions options = at(0.0);
    options.open_file = [=](const std::string& path) -> Expected<std::unique_ptr<File>> {
        auto file = File::open(path);
        if (!file) return file.error();
        return std::unique_ptr<File>(new TroubledFile(std::move(*file), trouble));
    };
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

INSTANTIATE_TEST_SUITE_P(Goldens, EveryMixture,
                         testing::Values("mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3moe-q4km",
                                         "qwen3moe-layermix", "qwen35moe-q4k", "qwen35moe-gateup-q8",
                                         "mixtral-q8-split"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

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

}  // namespace
}  // namespace ft
