#include "server/endpoint_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/served_model_for_test.h"
#include "server/tools/tool_rules.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* k_timings =
    R"({"queue_ms":1.0,"cache_n":6,"prompt_n":4,"prompt_ms":2.0,"prompt_per_second":2000.0,"predicted_n":3,)"
    R"("predicted_ms":4.0,"predicted_per_second":500.0,"ttft_ms":3.0,"experts":{"hits":0,"misses":0,"bytes_read":0}})";

EndpointCall good(ParsedEndpoint parsed) {
    EXPECT_TRUE(parsed.call) << parsed.error.message;
    check(parsed.call.has_value(), "the body of the test is read");
    return std::move(*parsed.call);
}

TEST(Generate, ThePromptIsOneTurn) {
    const SmallModel model;
    const ParsedEndpoint parsed =
        model.parse(Endpoint::generate, R"({"prompt": "ab", "max_tokens": 5, "no_such": 1})");
    EXPECT_EQ(model.prompt_of(parsed), "<|s|>user:ab");
    EXPECT_EQ(parsed.call->call.requests[0].max_tokens, 5);
    EXPECT_FALSE(parsed.call->lane);
    EXPECT_EQ(model.prompt_of(model.parse(Endpoint::generate, R"({"prompt": "ab", "system": "x"})")),
              "<|s|>system:x<|s|>user:ab");
    EXPECT_EQ(model.prompt_of(model.parse(Endpoint::generate, R"({"prompt": "ab", "raw": true})")), "ab");
}

TEST(Generate, TheAnswerWhole) {
    const SmallModel model;
    EndpointCall call = good(model.parse(Endpoint::generate, R"({"prompt": "ab"})"));
    EXPECT_STREQ(call.shape->content_type(false), "application/json");
    EXPECT_EQ(whole(call, "<think>hm</think>so", FinishReason::length),
              R"({"text":"so","thinking":"hm","finish_reason":"length","model":"local-moe","timings":)" +
                  std::string(k_timings) + "}");
    EndpointCall raw = good(model.parse(Endpoint::generate, R"({"prompt": "ab", "raw": true})"));
    EXPECT_EQ(ordered_json::parse(whole(raw, "<think>hm</think>so"))["text"], "<think>hm</think>so");
}

TEST(Generate, TheAnswerStreamed) {
    const SmallModel model;
    EndpointCall call = good(model.parse(Endpoint::generate, R"({"prompt": "ab", "stream": true})"));
    EXPECT_STREQ(call.shape->content_type(true), "text/event-stream");
    EXPECT_EQ(streamed(call, "hi", FinishReason::stop, "END"),
              "data: {\"text\":\"h\"}\n\ndata: {\"text\":\"i\"}\n\n"
              "data: "
              "{\"text\":\"\",\"finish_reason\":\"stop\",\"stop_text\":\"END\",\"model\":\"local-moe\","
              "\"timings\":" +
                  std::string(k_timings) + "}\n\ndata: [DONE]\n\n");
}

TEST(Generate, WrongFieldsAreNamed) {
    const SmallModel model;
    struct Case {
        const char* body;
        const char* word;
    };
    for (const Case& c : std::vector<Case>{{"{}", "prompt"},
                                           {R"({"prompt": 5})", "prompt"},
                                           {R"({"prompt": "x", "max_tokens": -7})", "max_tokens"},
                                           {R"({"prompt": "x", "n": 2})", "n"},
                                           {R"({"prompt": "x", "stop": 5})", "stop"},
                                           {R"({"prompt": "x", "seed": "abc"})", "seed"},
                                           {R"({"prompt": "x", "lane": "fast"})", "lane"},
                                           {R"({"prompt": "x", "tools": [1]})", "tools"},
                                           {R"({"prompt": "x", "suffix": "y"})", "suffix"},
                                           {"[]", "object"}}) {
        const ParsedEndpoint parsed = model.parse(Endpoint::generate, c.body);
        EXPECT_FALSE(parsed.call);
        EXPECT_EQ(parsed.error.status, 400);
        EXPECT_THAT(parsed.error.message, HasSubstr(c.word));
    }
    const std::string text(200, 'a');
    EXPECT_THAT(model.parse(Endpoint::generate, R"({"prompt": ")" + text + R"("})", 100).error.message,
                HasSubstr("100"));
}

TEST(EndpointCall, EveryDialectRefusesWhatWouldChangeTheAnswer) {
    const SmallModel model;
    struct Body {
        Endpoint endpoint;
        const char* members;
    };
    constexpr const char* k_chat = R"("model": "local-moe", "messages": [{"role": "user", "content": "a"}])";
    constexpr const char* k_prompt = R"("model": "local-moe", "prompt": "a")";
    for (const auto& [endpoint, members] :
         std::vector<Body>{{Endpoint::generate, k_prompt},
                           {Endpoint::completions, k_prompt},
                           {Endpoint::chat, k_chat},
                           {Endpoint::responses, R"("model": "m", "input": "a")"},
                           {Endpoint::anthropic_messages, k_chat},
                           {Endpoint::ollama_chat, k_chat},
                           {Endpoint::ollama_generate, k_prompt}}) {
        for (const auto& [name, value] :
             std::vector<std::pair<const char*, const char*>>{{"guided_regex", "\"yes\""},
                                                              {"suffix", "\"x\""},
                                                              {"min_tokens", "5"},
                                                              {"lora", R"([{"id": 0, "scale": 1}])"},
                                                              {"prompt_logprobs", "3"}}) {
            const ParsedEndpoint parsed =
                model.parse(endpoint, fmt::format(R"({{{}, "{}": {}}})", members, name, value));
            EXPECT_FALSE(parsed.call) << members << name;
            EXPECT_EQ(parsed.error.status, 400) << members << name;
            EXPECT_EQ(parsed.error.param, name);
            EXPECT_THAT(parsed.error.message, HasSubstr(name));
        }
        EXPECT_TRUE(
            model.parse(endpoint, fmt::format(R"({{{}, "suffix": "", "min_tokens": 0}})", members)).call);
    }
}

TEST(EndpointCall, LanesOfBodies) {
    const SmallModel model;
    const EndpointCall call =
        good(model.parse(Endpoint::completions, R"({"prompt": ["a", "b"], "lane": "batch"})"));
    EXPECT_EQ(call.lane, Lane::batch);
    for (const Request& request : call.call.requests) EXPECT_EQ(request.lane, Lane::batch);
}

TEST(EndpointCall, CompletionsHaveSixteenTokens) {
    const SmallModel model;
    const auto length = [&](std::string_view members) {
        return good(model.parse(Endpoint::completions, fmt::format(R"({{"prompt": "a"{}}})", members)))
            .call.requests[0]
            .max_tokens;
    };
    EXPECT_EQ(length(""), 16);
    EXPECT_EQ(length(R"(, "max_tokens": null)"), 16);
    EXPECT_EQ(length(R"(, "max_tokens": 40)"), 40);
    EXPECT_FALSE(length(R"(, "n_predict": -1)"));
}

TEST(EndpointCall, ATemperatureAloneDrawsFromAllTokens) {
    SmallModel model;
    const auto top_p = [&](std::string_view members) {
        return good(model.parse(Endpoint::completions, fmt::format(R"({{"prompt": "a"{}}})", members)))
            .call.requests[0]
            .sampling.top_p;
    };
    EXPECT_EQ(top_p(""), 0.9f);
    EXPECT_EQ(top_p(R"(, "temperature": 1.5)"), 1.0f);
    EXPECT_EQ(top_p(R"(, "temperature": 1.5, "top_p": 0.5)"), 0.5f);
    model.use({"inference.top_p=0.9"});
    EXPECT_EQ(top_p(R"(, "temperature": 1.5)"), 0.9f);
}

TEST(EndpointCall, ErrorsInEachDialect) {
    const ApiError error{.status = 503, .message = "busy.", .type = "unavailable_error", .code = "busy"};
    const std::string openai =
        R"({"error":{"message":"busy.","type":"unavailable_error","param":null,"code":"busy"}})";
    EXPECT_EQ(error_body(dialect_of(Endpoint::generate), error), openai);
    EXPECT_EQ(error_body(dialect_of(Endpoint::chat), error), openai);
    EXPECT_EQ(error_body(dialect_of(Endpoint::responses), error), openai);
    EXPECT_EQ(error_body(dialect_of(Endpoint::anthropic_messages), error),
              R"({"type":"error","error":{"type":"overloaded_error","message":"busy."}})");
    EXPECT_EQ(error_body(dialect_of(Endpoint::ollama_chat), error), R"({"error":"busy."})");
    const std::pair<int, const char*> statuses[] = {
        {400, "invalid_request_error"},
        {401, "authentication_error"},
        {403, "permission_error"},
        {404, "not_found_error"},
        {413, "request_too_large"},
        {429, "rate_limit_error"},
        {500, "api_error"},
    };
    for (const auto& [status, type] : statuses)
        EXPECT_EQ(ordered_json::parse(
                      error_body(Dialect::anthropic, {.status = status, .message = ""}))["error"]["type"],
                  type);
}

TEST(EndpointCall, ErrorsInMidStreamEndItInTheWordsOfTheDialect) {
    const SmallModel model;
    const ApiError error{.status = 500, .message = "x.", .type = "server_error"};
    const std::string body = R"({"error":{"message":"x.","type":"server_error","param":null,"code":null}})";
    const std::string messages = R"({"model": "local-moe", "messages": [{"role": "user", "content": "a"}]})";
    EXPECT_EQ(good(model.parse(Endpoint::chat, messages)).shape->error(error),
              "data: " + body + "\n\ndata: [DONE]\n\n");
    EXPECT_EQ(
        good(model.parse(Endpoint::anthropic_messages, messages)).shape->error(error),
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x.\"}}\n\n");
    EXPECT_EQ(good(model.parse(Endpoint::ollama_chat, messages)).shape->error(error), "{\"error\":\"x.\"}\n");
    EXPECT_EQ(good(model.parse(Endpoint::generate, R"({"prompt": "a"})")).shape->error(error),
              "data: " + body + "\n\ndata: [DONE]\n\n");
}

constexpr const char* k_tools =
    R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])";

std::string chat_with_tools(std::string_view members) {
    return fmt::format(R"({{"messages": [{{"role": "user", "content": "a"}}], "tools": {}{}}})", k_tools,
                       members);
}

TEST(Chat, AStreamOfTextThinkingAndCalls) {
    const SmallModel model;
    EndpointCall call = good(model.parse(
        Endpoint::chat, chat_with_tools(R"(, "stream": true, "stream_options": {"include_usage": true})")));
    AnswerReader reader(call.call);
    std::string out = call.shape->begin();
    for (const char* text : {"<think>w", "hy</think>\n", "so\n",
                             "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\"", ": 1}}", "</tool_call>"})
        for (const AnswerPiece& piece : reader.token(0, text, nullptr)) out += call.shape->piece(piece);
    for (const AnswerPiece& piece : reader.finish(0, "")) out += call.shape->piece(piece);
    out += call.shape->end(reader.outcome(0, FinishReason::stop, ""));
    const std::vector<RequestRecord> records = {record_for_test()};
    out += call.shape->done(records);
    const auto chunk = [](const std::string& delta, const std::string& finish = "null",
                          const std::string& more = "") {
        return R"(data: {"id":"chatcmpl-1a","object":"chat.completion.chunk","created":1769862896,"model":"local-moe",)"
               R"("system_fingerprint":"f","choices":[{"index":0,"delta":)" +
               delta + R"(,"logprobs":null,"finish_reason":)" + finish + R"(}],"usage":null)" + more +
               "}\n\n";
    };
    const std::string call_id = fmt::format("call_{:016x}0000", call.call.tools->id_seed);
    EXPECT_EQ(
        out,
        chunk(R"({"role":"assistant","content":""})") + chunk(R"({"reasoning_content":"w"})") +
            chunk(R"({"reasoning_content":"hy"})") + chunk(R"({"content":"so"})") +
            chunk(R"({"tool_calls":[{"index":0,"id":")" + call_id +
                  R"(","type":"function","function":{"name":"f","arguments":""}}]})") +
            chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"x"}}]})") +
            chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"\": 1}"}}]})") +
            chunk("{}", "\"tool_calls\"", R"(,"timings":)" + std::string(k_timings)) +
            R"(data: {"id":"chatcmpl-1a","object":"chat.completion.chunk","created":1769862896,"model":"local-moe",)"
            R"("system_fingerprint":"f","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,)"
            R"("total_tokens":13,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens_details":)"
            R"({"reasoning_tokens":2}},"timings":)" +
            std::string(k_timings) + "}\n\ndata: [DONE]\n\n");
}

TEST(Chat, WholeWithACall) {
    const SmallModel model;
    EndpointCall call = good(model.parse(Endpoint::chat, chat_with_tools("")));
    const ordered_json body = ordered_json::parse(
        whole(call, "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>"));
    EXPECT_EQ(body["id"], "chatcmpl-1a");
    EXPECT_EQ(body["choices"][0]["finish_reason"], "tool_calls");
    ordered_json message = body["choices"][0]["message"];
    EXPECT_THAT(message["tool_calls"][0]["id"].get<std::string>(), testing::StartsWith("call_"));
    message["tool_calls"][0].erase("id");
    EXPECT_EQ(message, ordered_json::parse(R"({"role": "assistant", "content": null, "tool_calls": [{"type":
        "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]})"));
}

TEST(Chat, SeveralChoicesStreamSideBySide) {
    const SmallModel model;
    EndpointCall call = good(model.parse(
        Endpoint::chat, R"({"messages": [{"role": "user", "content": "a"}], "n": 2, "stream": true})"));
    AnswerReader reader(call.call);
    const std::string begin = call.shape->begin();
    EXPECT_THAT(begin, HasSubstr(R"("index":0,"delta":{"role":"assistant")"));
    EXPECT_THAT(begin, HasSubstr(R"("index":1,"delta":{"role":"assistant")"));
    EXPECT_THAT(call.shape->piece(reader.token(1, "b", nullptr)[0]),
                HasSubstr(R"("index":1,"delta":{"content":"b"})"));
    EXPECT_THAT(call.shape->end(reader.outcome(1, FinishReason::stop, "")),
                HasSubstr(R"("finish_reason":"stop")"));
    EXPECT_EQ(call.shape->end(reader.outcome(0, FinishReason::length, "")), "");  // waits for the timings
    const std::vector<RequestRecord> records = {record_for_test()};
    const std::string done = call.shape->done(records);
    EXPECT_THAT(done, HasSubstr(R"("finish_reason":"length")"));
    EXPECT_THAT(done, testing::Not(HasSubstr(R"("choices":[])")));
    EXPECT_THAT(done, testing::EndsWith("data: [DONE]\n\n"));
}

TEST(Completions, AStreamEchoesAndCountsOffsets) {
    const SmallModel model;
    EndpointCall call =
        good(model.parse(Endpoint::completions, R"({"prompt": "ab", "stream": true, "echo": true})"));
    AnswerReader reader(call.call);
    const auto chunk = [](const std::string& text) {
        return R"(data: {"id":"cmpl-1a","object":"text_completion","created":1769862896,"model":"local-moe",)"
               R"("system_fingerprint":"f","choices":[{"index":0,"text":")" +
               text + "\",\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    };
    EXPECT_EQ(call.shape->begin(), chunk("ab"));
    EXPECT_EQ(call.shape->piece(reader.token(0, "<think>c", nullptr)[0]), chunk("<think>c"));

    EndpointCall with = good(model.parse(Endpoint::completions, R"({"prompt": "ab", "logprobs": 0})"));
    AnswerReader other(with.call);
    const TokenLogprobs a = {{'a', -0.5}, {}};
    for (const char* offset : {"0", "1"})
        EXPECT_THAT(
            with.shape->piece(other.token(0, "a", &a)[0]),
            HasSubstr(fmt::format("\"tokens\":[\"a\"],\"token_logprobs\":[-0.5],\"top_logprobs\":[{{}}],"
                                  "\"text_offset\":[{}]",
                                  offset)));
}

TEST(Tools, AreForTheTemplateAndTheirChoiceIsChecked) {
    const SmallModel model;
    const auto prompt = [&](std::string_view members) {
        return model.prompt_of(model.parse(Endpoint::chat, chat_with_tools(members)));
    };
    EXPECT_EQ(prompt(""), "<tool>f {\"type\": \"object\"}\n<|s|>user:a");
    EXPECT_EQ(prompt(R"(, "tool_choice": "auto")"), "<tool>f {\"type\": \"object\"}\n<|s|>user:a");
    EXPECT_EQ(prompt(R"(, "tool_choice": "none")"), "<|s|>user:a");
    EXPECT_THAT(prompt(R"(, "tool_choice": "sometimes")"), HasSubstr("tool_choice"));
    EXPECT_THAT(prompt(R"(, "tool_choice": {"type": "function", "function": {"name": "unheard"}})"),
                HasSubstr("unheard"));
    const auto refused = [&](std::string_view tools) {
        return model
            .parse(Endpoint::chat,
                   fmt::format(R"({{"messages": [{{"role": "user", "content": "a"}}], "tools": {}}})", tools))
            .error.message;
    };
    EXPECT_THAT(refused(R"([{"type": "function", "function": {}}])"), HasSubstr("tools[0].function.name"));
    EXPECT_THAT(refused(R"([{"type": "function", "function": {"name": "x", "parameters": 7}}])"),
                HasSubstr("parameters"));
    EXPECT_THAT(refused(R"([{"type": "search"}])"), HasSubstr("search"));
    EXPECT_THAT(refused("5"), HasSubstr("tools"));
    EXPECT_THAT(refused(R"([], "tool_choice": "required")"), HasSubstr("no tools"));
}

TEST(Tools, CallsAndResultsGoBackToTheTemplate) {
    const SmallModel model;
    EXPECT_EQ(model.prompt_of(model.parse(Endpoint::chat, R"({"messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [{"id": "c1", "type": "function", "function":
        {"name": "f", "arguments": "{\"x\": 1}"}}]}, {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text",
        "text": "5"}]}]})")),
              "<|s|>user:a<|s|>assistant:[hm]<call>f {\"x\": 1}<|s|>tool(f):5");
}

TEST(AnswerReader, LogprobsAndTokensGoWithTheNextPiece) {
    const SmallModel model;
    EndpointCall call = good(model.parse(Endpoint::chat, chat_with_tools("")));
    AnswerReader reader(call.call);
    const TokenLogprobs a = {{'a', -0.5}, {}};
    EXPECT_TRUE(reader.token(0, "<tool", &a).empty());
    EXPECT_TRUE(reader.token(0, "_", &a).empty());
    const std::vector<AnswerPiece> pieces = reader.token(0, "x", &a);
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].text, "<tool_x");
    EXPECT_EQ(pieces[0].tokens, 3);
    EXPECT_EQ(pieces[0].logprobs.size(), 3u);
    EXPECT_TRUE(reader.token(0, "", &a).empty());
    const std::vector<AnswerPiece> rest = reader.finish(0, "");
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].logprobs.size(), 1u);
}

TEST(AnswerReader, ThinkingThatTheTemplateOpened) {
    const SmallModel model;
    EndpointCall call = good(model.parse(Endpoint::chat, R"({"messages": [{"role": "user", "content": "a"}],
        "chat_template_kwargs": {"open": 1}})"));
    EXPECT_TRUE(call.call.inside_thinking);
    EXPECT_EQ(ordered_json::parse(whole(call, "why</think>so"))["choices"][0]["message"],
              ordered_json::parse(R"({"role": "assistant", "content": "so", "reasoning_content": "why"})"));
    EndpointCall plain = good(model.parse(Endpoint::chat, R"({"messages": [{"role": "user", "content": "a"}],
        "reasoning_format": "none"})"));
    EXPECT_EQ(ordered_json::parse(whole(plain, "<think>why</think>so"))["choices"][0]["message"]["content"],
              "<think>why</think>so");
}

TEST(Chat, ALastMessageOfTheAssistantIsGoneOnWith) {
    const SmallModel model;
    const auto prompt = [&](std::string_view members) {
        return model.prompt_of(model.parse(
            Endpoint::chat,
            fmt::format(R"({{"messages": [{{"role": "user", "content": "a"}}, {{"role": "assistant",
            "content": "So it"}}]{}}})",
                        members)));
    };
    EXPECT_EQ(prompt(""), "<|s|>user:a<|s|>assistant:So it");
    EXPECT_EQ(prompt(R"(, "continue_final_message": true, "add_generation_prompt": false)"),
              "<|s|>user:athink=FalseSo it");
    EXPECT_EQ(prompt(R"(, "continue_final_message": true, "chat_template_kwargs": {"open": 1})"),
              "<|s|>user:athink=False<think>\n</think>\n\nSo it");
    EXPECT_THAT(prompt(R"(, "add_generation_prompt": false)"), HasSubstr("add_generation_prompt"));
}

}  // namespace
}  // namespace ft
