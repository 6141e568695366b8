// Embeddings by the scheduler: the same for the same prompt, however it is cut and whatever runs beside it.
#include <gtest/gtest.h>

#include "engine/golden_models.h"
#include "engine/scheduler.h"
#include "text/tokenizer.h"

namespace ft {
namespace {

struct HeardEmbedding : RequestOwner {
    std::vector<float> embedding;
    int tokens = 0, ends = 0;
    RequestRecord record;

    void on_token(const TokenEvent&) override { tokens++; }
    void on_embedding(std::span<const float> mean) override { embedding.assign(mean.begin(), mean.end()); }
    void on_end(const ChoiceEnd&) override { ends++; }
    void on_done(const RequestRecord& its) override { record = its; }
};

class EmbeddingTest : public ::testing::Test {
 protected:
    void SetUp() override {
        LoadOptions options;
        options.model_path = FREETOKEN_SOURCE_DIR "/models/freetoken-demo-q4_k_m.gguf";
        options.threads = 2;
        options.n_ctx = 512;
        engine_ = load(options);
        ASSERT_NE(engine_, nullptr);
        auto tokenizer = Tokenizer::load(engine_->file());
        ASSERT_TRUE(tokenizer);
        tokenizer_ = std::move(*tokenizer);
    }
    Request embed(int n_ids) const {
        Request request;
        request.prompt = some_ids(n_ids, engine_->n_vocab());
        request.embed = true;
        return request;
    }
    // Of each request, all at once.
    std::vector<std::shared_ptr<HeardEmbedding>> run(const SchedulerOptions& options,
                                                     std::vector<Request> requests) {
        auto scheduler = Scheduler::create(*engine_, *tokenizer_, options);
        EXPECT_TRUE(scheduler);
        std::vector<std::shared_ptr<HeardEmbedding>> heard;
        for (Request& request : requests) {
            heard.push_back(std::make_shared<HeardEmbedding>());
            EXPECT_TRUE((*scheduler)->submit(std::move(request), heard.back()));
        }
        while ((*scheduler)->step()) {
        }
        (*scheduler)->drop_prefix_cache();
        EXPECT_EQ((*scheduler)->counters().pages_used, 0u);
        return heard;
    }

    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(EmbeddingTest, DoesNotDependOnStepsOrNeighbours) {
    const auto alone = run({.batch_size = 1, .interactive_slots = 0}, {embed(200)});
    EXPECT_EQ(alone[0]->tokens, 0);
    EXPECT_EQ(alone[0]->ends, 1);
    EXPECT_EQ(alone[0]->record.prompt_tokens, 200);
    ASSERT_FALSE(alone[0]->embedding.empty());
    Request answer;
    answer.prompt = some_ids(50, engine_->n_vocab());
    answer.max_tokens = 20;
    SchedulerOptions options{.batch_size = 4, .interactive_slots = 0, .step_tokens = 7};
    options.prefix_cache_bytes = uint64_t{1} << 30;
    const auto among = run(options, {answer, embed(200), embed(30), embed(200)});
    EXPECT_EQ(among[0]->tokens, 20);
    EXPECT_EQ(among[1]->embedding, alone[0]->embedding);
    EXPECT_EQ(among[3]->embedding, alone[0]->embedding);
    EXPECT_NE(among[2]->embedding, alone[0]->embedding);
}

TEST_F(EmbeddingTest, IsReadAgainWholeAfterMemoryRanOut) {
    const auto alone = run({.batch_size = 1, .interactive_slots = 0}, {embed(300)});
    SchedulerOptions options{.batch_size = 3, .interactive_slots = 0, .step_tokens = 64};
    options.pool_tokens = 512;
    options.overcommit = true;
    const auto among = run(options, {embed(300), embed(300), embed(300)});
    for (const auto& one : among) EXPECT_EQ(one->embedding, alone[0]->embedding);
}

}  // namespace
}  // namespace ft
