#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/served_model_for_test.h"
#include "server/tools/tool_rules.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

class Responses : public testing::Test {
 protected:
    ParsedEndpoint parse(std::string_view input, std::string_view members = "") const {
        return model_.parse(Endpoint::responses,
                            fmt::format(R"({{"model": "m", "input": {}{}}})", input, members));
    }
    std::string prompt(std::string_view input, std::string_view members = "") const {
        return model_.prompt_of(parse(input, members));
    }
    EndpointCall call(std::string_view members = "") const {
        ParsedEndpoint parsed = parse("\"a\"", members);
        check(parsed.call.has_value(), "the body of the test is read");
        return std::move(*parsed.call);
    }
    std::string refused(std::string_view input, std::string_view members = "") const {
        const ParsedEndpoint parsed = parse(input, members);
        EXPECT_FALSE(parsed.call);
        return parsed.error.message;
    }

    SmallModel model_;
};

constexpr const char* k_flat_tool =
    R"(, "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}},
                                               {"type": "web_search"}])";

TEST_F(Responses, InputIsTextOrItems) {
    EXPECT_EQ(prompt("\"a\""), "<|s|>user:a");
    EXPECT_EQ(prompt("\"a\"", R"(, "instructions": "S")"), "<|s|>system:S<|s|>user:a");
    EXPECT_EQ(
        prompt(
            R"([{"role": "developer", "content": "D"}, {"role": "user", "content": [{"type": "input_text", "text":
                       "a"}]}])",
            R"(, "instructions": "S")"),
        "<|s|>system:S\n\nD<|s|>user:a");
    EXPECT_EQ(
        prompt(R"([{"role": "user", "content": "a"}, {"type": "reasoning", "summary": [], "content": [{"type":
        "reasoning_text", "text": "hm"}]}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text":
        "t", "annotations": []}]}, {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"x\": 1}"},
        {"type": "function_call_output", "call_id": "c1", "output": "5"}])",
               k_flat_tool),
        "<tool>f {\"type\": \"object\"}\n<|s|>user:a<|s|>assistant:[hm]t<call>f {\"x\": 1}<|s|>tool(f):5");
}

std::string reasoning(const std::string& text) {
    return R"({"type": "reasoning", "summary": [{"type": "summary_text", "text": ")" + text + R"("}]})";
}

// Thinking is of the message or call that follows it, and of no later turn.
TEST_F(Responses, ThinkingStaysInItsTurn) {
    const std::string user = R"({"role": "user", "content": "a"})",
                      said = R"({"role": "assistant", "content": "t"})",
                      called =
                          R"({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"})";
    EXPECT_EQ(prompt(fmt::format("[{}, {}, {}, {}, {}]", user, reasoning("h"), said, reasoning("i"), called),
                     k_flat_tool),
              "<tool>f {\"type\": \"object\"}\n<|s|>user:a<|s|>assistant:[h\n\ni]t<call>f {}");
    EXPECT_EQ(prompt(fmt::format("[{}, {}, {}, {}, {}]", user, reasoning("cut"), user, said, user)),
              "<|s|>user:a<|s|>user:a<|s|>assistant:t<|s|>user:a");
}

TEST_F(Responses, ToolsOfTheHostedServiceAreLeftOut) {
    const EndpointCall got = call(
        R"(, "tools": [{"type": "web_search_preview_2025_03_11"}, {"type": "computer_use_preview"}, {"type": "mcp"}])");
    EXPECT_EQ(got.call.prompt_text, "<|s|>user:a");
    EXPECT_THAT(refused("\"a\"", R"(, "tools": [{"type": "web_searching"}])"), HasSubstr("web_searching"));
}

TEST_F(Responses, Fields) {
    const EndpointCall got =
        call(R"(, "max_output_tokens": 9, "temperature": 0.5, "reasoning": {"effort": "low"},
        "store": true, "include": [], "truncation": "auto", "metadata": {"a": "b"})");
    EXPECT_EQ(got.call.requests[0].max_tokens, 9);
    EXPECT_EQ(got.call.requests[0].sampling.temperature, 0.5f);
    EXPECT_EQ(got.call.prompt_text, "<|s|>user:athink=Trueeffort=low");
    EXPECT_FALSE(call(std::string(k_flat_tool) + R"(, "parallel_tool_calls": false)").call.tools->parallel);
}

TEST_F(Responses, WhatIsWrongIsNamed) {
    EXPECT_THAT(refused("null"), HasSubstr("input is missing"));
    EXPECT_THAT(refused("5"), HasSubstr("input"));
    EXPECT_THAT(refused(R"([{"role": "king", "content": "x"}])"), HasSubstr("input[0].role"));
    EXPECT_THAT(refused(R"([{"type": "item_reference", "id": "x"}])"), HasSubstr("item_reference"));
    EXPECT_THAT(refused(R"([{"role": "user", "content": [{"type": "input_image"}]}])"),
                HasSubstr("input_image"));
    EXPECT_THAT(refused("\"a\"", R"(, "previous_response_id": "x")"), HasSubstr("previous_response_id"));
    EXPECT_THAT(refused("\"a\"", R"(, "background": true)"), HasSubstr("background"));
    EXPECT_THAT(refused("\"a\"", R"(, "tools": [{"type": "custom", "name": "f"}])"), HasSubstr("custom"));
    EXPECT_THAT(refused("\"a\"", R"(, "text": {"format": {"type": "json_schema"}})"),
                HasSubstr("text.format"));
    EXPECT_THAT(refused("\"a\"", R"(, "max_output_tokens": 0)"), HasSubstr("max_output_tokens"));
}

TEST_F(Responses, AWholeResponse) {
    EndpointCall got = call(R"(, "temperature": 0.5, "top_p": 0.25)");
    ordered_json body = ordered_json::parse(whole(got, "<think>h</think>so"));
    body.erase("timings");
    EXPECT_EQ(body, ordered_json::parse(R"({"id": "resp_1a", "object": "response", "created_at": 1769862896,
        "status": "completed", "background": false, "error": null, "incomplete_details": null, "model": "local-moe",
        "output": [
            {"type": "reasoning", "id": "rs_1a0", "status": "completed", "summary": [], "content": [{"type":
             "reasoning_text", "text": "h"}]},
            {"type": "message", "id": "msg_1a1", "status": "completed", "role": "assistant", "content": [{"type":
             "output_text", "text": "so", "annotations": [], "logprobs": []}]}],
        "instructions": null, "max_output_tokens": null, "metadata": {}, "parallel_tool_calls": true,
        "previous_response_id": null, "reasoning": {"effort": null, "summary": null}, "store": false, "temperature": 0.5,
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 0.25, "truncation": "disabled",
        "user": null, "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 6}, "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 13}})"));
    EndpointCall cut = call();
    const ordered_json incomplete = ordered_json::parse(whole(cut, "so", FinishReason::length));
    EXPECT_EQ(incomplete["status"], "incomplete");
    EXPECT_EQ(incomplete["incomplete_details"], ordered_json::parse(R"({"reason": "max_output_tokens"})"));
}

// The events of a stream: [name, data] in order.
std::vector<std::pair<std::string, ordered_json>> events_of(const std::string& stream) {
    std::vector<std::pair<std::string, ordered_json>> events;
    for (size_t at = 0; at < stream.size();) {
        const size_t line = stream.find('\n', at), end = stream.find("\n\n", line);
        events.emplace_back(stream.substr(at + 7, line - at - 7),
                            ordered_json::parse(stream.substr(line + 7, end - line - 7)));
        at = end + 2;
    }
    return events;
}

TEST_F(Responses, AStreamOfText) {
    EndpointCall got = call(R"(, "stream": true)");
    const auto events = events_of(streamed(got, "hi"));
    std::vector<std::string> names;
    for (size_t i = 0; i < events.size(); i++) {
        names.push_back(events[i].first);
        EXPECT_EQ(events[i].second["type"], events[i].first);
        EXPECT_EQ(events[i].second["sequence_number"], i);
    }
    EXPECT_THAT(names,
                ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                            "response.content_part.added", "response.output_text.delta",
                            "response.output_text.delta", "response.output_text.done",
                            "response.content_part.done", "response.output_item.done", "response.completed"));
    EXPECT_EQ(events[4].second,
              ordered_json::parse(R"({"type": "response.output_text.delta", "sequence_number": 4,
        "item_id": "msg_1a0", "output_index": 0, "content_index": 0, "delta": "h", "logprobs": []})"));
    EXPECT_EQ(events[6].second["text"], "hi");
    for (const char* field :
         {"id", "created_at", "model", "object", "output", "parallel_tool_calls", "tool_choice", "tools"})
        EXPECT_TRUE(events[0].second["response"].contains(field)) << field;
    EXPECT_EQ(events.back().second["response"]["output"][0], events[8].second["item"]);
    EXPECT_EQ(events.back().second["response"]["usage"]["total_tokens"], 13);
}

TEST_F(Responses, AStreamOfACall) {
    EndpointCall got = call(std::string(k_flat_tool) + R"(, "stream": true)");
    const std::string id = fmt::format("call_{:016x}0000", got.call.tools->id_seed);
    const auto events =
        events_of(streamed(got, "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"));
    ASSERT_EQ(events.size(), 8u);
    EXPECT_EQ(events[2].first, "response.output_item.added");
    EXPECT_EQ(
        events[2].second["item"], ordered_json::parse(R"({"type": "function_call", "id": "fc_1a0", "status":
        "in_progress", "call_id": ")" + id + R"(", "name": "f", "arguments": ""})"));
    EXPECT_EQ(events[3].first, "response.function_call_arguments.delta");
    EXPECT_EQ(events[5].second, ordered_json::parse(R"({"type": "response.function_call_arguments.done",
        "sequence_number": 5, "item_id": "fc_1a0", "output_index": 0, "name": "f", "arguments": "{}"})"));
    EXPECT_EQ(events[6].second["item"]["arguments"], "{}");
    EXPECT_EQ(events[6].second["item"]["status"], "completed");
}

TEST_F(Responses, AnErrorEndsTheStream) {
    EndpointCall got = call(R"(, "stream": true)");
    got.shape->begin();
    const auto events = events_of(got.shape->error({.status = 500, .message = "x.", .type = "server_error"}));
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].second,
              ordered_json::parse(R"({"type": "error", "sequence_number": 2, "code": "server_error",
        "message": "x.", "param": null})"));
    EXPECT_EQ(events[1].second["response"]["status"], "failed");
}

}  // namespace
}  // namespace ft
