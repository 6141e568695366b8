#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/served_model_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* k_last =
    R"("done":true,"done_reason":"stop","total_duration":7000000,"load_duration":0,"prompt_eval_count":10,)"
    R"("prompt_eval_duration":2000000,"eval_count":3,"eval_duration":4000000,"timings":{"queue_ms":1.0,"cache_n":6,)"
    R"("prompt_n":4,"prompt_ms":2.0,"prompt_per_second":2000.0,"predicted_n":3,"predicted_ms":4.0,)"
    R"("predicted_per_second":500.0,"ttft_ms":3.0,"experts":{"hits":0,"misses":0,"bytes_read":0}}})";
constexpr const char* k_line = R"({"model":"local-moe","created_at":"2026-01-31T12:34:56Z",)";

class Ollama : public testing::Test {
 protected:
    ParsedEndpoint chat(std::string_view members) const {
        return model_.parse(Endpoint::ollama_chat, fmt::format(R"({{"model": "local-moe"{}}})", members));
    }
    ParsedEndpoint generate(std::string_view members) const {
        return model_.parse(Endpoint::ollama_generate,
                            fmt::format(R"({{"model": "local-moe:latest"{}}})", members));
    }
    static EndpointCall good(ParsedEndpoint parsed) {
        EXPECT_TRUE(parsed.call) << parsed.error.message;
        check(parsed.call.has_value(), "the body of the test is read");
        return std::move(*parsed.call);
    }

    SmallModel model_;
};

constexpr const char* k_ask = R"(, "messages": [{"role": "user", "content": "a"}])";

TEST_F(Ollama, AChatStreamsByDefault) {
    EndpointCall call = good(chat(k_ask));
    EXPECT_TRUE(call.call.stream);
    EXPECT_STREQ(call.shape->content_type(true), "application/x-ndjson");
    const std::string line = k_line;
    EXPECT_EQ(streamed(call, "<think>m</think>hi"),
              line + R"("message":{"role":"assistant","content":"","thinking":"m"},"done":false})" + "\n" +
                  line + R"("message":{"role":"assistant","content":"h"},"done":false})" + "\n" + line +
                  R"("message":{"role":"assistant","content":"i"},"done":false})" + "\n" + line +
                  R"("message":{"role":"assistant","content":""},)" + k_last + "\n");
}

TEST_F(Ollama, AChatWhole) {
    EndpointCall call =
        good(chat(std::string(k_ask) + R"(, "stream": false, "tools": [{"type": "function", "function":
        {"name": "f"}}])"));
    EXPECT_FALSE(call.call.stream);
    ordered_json body = ordered_json::parse(
        whole(call, "so<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>"));
    body["message"]["tool_calls"][0].erase("id");
    EXPECT_EQ(body["message"],
              ordered_json::parse(R"({"role": "assistant", "content": "so", "tool_calls": [{"function":
        {"name": "f", "arguments": {"x": 1}}}]})"));
    EXPECT_EQ(body["done"], true);
}

TEST_F(Ollama, CallsOfAStreamComeWhole) {
    EndpointCall call =
        good(chat(std::string(k_ask) + R"(, "tools": [{"type": "function", "function": {"name": "f"}}])"));
    const std::string all =
        streamed(call, "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>");
    EXPECT_THAT(all, HasSubstr(R"("function":{"name":"f","arguments":{"x":1}}}]},"done":false})"));
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2);
}

TEST_F(Ollama, Generate) {
    EndpointCall call = good(generate(R"(, "prompt": "a", "system": "S")"));
    EXPECT_EQ(call.call.prompt_text, "<|s|>system:S<|s|>user:a");
    EXPECT_EQ(streamed(call, "h"), std::string(k_line) + R"("response":"h","done":false})" + "\n" + k_line +
                                       R"("response":"",)" + k_last + "\n");
    EXPECT_EQ(model_.prompt_of(generate(R"(, "prompt": "a", "raw": true)")), "a");
    EndpointCall one = good(generate(R"(, "prompt": "a", "stream": false)"));
    EXPECT_EQ(whole(one, "hi"), std::string(k_line) + R"("response":"hi",)" + k_last);
}

TEST_F(Ollama, NothingToAnswerIsALoad) {
    EndpointCall call = good(chat(R"(, "messages": [])"));
    EXPECT_TRUE(call.call.requests.empty());
    EXPECT_EQ(call.shape->whole({}, {}, {}),
              std::string(k_line) +
                  R"("message":{"role":"assistant","content":""},"done":true,"done_reason":"load"})");
    EndpointCall other = good(generate(R"(, "keep_alive": 0)"));
    EXPECT_EQ(other.shape->begin() + other.shape->done({}),
              std::string(k_line) + R"("response":"","done":true,"done_reason":"load"})" + "\n");
}

TEST_F(Ollama, Options) {
    const EndpointCall call =
        good(chat(std::string(k_ask) + R"(, "keep_alive": "5m", "options": {"temperature": 0.5,
        "num_predict": 7, "repeat_penalty": 1.25, "stop": ["x"], "seed": 3, "top_k": 2, "num_ctx": 100000, "num_gpu": 99,
        "num_thread": 2, "penalize_newline": true}, "think": false)"));
    const Request& request = call.call.requests[0];
    EXPECT_EQ(request.sampling.temperature, 0.5f);
    EXPECT_EQ(request.sampling.repeat_penalty, 1.25f);
    EXPECT_EQ(request.sampling.seed, 3u);
    EXPECT_EQ(request.max_tokens, 7);
    EXPECT_THAT(request.stop, ElementsAre("x"));
    EXPECT_EQ(call.call.prompt_text, "<|s|>user:athink=False");
    EXPECT_FALSE(
        good(chat(std::string(k_ask) + R"(, "options": {"num_predict": -1})")).call.requests[0].max_tokens);
    EXPECT_EQ(good(chat(std::string(k_ask) + R"(, "think": "high")")).call.prompt_text,
              "<|s|>user:athink=Trueeffort=high");
    EXPECT_EQ(good(chat(std::string(k_ask) + R"(, "format": "")")).call.requests.size(), 1u);
}

TEST_F(Ollama, CallsAndResultsGoBackToTheTemplate) {
    EXPECT_EQ(model_.prompt_of(chat(
                  R"(, "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "",
        "thinking": "hm", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}, {"role": "tool",
        "tool_name": "f", "content": "5"}])")),
              "<|s|>user:a<|s|>assistant:[hm]<call>f {\"x\": 1}<|s|>tool(f):5");
}

TEST_F(Ollama, WhatIsWrongIsNamed) {
    struct Case {
        const char* body;
        int status;
        const char* word;
    };
    for (const Case& c : std::vector<Case>{
             {R"({"model": "no-such-model", "messages": []})", 404, "no-such-model"},
             {R"({"messages": []})", 400, "model"},
             {R"({"model": "local-moe", "messages": "x"})", 400, "messages"},
             {R"({"model": "local-moe", "messages": [{"role": "user", "content": "a", "images": ["AA"]}]})",
              400, "image"},
             {R"({"model": "local-moe", "messages": [], "options": {"temperature": "hot"}})", 400,
              "options.temperature"},
             {R"({"model": "local-moe", "messages": [], "options": {"num_predict": 0}})", 400, "num_predict"},
             {R"({"model": "local-moe", "messages": [], "options": {"min_tokens": 5}})", 400,
              "min_tokens is 5"},
             {R"({"model": "local-moe", "messages": [], "options": 5})", 400, "options"},
             {R"({"model": "local-moe", "messages": [{"role": "user", "content": "a"}], "format": "xml"})",
              400, "format"},
             {R"({"model": "local-moe", "messages": [{"role": "user", "content": "a"}], "think": 5})", 400,
              "think"},
         }) {
        const ParsedEndpoint parsed = model_.parse(Endpoint::ollama_chat, c.body);
        EXPECT_FALSE(parsed.call) << c.body;
        EXPECT_EQ(parsed.error.status, c.status);
        EXPECT_THAT(parsed.error.message, HasSubstr(c.word));
    }
    for (const char* member : {"suffix", "template", "context", "images"})
        EXPECT_THAT(generate(fmt::format(R"(, "prompt": "a", "{}": [1])", member)).error.message,
                    HasSubstr(member));
}

}  // namespace
}  // namespace ft
