#include "server/openai_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/json_body.h"
#include "server/served_model_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

class OpenAiRequest : public testing::Test {
 protected:
    OpenAiRequest() : tokenizer_(byte_chat_tokenizer()) { use({}); }

    void use(std::vector<std::string> assignments) {
        const Expected<Settings> settings = load_settings({.assignments = std::move(assignments)});
        check(static_cast<bool>(settings), "settings of the test");
        Expected<RequestDefaults> defaults = request_defaults(*settings, *tokenizer_);
        check(static_cast<bool>(defaults), "defaults of the test");
        defaults_ = std::move(*defaults);
    }

    ParsedCall parse(OpenAiRoute route, std::string_view text) {
        const Expected<ordered_json> body = parse_json(text);
        check(static_cast<bool>(body), "JSON of the test");
        return parse_openai(route, *body, {*tokenizer_, &*template_, defaults_, 100, auto_evict_});
    }
    OpenAiCall completion(std::string_view members) {
        return good(parse(OpenAiRoute::completions, fmt::format(R"({{"prompt": "ab"{}}})", members)));
    }
    OpenAiCall chat(std::string_view members) {
        return good(
            parse(OpenAiRoute::chat,
                  fmt::format(R"({{"messages": [{{"role": "user", "content": "ab"}}]{}}})", members)));
    }
    ApiError refused(OpenAiRoute route, std::string_view text) {
        ParsedCall parsed = parse(route, text);
        EXPECT_FALSE(parsed.call) << text;
        EXPECT_EQ(parsed.error.status, 400);
        return parsed.error;
    }
    ApiError refused_completion(std::string_view members) {
        return refused(OpenAiRoute::completions, fmt::format(R"({{"prompt": "ab"{}}})", members));
    }
    static OpenAiCall good(ParsedCall parsed) {
        EXPECT_TRUE(parsed.call) << parsed.error.message;
        return parsed.call ? std::move(*parsed.call) : OpenAiCall{.requests = {Request{}}};
    }
    std::string prompt_text(const OpenAiCall& call) const {
        return tokenizer_->decode(call.requests[0].prompt);
    }

    std::unique_ptr<Tokenizer> tokenizer_;
    std::optional<ChatTemplate> template_ = [] {
        Expected<ChatTemplate> parsed = ChatTemplate::parse(
            "{% for m in messages %}<|s|>{{ m.role }}:{{ m.content }}{% endfor %}"
            "{% if enable_thinking is defined %}think={{ enable_thinking }}{% endif %}"
            "{% if reasoning_effort is defined %}effort={{ reasoning_effort }}{% endif %}"
            "{% if open is defined %}<think>{% endif %}");
        check(static_cast<bool>(parsed), "template of the test");
        return std::move(*parsed);
    }();
    RequestDefaults defaults_;
    bool auto_evict_ = false;
};

TEST_F(OpenAiRequest, WhatIsLeftOutIsWhatTheSettingsSay) {
    use({"inference.temperature=0.25", "inference.seed=7", "inference.max_tokens=9", "inference.stop=END"});
    const OpenAiCall call = completion("");
    ASSERT_EQ(call.requests.size(), 1u);
    const Request& request = call.requests[0];
    EXPECT_THAT(request.prompt, ElementsAre('a', 'b'));
    EXPECT_EQ(request.sampling.temperature, 0.25f);
    EXPECT_EQ(request.sampling.top_p, 0.9f);
    EXPECT_EQ(request.sampling.repeat_penalty, 1.1f);
    EXPECT_EQ(request.sampling.seed, 7u);
    EXPECT_EQ(request.max_tokens, 9);
    EXPECT_THAT(request.stop, ElementsAre("END"));
    EXPECT_THAT(request.end_ids, ElementsAre(257));
    EXPECT_EQ(request.n_choices, 1);
    EXPECT_FALSE(request.top_logprobs);
    EXPECT_FALSE(call.stream);
}

TEST_F(OpenAiRequest, EverySamplingFieldArrives) {
    const OpenAiCall call = completion(
        R"(, "temperature": 1, "top_k": 5, "top_p": 0.5, "min_p": 0.1, "typical_p": 0.8, "top_n_sigma": 2,
        "xtc_probability": 0.3, "xtc_threshold": 0.2, "repetition_penalty": 1.5, "repeat_last_n": 32,
        "frequency_penalty": 0.25, "presence_penalty": -0.5, "dry_multiplier": 0.75, "dry_base": 2,
        "dry_allowed_length": 3, "dry_penalty_last_n": 99, "dry_sequence_breakers": [":"], "mirostat": 2,
        "mirostat_tau": 4, "mirostat_eta": 0.2, "seed": 42, "n": 3, "logit_bias": {"5": 1.5, "6": false},
        "max_tokens": 8, "stop": ["x", "yz"], "stop_token_ids": [3], "logprobs": 2, "model": "m", "stream": true,
        "stream_options": {"include_usage": true})");
    const Request& request = call.requests[0];
    const SamplerParams& p = request.sampling;
    EXPECT_EQ(p.temperature, 1);
    EXPECT_EQ(p.top_k, 5);
    EXPECT_EQ(p.top_p, 0.5f);
    EXPECT_EQ(p.min_p, 0.1f);
    EXPECT_EQ(p.typical_p, 0.8f);
    EXPECT_EQ(p.top_n_sigma, 2);
    EXPECT_EQ(p.xtc_probability, 0.3f);
    EXPECT_EQ(p.xtc_threshold, 0.2f);
    EXPECT_EQ(p.repeat_penalty, 1.5f);
    EXPECT_EQ(p.repeat_last_n, 32);
    EXPECT_EQ(p.frequency_penalty, 0.25f);
    EXPECT_EQ(p.presence_penalty, -0.5f);
    EXPECT_EQ(p.dry.multiplier, 0.75f);
    EXPECT_EQ(p.dry.base, 2);
    EXPECT_EQ(p.dry.allowed_length, 3);
    EXPECT_EQ(p.dry.last_n, 99);
    EXPECT_THAT(p.dry.breakers, ElementsAre(':'));
    EXPECT_TRUE(p.mirostat);
    EXPECT_EQ(p.mirostat_tau, 4);
    EXPECT_EQ(p.mirostat_eta, 0.2f);
    EXPECT_EQ(p.seed, 42u);
    ASSERT_EQ(p.logit_bias.size(), 2u);
    EXPECT_EQ(p.logit_bias[0].id, 5);
    EXPECT_EQ(p.logit_bias[0].bias, 1.5f);
    EXPECT_EQ(p.logit_bias[1].bias, -std::numeric_limits<float>::infinity());
    EXPECT_EQ(request.n_choices, 3);
    EXPECT_EQ(request.max_tokens, 8);
    EXPECT_THAT(request.stop, ElementsAre("x", "yz"));
    EXPECT_THAT(request.end_ids, ElementsAre(257, 3));
    EXPECT_EQ(request.top_logprobs, 2);
    EXPECT_EQ(call.model, "m");
    EXPECT_TRUE(call.stream);
    EXPECT_TRUE(call.include_usage);
}

TEST_F(OpenAiRequest, NamesOfOtherServers) {
    EXPECT_EQ(completion(R"(, "repeat_penalty": 1.25)").requests[0].sampling.repeat_penalty, 1.25f);
    EXPECT_EQ(completion(R"(, "top_k": -1)").requests[0].sampling.top_k, 0);
    EXPECT_EQ(completion(R"(, "n_predict": 5)").requests[0].max_tokens, 5);
    EXPECT_FALSE(completion(R"(, "n_predict": -1)").requests[0].max_tokens);
    EXPECT_EQ(completion(R"(, "max_tokens": 5, "max_completion_tokens": 6)").requests[0].max_tokens, 6);
    EXPECT_EQ(completion(R"(, "logit_bias": [[5, -2], [6, false]])").requests[0].sampling.logit_bias.size(),
              2u);
    EXPECT_EQ(completion(R"(, "stop": "x")").requests[0].stop.size(), 1u);
    EXPECT_EQ(completion(R"(, "max_tokens": 5.0)").requests[0].max_tokens, 5);
}

TEST_F(OpenAiRequest, NullAndWhatOnlyHostedServicesNeedIsPassedOver) {
    const OpenAiCall call = completion(
        R"(, "temperature": null, "stop": null, "max_tokens": null, "seed": null, "n": null, "logprobs": null,
        "logit_bias": null, "user": "u", "metadata": {"a": "b"}, "store": true, "service_tier": "auto",
        "parallel_tool_calls": true, "unheard_of": [1], "tools": [], "response_format": {"type": "text"},
        "suffix": "", "best_of": 1, "tool_choice": "none")");
    EXPECT_EQ(call.requests[0].sampling.temperature, 0.7f);
    EXPECT_FALSE(call.requests[0].max_tokens);
    EXPECT_FALSE(call.requests[0].top_logprobs);
}

TEST_F(OpenAiRequest, WrongFieldsAreNamedWithWhatTheyTake) {
    struct Case {
        const char* members;
        const char* param;
        const char* says;
    };
    for (const Case& c : std::vector<Case>{
             {R"(, "temperature": -5)", "temperature", "temperature takes a number from 0 to 2, not -5"},
             {R"(, "temperature": "hot")", "temperature", "\"hot\""},
             {R"(, "max_tokens": "many")", "max_tokens", "an integer of at least 1, not \"many\""},
             {R"(, "max_tokens": 0)", "max_tokens", "not 0"},
             {R"(, "max_tokens": 1.5)", "max_tokens", "not 1.5"},
             {R"(, "n_predict": 0)", "n_predict", "not 0"},
             {R"(, "top_p": 1.1)", "top_p", "from 0 to 1"},
             {R"(, "top_k": 3000000000)", "top_k", "integer"},
             {R"(, "n": 0)", "n", "from 1 to 128"},
             {R"(, "seed": 1e30)", "seed", "integer"},
             {R"(, "stop": "")", "stop", "1 to 1024 bytes"},
             {R"(, "stop": [1])", "stop", "not 1"},
             {R"(, "stop": {"a": 1})", "stop", "texts"},
             {R"(, "ignore_eos": 1)", "ignore_eos", "true or false"},
             {R"(, "logit_bias": {"258": 1})", "logit_bias", "below 258"},
             {R"(, "logit_bias": {"x": 1})", "logit_bias", "token ids"},
             {R"(, "logit_bias": {"5": 101})", "logit_bias", "-100 to 100"},
             {R"(, "logit_bias": {"5": true})", "logit_bias", "false"},
             {R"(, "logit_bias": [[5]])", "logit_bias", "[5]"},
             {R"(, "logit_bias": 5)", "logit_bias", "not 5"},
             {R"(, "stop_token_ids": [-1])", "stop_token_ids", "-1"},
             {R"(, "logprobs": 21)", "logprobs", "from 0 to 20"},
             {R"(, "logprobs": true)", "logprobs", "integer"},
             {R"(, "mirostat": 1)", "mirostat", "version 1"},
             {R"(, "stream": "yes")", "stream", "true or false"},
             {R"(, "stream_options": {"include_usage": 1})", "stream_options.include_usage", "true or false"},
             {R"(, "model": 5)", "model", "a text"},
             {R"(, "suffix": "x")", "suffix", "not offered"},
             {R"(, "grammar": "root ::= x")", "grammar", "\"x\" is used"},
             {R"(, "response_format": {"type": "yaml"})", "response_format", "yaml"},
             {R"(, "guided_regex": "a+")", "guided_regex", "use json_schema"},
             {R"(, "tools": [{"type": "function"}])", "tools", "belongs to a chat"},
             {R"(, "temperature": 3)", "temperature", "not 3"},
             {R"(, "min_tokens": 5)", "min_tokens", "least length"},
             {R"(, "best_of": 2)", "best_of", "n"},
             {R"(, "echo": true, "logprobs": 1)", "echo", "logprobs"},
         }) {
        const ApiError error = refused_completion(c.members);
        EXPECT_EQ(error.param, c.param) << c.members;
        EXPECT_THAT(error.message, HasSubstr(c.says)) << c.members;
        EXPECT_THAT(error.message, HasSubstr(error.param));
        EXPECT_EQ(error.type, "invalid_request_error");
    }
}

TEST_F(OpenAiRequest, PromptsAreTextsOrIdsOrListsOfThem) {
    const auto prompts = [&](std::string_view prompt) {
        return good(parse(OpenAiRoute::completions, fmt::format(R"({{"prompt": {}, "n": 2}})", prompt)))
            .requests;
    };
    EXPECT_THAT(prompts("[1, 2, 3]")[0].prompt, ElementsAre(1, 2, 3));
    EXPECT_THAT(prompts(R"("a<|s|>")")[0].prompt, ElementsAre('a', 256));  // as run --raw
    const std::vector<Request> two = prompts(R"(["a", [5]])");
    ASSERT_EQ(two.size(), 2u);
    EXPECT_THAT(two[1].prompt, ElementsAre(5));
    EXPECT_EQ(two[1].n_choices, 2);
    for (const char* prompt : {"5", "[258]", "[-1]", "[\"a\", 5]", "{}", "[[\"a\"]]", "[1, \"a\"]"})
        EXPECT_EQ(refused(OpenAiRoute::completions, fmt::format(R"({{"prompt": {}}})", prompt)).param,
                  "prompt")
            << prompt;
    for (const char* body : {"{}", R"({"prompt": null})", R"({"prompt": ""})", R"({"prompt": []})"})
        EXPECT_EQ(refused(OpenAiRoute::completions, body).param, "prompt") << body;
    EXPECT_THAT(completion(R"(, "echo": true)").echoes, ElementsAre("ab"));
}

TEST_F(OpenAiRequest, TheTemplateGetsTheMessages) {
    const auto text = [&](std::string_view messages) {
        return prompt_text(good(parse(OpenAiRoute::chat, fmt::format(R"({{"messages": {}}})", messages))));
    };
    EXPECT_EQ(text(R"([{"role": "user", "content": "hi"}])"), "<|s|>user:hi");
    EXPECT_EQ(text(R"([{"role": "developer", "content": "x"}, {"role": "user", "content": [
                    {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])"),
              "<|s|>system:x<|s|>user:ab");
    EXPECT_EQ(text(R"([{"role": "assistant", "content": null}, {"role": "tool", "content": "5"}])"),
              "<|s|>assistant:<|s|>tool:5");
    use({"inference.system=Be brief."});
    EXPECT_EQ(text(R"([{"role": "user", "content": "hi"}])"), "<|s|>system:Be brief.<|s|>user:hi");
    EXPECT_EQ(text(R"([{"role": "system", "content": "x"}])"), "<|s|>system:x");
}

TEST_F(OpenAiRequest, Thinking) {
    EXPECT_EQ(prompt_text(chat("")), "<|s|>user:ab");
    EXPECT_EQ(prompt_text(chat(R"(, "reasoning_effort": "none")")), "<|s|>user:abthink=Falseeffort=none");
    EXPECT_EQ(prompt_text(chat(R"(, "reasoning_effort": "low")")), "<|s|>user:abthink=Trueeffort=low");
    EXPECT_EQ(prompt_text(chat(R"(, "chat_template_kwargs": {"enable_thinking": false})")),
              "<|s|>user:abthink=False");
    EXPECT_TRUE(chat(R"(, "chat_template_kwargs": {"open": 1})").inside_thinking);
    EXPECT_FALSE(chat("").inside_thinking);
    use({"inference.think=off"});
    EXPECT_EQ(prompt_text(chat("")), "<|s|>user:abthink=False");
}

TEST_F(OpenAiRequest, WrongMessagesAreNamedByTheirPlace) {
    struct Case {
        const char* messages;
        const char* param;
    };
    for (const Case& c : std::vector<Case>{
             {"[]", "messages"},
             {"5", "messages"},
             {"null", "messages"},
             {"[5]", "messages[0]"},
             {R"([{"content": "x"}])", "messages[0].role"},
             {R"([{"role": "user", "content": "x"}, {"role": "king", "content": "x"}])", "messages[1].role"},
             {R"([{"role": "user"}])", "messages[0].content"},
             {R"([{"role": "user", "content": 5}])", "messages[0].content"},
             {R"([{"role": "user", "content": [5]}])", "messages[0].content[0]"},
             {R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0]"},
             {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])",
              "messages[0].content[0].type"},
         })
        EXPECT_EQ(refused(OpenAiRoute::chat, fmt::format(R"({{"messages": {}}})", c.messages)).param, c.param)
            << c.messages;
    const std::string_view user = R"({"messages": [{"role": "user", "content": "x"}], )";
    EXPECT_EQ(refused(OpenAiRoute::chat, fmt::format("{}\"reasoning_effort\": \"vast\"}}", user)).param,
              "reasoning_effort");
    EXPECT_EQ(refused(OpenAiRoute::chat, fmt::format("{}\"top_logprobs\": 2}}", user)).param, "top_logprobs");
    EXPECT_EQ(refused(OpenAiRoute::chat, fmt::format("{}\"chat_template_kwargs\": 2}}", user)).param,
              "chat_template_kwargs");
}

TEST_F(OpenAiRequest, LogprobsOfChats) {
    EXPECT_EQ(chat(R"(, "logprobs": true, "top_logprobs": 3)").requests[0].top_logprobs, 3);
    EXPECT_EQ(chat(R"(, "logprobs": true)").requests[0].top_logprobs, 0);
    EXPECT_FALSE(chat(R"(, "logprobs": false, "top_logprobs": 0)").requests[0].top_logprobs);
}

TEST_F(OpenAiRequest, ALongPromptIsRefusedWithTheNumbers) {
    const std::string text(150, 'a');
    const ApiError error = refused(OpenAiRoute::completions, fmt::format(R"({{"prompt": "{}"}})", text));
    EXPECT_EQ(error.type, "exceed_context_size_error");
    EXPECT_EQ(to_json(error)["error"]["n_prompt_tokens"], 150);
    EXPECT_EQ(to_json(error)["error"]["n_ctx"], 100);
    EXPECT_THAT(error.message, HasSubstr("150"));
    EXPECT_THAT(error.message, HasSubstr("100"));
}

TEST_F(OpenAiRequest, WithAutoEvictALongChatLosesItsOldestTurns) {
    const auto messages = [](size_t last) {
        const std::string said(20, 'x');
        ordered_json all = ordered_json::array({{{"role", "system"}, {"content", "brief"}}});
        for (const char* role : {"user", "assistant", "user", "assistant"})
            all.push_back({{"role", role}, {"content", said}});
        all.push_back({{"role", "user"}, {"content", std::string(last, 'y')}});
        return ordered_json{{"messages", all}}.dump();
    };
    EXPECT_EQ(to_json(refused(OpenAiRoute::chat, messages(20)))["error"]["n_prompt_tokens"], 153);
    auto_evict_ = true;
    const OpenAiCall call = good(parse(OpenAiRoute::chat, messages(20)));
    EXPECT_EQ(call.dropped_turns, 2u);
    EXPECT_EQ(call.requests[0].dropped_tokens, 114);
    EXPECT_EQ(call.requests[0].prompt.size(), 39u);
    EXPECT_THAT(prompt_text(call), HasSubstr("brief"));
    EXPECT_EQ(
        good(parse(OpenAiRoute::chat, R"({"messages": [{"role": "user", "content": "x"}]})")).dropped_turns,
        0u);
    const ApiError error = refused(OpenAiRoute::chat, messages(100));  // the last turn alone
    EXPECT_EQ(to_json(error)["error"]["n_prompt_tokens"], 119);
    EXPECT_EQ(
        refused(OpenAiRoute::completions, fmt::format(R"({{"prompt": "{}"}})", std::string(150, 'a'))).type,
        "exceed_context_size_error");
}

TEST_F(OpenAiRequest, IgnoreEosForbidsTheEnd) {
    const Request request = completion(R"(, "ignore_eos": true)").requests[0];
    EXPECT_TRUE(request.end_ids.empty());
    ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
    EXPECT_EQ(request.sampling.logit_bias[0].id, 257);
    use({"inference.ignore_eos=true"});
    EXPECT_TRUE(completion("").requests[0].end_ids.empty());
    EXPECT_FALSE(completion(R"(, "ignore_eos": false)").requests[0].end_ids.empty());
}

TEST_F(OpenAiRequest, EachRequestWithoutASeedDrawsOne) {
    EXPECT_NE(completion("").requests[0].sampling.seed, completion("").requests[0].sampling.seed);
    use({"inference.seed=5"});
    EXPECT_EQ(completion("").requests[0].sampling.seed, 5u);
    EXPECT_EQ(completion(R"(, "seed": 6)").requests[0].sampling.seed, 6u);
}

TEST(OpenAiRoutes, AreTheTwo) {
    EXPECT_EQ(openai_route("/v1/completions"), OpenAiRoute::completions);
    EXPECT_EQ(openai_route("/v1/chat/completions"), OpenAiRoute::chat);
    EXPECT_FALSE(openai_route("/v1/unheard"));
}

TEST(JsonBody, IsBoundedInDepth) {
    EXPECT_TRUE(parse_json(std::string(100, '[') + std::string(100, ']')));
    const Expected<ordered_json> deep = parse_json(std::string(1 << 20, '['));
    ASSERT_FALSE(deep);
    EXPECT_THAT(deep.error().what, HasSubstr("deeper"));
    EXPECT_TRUE(parse_json(R"({"a": "[[[\"[[["})"));
    for (const char* text : {"", "{", "{\"a\": \"\\ud800\"}", "{\"a\": \"\xff\"}", "{} x"}) {
        const Expected<ordered_json> parsed = parse_json(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.error().what, HasSubstr("no JSON"));
    }
}

}  // namespace
}  // namespace ft
