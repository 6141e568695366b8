#include "cli/answer.h"

#include <gtest/gtest.h>

#include <limits>

namespace ft::cli {
namespace {

// A model whose greedy next token after id n is n + 1; 9 ends the answer.
class Counting : public Sequence {
 public:
    Status feed(std::span<const int32_t> ids, const std::atomic<bool>*) override {
        if (fail_at >= 0 && n_past_ + static_cast<int64_t>(ids.size()) > fail_at)
            return Error{Code::io, "model.gguf: cut", ""};
        for (const int32_t id : ids) fed.push_back(id);
        n_past_ += static_cast<int64_t>(ids.size());
        logits_.assign(32, 0.0f);
        logits_[static_cast<size_t>(ids.back() + 1)] = 1;
        logits_[20] = 0.5;  // the second likeliest, always
        if (n_past_ >= broken_at) logits_[31] = std::numeric_limits<float>::quiet_NaN();
        return {};
    }
    std::span<const float> logits() const override { return logits_; }
    int64_t n_past() const override { return n_past_; }
    int64_t step_tokens() const override { return 256; }

    int64_t n_past_ = 0;
    int64_t fail_at = -1;
    int64_t broken_at = 1000;
    std::vector<int32_t> fed;

 private:
    std::vector<float> logits_;
};

SamplerParams greedy() { return {.temperature = 0, .top_p = 1, .repeat_penalty = 1}; }
const auto is_nine = [](int32_t id) { return id == 9; };

TEST(Generate, EndsWithTheEndToken) {
    Counting model;
    const std::vector<int32_t> prompt = {3, 5};
    std::vector<int32_t> heard;
    const Expected<Answer> answer =
        generate(model, {.prompt = prompt, .sampling = greedy(), .n_ctx = 100}, is_nine, [&](int32_t id) {
            heard.push_back(id);
            return true;
        });
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->ids, (std::vector<int32_t>{6, 7, 8}));
    EXPECT_EQ(heard, answer->ids);
    EXPECT_EQ(answer->end, AnswerEnd::end_token);
    EXPECT_EQ(answer->timings.prompt_n, 2);
    EXPECT_EQ(answer->timings.predicted_n, 4);
    EXPECT_EQ(model.fed, (std::vector<int32_t>{3, 5, 6, 7, 8}));
}

TEST(Generate, EndsAtMaxTokensAndAtTheContext) {
    const std::vector<int32_t> prompt = {1, 2};
    const auto end_of = [&](int64_t max_tokens, int64_t n_ctx) {
        Counting model;
        const Expected<Answer> answer = generate(
            model, {.prompt = prompt, .sampling = greedy(), .max_tokens = max_tokens, .n_ctx = n_ctx},
            is_nine, [](int32_t) { return true; });
        EXPECT_TRUE(answer);
        return std::pair(answer->ids.size(), answer->end);
    };
    EXPECT_EQ(end_of(3, 100), std::pair(size_t{3}, AnswerEnd::max_tokens));
    EXPECT_EQ(end_of(0, 6), std::pair(size_t{4}, AnswerEnd::context_full));
    EXPECT_EQ(end_of(5, 6), std::pair(size_t{4}, AnswerEnd::context_full));
    EXPECT_EQ(end_of(4, 6), std::pair(size_t{4}, AnswerEnd::max_tokens));
    EXPECT_EQ(end_of(0, 3), std::pair(size_t{1}, AnswerEnd::context_full));
    EXPECT_STREQ(finish_reason(AnswerEnd::context_full), "length");
    EXPECT_STREQ(finish_reason(AnswerEnd::end_token), "stop");
}

TEST(Generate, APromptWithoutRoomForAnAnswerIsRefusedUnfed) {
    Counting model;
    const std::vector<int32_t> prompt = {1, 2, 3};
    const Expected<Answer> answer = generate(model, {.prompt = prompt, .sampling = greedy(), .n_ctx = 3},
                                             is_nine, [](int32_t) { return true; });
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().what.find("3 tokens"), std::string::npos);
    EXPECT_NE(answer.error().remedy.find("--ctx"), std::string::npos);
    EXPECT_TRUE(model.fed.empty());
    EXPECT_FALSE(generate(model, {.prompt = {}, .sampling = greedy(), .n_ctx = 3}, is_nine,
                          [](int32_t) { return true; }));
}

TEST(Generate, FeedsOnlyWhatTheSequenceLacks) {
    Counting model;
    const std::vector<int32_t> prompt = {1, 2, 3, 7};
    ASSERT_TRUE(model.feed(std::span(prompt).first(3), nullptr));
    const Expected<Answer> answer = generate(model, {.prompt = prompt, .sampling = greedy(), .n_ctx = 100},
                                             is_nine, [](int32_t) { return true; });
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->timings.prompt_n, 1);
    EXPECT_EQ(answer->ids, (std::vector<int32_t>{8}));
}

TEST(Generate, StopsWhenToldAndWhenNobodyReads) {
    const std::vector<int32_t> prompt = {1};
    std::atomic<bool> stop{false};
    Counting model;
    const Expected<Answer> stopped =
        generate(model, {.prompt = prompt, .sampling = greedy(), .n_ctx = 100, .stop = &stop}, is_nine,
                 [&](int32_t id) {
                     stop = id == 3;
                     return true;
                 });
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->end, AnswerEnd::interrupted);
    EXPECT_EQ(stopped->ids, (std::vector<int32_t>{2, 3}));
    Counting other;
    const Expected<Answer> unheard = generate(other, {.prompt = prompt, .sampling = greedy(), .n_ctx = 100},
                                              is_nine, [](int32_t) { return false; });
    ASSERT_TRUE(unheard);
    EXPECT_EQ(unheard->end, AnswerEnd::unheard);
    EXPECT_EQ(unheard->ids.size(), 1u);
}

TEST(Generate, AFailureInTheMiddleIsAnError) {
    Counting model;
    model.fail_at = 3;
    const std::vector<int32_t> prompt = {1, 2};
    const Expected<Answer> answer = generate(model, {.prompt = prompt, .sampling = greedy(), .n_ctx = 100},
                                             is_nine, [](int32_t) { return true; });
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().what, "model.gguf: cut");
}

TEST(Generate, LogitsThatAreNotFiniteEndTheAnswerWithASentence) {
    const std::vector<int32_t> prompt = {1, 2};
    for (const int64_t broken_at : {2, 4}) {
        Counting model;
        model.broken_at = broken_at;
        const Expected<Answer> answer =
            generate(model, {.prompt = prompt, .sampling = greedy(), .n_ctx = 100, .model = "x.gguf"},
                     is_nine, [](int32_t) { return true; });
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().what.find("x.gguf: the logits are not finite"), 0u);
    }
}

TEST(Generate, PenaltiesSeeThePrompt) {
    SamplerParams params = greedy();
    params.repeat_penalty = 4;
    const auto first_after = [&](std::vector<int32_t> prompt) {
        Counting model;
        const Expected<Answer> answer =
            generate(model, {.prompt = prompt, .sampling = params, .max_tokens = 1, .n_ctx = 100}, is_nine,
                     [](int32_t) { return true; });
        return answer ? answer->ids.front() : -1;
    };
    EXPECT_EQ(first_after({5, 3}), 4);
    EXPECT_EQ(first_after({4, 3}), 20);
}

}  // namespace
}  // namespace ft::cli
