#include "server/openai_response.h"

#include <gtest/gtest.h>

#include <limits>

#include "server/served_model_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;

// A token for each byte.
std::unique_ptr<Tokenizer> bytes_only() {
    auto tokenizer = load_byte_bpe(byte_vocabulary(), "gpt-2");
    check(static_cast<bool>(tokenizer), "the tokenizer of the test");
    return std::move(*tokenizer);
}

const ResponseHead k_head = {.id = "x-1", .created = 5, .model = "m", .fingerprint = "f"};

TokenLogprobs logprobs_of_a() {
    return {{'a', -0.5}, {{'a', -0.5}, {0xE4, -std::numeric_limits<double>::infinity()}}};
}

OpenAiCall call_of(OpenAiRoute route, bool logprobs, int n_choices) {
    OpenAiCall call;
    call.route = route;
    call.split_thinking = route == OpenAiRoute::chat;
    call.requests.resize(1);
    call.requests[0].n_choices = n_choices;
    if (logprobs) call.requests[0].top_logprobs = 2;
    return call;
}

// The body of the answer to one request with two choices.
ordered_json body(OpenAiRoute route, bool logprobs, std::vector<std::string> echoes = {}) {
    OpenAiCall call = call_of(route, logprobs, 2);
    call.echoes = std::move(echoes);
    AnswerCollector answer(std::make_shared<AnswerReader>(call), 0);
    const TokenLogprobs a = logprobs_of_a();
    answer.on_token({.choice = 0, .id = 0, .text = "<think>why", .logprobs = logprobs ? &a : nullptr});
    answer.on_token({.choice = 1, .id = 1, .text = "other"});
    answer.on_token({.choice = 0, .id = 1, .text = "</think>so"});
    answer.on_end({.choice = 1, .reason = FinishReason::length, .text = "!"});
    answer.on_end({.choice = 0, .reason = FinishReason::stop, .text = "", .stop_text = "END"});
    answer.on_done(record_for_test());
    EXPECT_TRUE(answer.done());
    const std::vector<const AnswerCollector*> answers = {&answer};
    return response_body(call, k_head, answers, *bytes_only());
}

TEST(OpenAiResponse, AChat) {
    const ordered_json got = body(OpenAiRoute::chat, false);
    EXPECT_EQ(got["id"], "x-1");
    EXPECT_EQ(got["object"], "chat.completion");
    EXPECT_EQ(got["created"], 5);
    EXPECT_EQ(got["model"], "m");
    EXPECT_EQ(got["system_fingerprint"], "f");
    ASSERT_EQ(got["choices"].size(), 2u);
    EXPECT_EQ(got["choices"][0], ordered_json::parse(R"({"index": 0, "message": {"role": "assistant",
        "content": "so", "reasoning_content": "why"}, "logprobs": null, "finish_reason": "stop"})"));
    EXPECT_EQ(got["choices"][1], ordered_json::parse(R"({"index": 1, "message": {"role": "assistant",
        "content": "other!"}, "logprobs": null, "finish_reason": "length"})"));
    EXPECT_EQ(got["usage"], ordered_json::parse(R"({"prompt_tokens": 10, "completion_tokens": 3,
        "total_tokens": 13, "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 1}})"));
    EXPECT_EQ(got["timings"]["prompt_n"], 4);
    EXPECT_EQ(got["timings"]["prompt_per_second"], 2000.0);
    EXPECT_EQ(got["timings"]["predicted_per_second"], 500.0);
    EXPECT_EQ(got["timings"]["queue_ms"], 1.0);
}

TEST(OpenAiResponse, ACompletionKeepsAllOfItsText) {
    const ordered_json got = body(OpenAiRoute::completions, true, {"ab"});
    EXPECT_EQ(got["object"], "text_completion");
    EXPECT_EQ(got["choices"][0]["text"], "ab<think>why</think>so");
    EXPECT_EQ(got["choices"][0]["logprobs"],
              ordered_json::parse(R"({"tokens": ["a"], "token_logprobs": [-0.5],
        "top_logprobs": [{"a": -0.5, "\ufffd": -9999.0}], "text_offset": [2]})"));
}

TEST(OpenAiResponse, LogprobsOfAChatHaveTheBytes) {
    const ordered_json got = body(OpenAiRoute::chat, true);
    EXPECT_EQ(got["choices"][0]["logprobs"]["content"],
              ordered_json::parse(R"([{"token": "a", "logprob": -0.5,
        "bytes": [97], "top_logprobs": [{"token": "a", "logprob": -0.5, "bytes": [97]},
        {"token": "\ufffd", "logprob": -9999.0, "bytes": [228]}]}])"));
}

TEST(OpenAiResponse, IsTruncatedWhereTurnsWereDroppedOrTokensForgotten) {
    RequestRecord within, shortened, beyond;
    shortened.dropped_tokens = 5;
    beyond.forgotten_tokens = 3;
    EXPECT_FALSE(is_truncated(within));
    EXPECT_TRUE(is_truncated(shortened));
    EXPECT_TRUE(is_truncated(beyond));
    EXPECT_TRUE(is_truncated(merged(std::vector<RequestRecord>{within, beyond})));
    EXPECT_TRUE(is_truncated(merged(std::vector<RequestRecord>{within, shortened})));
    const OpenAiCall call = call_of(OpenAiRoute::completions, false, 1);
    AnswerCollector answer(std::make_shared<AnswerReader>(call), 0);
    answer.on_end({.text = "so"});
    answer.on_done(beyond);
    const std::vector<const AnswerCollector*> answers = {&answer};
    EXPECT_EQ(response_body(call, k_head, answers, *bytes_only())["truncated"], true);
    EXPECT_FALSE(body(OpenAiRoute::completions, false).contains("truncated"));
}

TEST(OpenAiResponse, TheFirstErrorIsKept) {
    const OpenAiCall call = call_of(OpenAiRoute::completions, false, 2);
    AnswerCollector answer(std::make_shared<AnswerReader>(call), 0);
    const Error first{Code::io, "the drive", ""}, second{Code::io, "later", ""};
    answer.on_end({.choice = 1, .reason = FinishReason::error, .error = &first});
    answer.on_end({.choice = 0, .reason = FinishReason::error, .error = &second});
    ASSERT_TRUE(answer.error());
    EXPECT_EQ(answer.error()->what, "the drive");
    EXPECT_EQ(api_error(*answer.error()).status, 500);
    EXPECT_EQ(api_error({Code::too_large, "x", ""}).status, 400);
}

TEST(OpenAiResponse, FiguresOfSeveralPromptsAreOne) {
    RequestRecord a, b;
    a.queue_ms = 10, a.prefill_ms = 5, a.decode_ms = 5, a.ttft_ms = 15, a.prompt_tokens = 3;
    b.queue_ms = 2, b.prefill_ms = 4, b.decode_ms = 6, b.ttft_ms = 6, b.prompt_tokens = 4;
    const std::vector<RequestRecord> records = {a, b};
    const RequestRecord all = merged(records);
    EXPECT_EQ(all.queue_ms, 2);
    EXPECT_EQ(all.ttft_ms, 6);
    EXPECT_EQ(all.queue_ms + all.prefill_ms + all.decode_ms, 20);
    EXPECT_EQ(all.prompt_tokens, 7);
    EXPECT_EQ(merged({}).prompt_tokens, 0);
}

}  // namespace
}  // namespace ft
