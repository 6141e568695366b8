#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/served_model_for_test.h"
#include "server/tools/tool_rules.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

class AnthropicMessages : public testing::Test {
 protected:
    ParsedEndpoint parse(std::string_view messages, std::string_view members = "") const {
        return model_.parse(Endpoint::anthropic_messages,
                            fmt::format(R"({{"model": "m", "messages": {}{}}})", messages, members));
    }
    std::string prompt(std::string_view messages, std::string_view members = "") const {
        return model_.prompt_of(parse(messages, members));
    }
    EndpointCall call(std::string_view members = "") const {
        ParsedEndpoint parsed = parse(R"([{"role": "user", "content": "a"}])", members);
        check(parsed.call.has_value(), "the body of the test is read");
        return std::move(*parsed.call);
    }
    std::string refused(std::string_view messages, std::string_view members = "") const {
        const ParsedEndpoint parsed = parse(messages, members);
        EXPECT_FALSE(parsed.call);
        EXPECT_EQ(parsed.error.status, 400);
        return parsed.error.message;
    }

    SmallModel model_;
};

constexpr std::string_view k_user = R"([{"role": "user", "content": "a"}])";
constexpr const char* k_tool =
    R"(, "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}])";

TEST_F(AnthropicMessages, BlocksAndSystemAreRead) {
    EXPECT_EQ(prompt(k_user), "<|s|>user:a");
    EXPECT_EQ(
        prompt(R"([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}]}])"),
        "<|s|>user:a");
    EXPECT_EQ(prompt(k_user, R"(, "system": "S")"), "<|s|>system:S<|s|>user:a");
    EXPECT_EQ(prompt(k_user, R"(, "system": [{"type": "text", "text": "S"}])"), "<|s|>system:S<|s|>user:a");
    EXPECT_EQ(prompt(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])"),
              "<|s|>user:a\n\nb");
    EXPECT_EQ(prompt(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "x"},
                       {"role": "system", "content": "s"}, {"role": "user", "content": "b"}])"),
              "<|s|>user:a<|s|>assistant:x<|s|>system:s<|s|>user:b");
    EXPECT_EQ(
        prompt(R"([{"role": "user", "content": [{"type": "document", "title": "T", "source": {"type": "text",
                       "data": "D"}}, {"type": "text", "text": "a"}]}])"),
        "<|s|>user:T\nD\n\na");
}

TEST_F(AnthropicMessages, AllOfATurnsThinkingIsKept) {
    EXPECT_EQ(
        prompt(
            R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "thinking", "thinking":
        "one", "signature": ""}, {"type": "redacted_thinking", "data": "x"}, {"type": "thinking", "thinking": "two"},
        {"type": "text", "text": "t"}]}, {"role": "user", "content": "b"}])"),
        "<|s|>user:a<|s|>assistant:[one\n\ntwo]t<|s|>user:b");
}

TEST_F(AnthropicMessages, ALastMessageOfTheAssistantIsGoneOnWith) {
    EXPECT_EQ(prompt(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "So"}])"),
              "<|s|>user:athink=FalseSo");
}

TEST_F(AnthropicMessages, ToolsCallsAndResults) {
    EXPECT_EQ(
        prompt(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "thinking",
        "thinking": "hm", "signature": ""}, {"type": "text", "text": "t"}, {"type": "tool_use", "id": "t1", "name": "f",
        "input": {"x": 1}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type":
        "text", "text": "5"}]}, {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": true},
        {"type": "text", "text": "b"}]}])",
               k_tool),
        "<tool>f {\"type\": \"object\"}\n<|s|>user:a<|s|>assistant:[hm]t<call>f {\"x\": 1}<|s|>tool(f):5"
        "<|s|>tool:Error: no<|s|>user:b");
    EXPECT_EQ(prompt(k_user, std::string(k_tool) + R"(, "tool_choice": {"type": "none"})"), "<|s|>user:a");
    EXPECT_EQ(prompt(k_user, R"(, "tools": [{"type": "web_search_20250305", "name": "web_search"}])"),
              "<|s|>user:a");
    EXPECT_FALSE(
        call(std::string(k_tool) + R"(, "tool_choice": {"type": "auto", "disable_parallel_tool_use": true})")
            .call.tools->parallel);
}

TEST_F(AnthropicMessages, SamplingAndThinking) {
    const EndpointCall got = call(R"(, "max_tokens": 9, "temperature": 0.5, "top_p": 0.25, "top_k": 3,
        "stop_sequences": ["x"], "thinking": {"type": "disabled"}, "metadata": {"user_id": "u"})");
    const Request& request = got.call.requests[0];
    EXPECT_EQ(request.max_tokens, 9);
    EXPECT_EQ(request.sampling.temperature, 0.5f);
    EXPECT_EQ(request.sampling.top_p, 0.25f);
    EXPECT_EQ(request.sampling.top_k, 3);
    EXPECT_THAT(request.stop, ElementsAre("x"));
    EXPECT_EQ(got.call.prompt_text, "<|s|>user:athink=False");
    EXPECT_EQ(call(R"(, "thinking": {"type": "enabled", "budget_tokens": 2000})").call.prompt_text,
              "<|s|>user:athink=True");
    EXPECT_EQ(call(R"(, "thinking": {"type": "adaptive"})").call.prompt_text, "<|s|>user:a");
    EXPECT_EQ(call(R"(, "output_config": {"effort": "max"})").call.prompt_text,
              "<|s|>user:athink=Trueeffort=max");
}

TEST_F(AnthropicMessages, WhatIsWrongIsNamed) {
    EXPECT_THAT(refused("[]"), HasSubstr("messages"));
    EXPECT_THAT(refused("null"), HasSubstr("messages"));
    EXPECT_THAT(refused(R"([{"role": "king", "content": "x"}])"), HasSubstr("messages[0].role"));
    EXPECT_THAT(refused(R"([{"role": "user"}])"), HasSubstr("messages[0].content"));
    EXPECT_THAT(refused(R"([{"role": "user", "content": [{"type": "image", "source": {}}]}])"),
                HasSubstr("image"));
    EXPECT_THAT(refused(R"([{"role": "user", "content": [{"type": "document", "source": {"type": 5}}]}])"),
                HasSubstr("document"));
    EXPECT_THAT(refused(R"([{"role": "user", "content": [{"type": "text"}]}])"),
                HasSubstr("content[0].text"));
    EXPECT_THAT(
        refused(R"([{"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": 5}]}])"),
        HasSubstr("input"));
    EXPECT_THAT(refused(k_user, R"(, "max_tokens": -1)"), HasSubstr("max_tokens"));
    EXPECT_THAT(refused(k_user, R"(, "temperature": "hot")"), HasSubstr("temperature"));
    EXPECT_THAT(refused(k_user, R"(, "stop_sequences": [1])"), HasSubstr("stop_sequences"));
    EXPECT_THAT(refused(k_user, R"(, "thinking": {"type": "wild"})"), HasSubstr("thinking.type"));
    EXPECT_THAT(refused(k_user, R"(, "tools": [{"name": "f", "input_schema": 5}])"),
                HasSubstr("input_schema"));
    EXPECT_THAT(refused(k_user, R"(, "tool_choice": {"type": "any"})"), HasSubstr("tool_choice"));
    EXPECT_THAT(refused(k_user, R"(, "tool_choice": {"type": "tool"})"), HasSubstr("tool_choice.name"));
    EXPECT_THAT(refused(k_user, R"(, "mcp_servers": [{}])"), HasSubstr("mcp_servers"));
    EXPECT_THAT(refused(k_user, R"(, "output_config": {"format": {"type": "xml"}})"),
                HasSubstr("output_config.format"));
}

constexpr const char* k_figures =
    R"("timings":{"queue_ms":1.0,"cache_n":6,"prompt_n":4,"prompt_ms":2.0,"prompt_per_second":2000.0,"predicted_n":3,)"
    R"("predicted_ms":4.0,"predicted_per_second":500.0,"ttft_ms":3.0,"experts":{"hits":0,"misses":0,"bytes_read":0}})";
constexpr const char* k_usage =
    R"("usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":6,)"
    R"("output_tokens":3})";

TEST_F(AnthropicMessages, AWholeMessage) {
    EndpointCall got = call();
    EXPECT_EQ(
        whole(got, "so", FinishReason::stop, "END"),
        R"({"id":"msg_1a","type":"message","role":"assistant","model":"local-moe","content":[{"type":"text",)"
        R"("text":"so"}],"stop_reason":"stop_sequence","stop_sequence":"END",)" +
            std::string(k_usage) + "," + k_figures + "}");
    EndpointCall cut = call();
    EXPECT_EQ(ordered_json::parse(whole(cut, "", FinishReason::length))["stop_reason"], "max_tokens");
    EndpointCall empty = call();
    EXPECT_EQ(ordered_json::parse(whole(empty, ""))["content"],
              ordered_json::parse(R"([{"type": "text", "text": ""}])"));
}

TEST_F(AnthropicMessages, AWholeMessageWithThinkingAndCalls) {
    EndpointCall got = call(k_tool);
    ordered_json body = ordered_json::parse(
        whole(got,
              "<think>hm</think>so\n<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": [1]}}</tool_call>"
              "<tool_call>{\"name\": \"f\", \"arguments\": 5}</tool_call>"));
    EXPECT_EQ(body["stop_reason"], "tool_use");
    EXPECT_TRUE(body["stop_sequence"].is_null());
    for (const int i : {2, 3}) body["content"][static_cast<size_t>(i)].erase("id");
    EXPECT_EQ(body["content"],
              ordered_json::parse(R"([{"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "so"}, {"type": "tool_use", "name": "f", "input": {"x": [1]}},
        {"type": "tool_use", "name": "f", "input": {"value": 5}}])"));
}

std::string event(const std::string& name, const std::string& members) {
    return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + (members.empty() ? "" : ",") + members +
           "}\n\n";
}

TEST_F(AnthropicMessages, AStream) {
    EndpointCall got = call(R"(, "stream": true)");
    EXPECT_STREQ(got.shape->content_type(true), "text/event-stream");
    const std::string start =
        event("message_start",
              R"("message":{"id":"msg_1a","type":"message","role":"assistant","model":"local-moe",)"
              R"("content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":)" +
                  std::to_string(got.call.requests[0].prompt.size()) +
                  R"(,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}})");
    EXPECT_EQ(streamed(got, "hi"),
              start + event("content_block_start", R"("index":0,"content_block":{"type":"text","text":""})") +
                  event("content_block_delta", R"("index":0,"delta":{"type":"text_delta","text":"h"})") +
                  event("content_block_delta", R"("index":0,"delta":{"type":"text_delta","text":"i"})") +
                  event("content_block_stop", R"("index":0)") +
                  event("message_delta", R"("delta":{"stop_reason":"end_turn","stop_sequence":null},)" +
                                             std::string(k_usage) + "," + k_figures) +
                  event("message_stop", ""));
}

TEST_F(AnthropicMessages, AStreamBeginsWithWhatIsKnownOfItsPrompt) {
    EndpointCall got = call(R"(, "stream": true)");
    got.shape->prompt_read(5);
    const std::string begun = got.shape->begin();
    EXPECT_THAT(begun, HasSubstr(fmt::format(R"("usage":{{"input_tokens":{},"cache_creation_input_tokens":0,)"
                                             R"("cache_read_input_tokens":5,"output_tokens":1}})",
                                             got.call.requests[0].prompt.size() - 5)));
}

TEST_F(AnthropicMessages, AStreamOfThinkingAndCalls) {
    EndpointCall got = call(std::string(k_tool) + R"(, "stream": true)");
    const std::string id = fmt::format("call_{:016x}0000", got.call.tools->id_seed);
    const std::string all =
        streamed(got, "<think>h</think><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>");
    EXPECT_THAT(
        all,
        HasSubstr(
            event("content_block_start",
                  R"("index":0,"content_block":{"type":"thinking","thinking":"","signature":""})") +
            event("content_block_delta", R"("index":0,"delta":{"type":"thinking_delta","thinking":"h"})") +
            event("content_block_delta", R"("index":0,"delta":{"type":"signature_delta","signature":""})") +
            event("content_block_stop", R"("index":0)") +
            event("content_block_start", R"("index":1,"content_block":{"type":"tool_use","id":")" + id +
                                             R"(","name":"f","input":{}})") +
            event("content_block_delta",
                  R"("index":1,"delta":{"type":"input_json_delta","partial_json":"{"})") +
            event("content_block_delta",
                  R"("index":1,"delta":{"type":"input_json_delta","partial_json":"}"})") +
            event("content_block_stop", R"("index":1)")));
    EXPECT_THAT(all, HasSubstr(R"("stop_reason":"tool_use")"));
}

}  // namespace
}  // namespace ft
