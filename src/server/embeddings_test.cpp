#include "server/embeddings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/vocabulary_for_test.h"

namespace ft {

namespace {

using ::testing::HasSubstr;
using Body = nlohmann::ordered_json;

class EmbeddingsTest : public ::testing::Test {
 protected:
    EmbeddingsTest() {
        GgufWriter w = byte_vocabulary().writer();
        w.add("tokenizer.ggml.pre", std::string("gpt-2"));
        tokenizer_ = std::move(*load_tokenizer(w));
    }
    ParsedEmbedding parse(std::string_view body, EmbeddingRoute route = EmbeddingRoute::openai) {
        return parse_embedding(route, Body::parse(body), {*tokenizer_, nullptr, defaults_, 10}, 4, "local");
    }
    std::string refused(std::string_view body, EmbeddingRoute route = EmbeddingRoute::openai) {
        const ParsedEmbedding parsed = parse(body, route);
        EXPECT_FALSE(parsed.call) << body;
        return fmt::format("{} {}", parsed.error.status, parsed.error.message);
    }

    std::unique_ptr<Tokenizer> tokenizer_;
    RequestDefaults defaults_;
};

TEST_F(EmbeddingsTest, TakesTextsAndIds) {
    const std::vector<std::pair<const char*, size_t>> cases = {
        {R"({"input": "abc"})", 1},
        {R"({"input": ["abc", "d"]})", 2},
        {R"({"input": [1, 2, 3]})", 1},
        {R"({"input": [[1], [2, 3]], "encoding_format": "base64", "dimensions": 4})", 2}};
    for (const auto& [body, n] : cases) {
        const ParsedEmbedding parsed = parse(body);
        ASSERT_TRUE(parsed.call) << body << parsed.error.message;
        EXPECT_EQ(parsed.call->requests.size(), n) << body;
        EXPECT_TRUE(parsed.call->requests[0].embed);
    }
    EXPECT_EQ(parse(R"({"input": ["abc", "d"]})").call->n_tokens, 4);
}

TEST_F(EmbeddingsTest, RefusalsNameTheField) {
    EXPECT_THAT(refused("{}"), HasSubstr("400 input is missing"));
    EXPECT_THAT(refused(R"({"input": 5})"), HasSubstr("input"));
    EXPECT_THAT(refused(R"({"input": ""})"), HasSubstr("empty"));
    EXPECT_THAT(refused(R"({"input": "0123456789abc"})"), HasSubstr("13 tokens"));
    EXPECT_THAT(refused(R"({"input": [99999]})"), HasSubstr("input"));
    EXPECT_THAT(refused(R"({"input": "a", "dimensions": 3})"), HasSubstr("dimensions"));
    EXPECT_THAT(refused(R"({"input": "a", "encoding_format": "hex"})"), HasSubstr("encoding_format"));
    EXPECT_THAT(refused(R"({"input": "a", "truncate_prompt_tokens": 3})"),
                HasSubstr("truncate_prompt_tokens"));
    EXPECT_THAT(refused("[]"), HasSubstr("object"));
}

TEST_F(EmbeddingsTest, OllamaCutsLongTextsAndKnowsNames) {
    const ParsedEmbedding cut =
        parse(R"({"model": "local", "input": "0123456789abc"})", EmbeddingRoute::ollama);
    ASSERT_TRUE(cut.call);
    EXPECT_EQ(cut.call->n_tokens, 9);
    EXPECT_THAT(refused(R"({"model": "other", "input": "a"})", EmbeddingRoute::ollama), HasSubstr("404"));
    EXPECT_THAT(
        refused(R"({"model": "local", "input": "0123456789abc", "truncate": false})", EmbeddingRoute::ollama),
        HasSubstr("400"));
    EXPECT_TRUE(parse(R"({"model": "local", "prompt": "a"})", EmbeddingRoute::ollama_single).call);
}

TEST_F(EmbeddingsTest, VectorsHaveLengthOne) {
    const EmbeddingCall call{.route = EmbeddingRoute::openai, .n_tokens = 3};
    // two texts, one after the other
    RequestRecord first, second;
    first.queue_ms = 100;
    second.queue_ms = 300;
    first.prompt_tokens = 1;
    second.prompt_tokens = 2;
    const RequestRecord record = embedding_record(std::vector{first, second}, 0.5);
    EXPECT_EQ(record.queue_ms, 100);
    EXPECT_EQ(record.prefill_ms, 400);
    const Body body = embedding_body(call, {{3, 4, 0, 0}}, "local", record);
    EXPECT_EQ(body["data"][0]["embedding"], Body::parse("[0.6000000238418579, 0.800000011920929, 0.0, 0.0]"));
    EXPECT_EQ(body["usage"]["total_tokens"], 3);
    EmbeddingCall packed = call;
    packed.base64 = true;
    EXPECT_EQ(embedding_body(packed, {{1, 0}}, "local", record)["data"][0]["embedding"], "AACAPwAAAAA=");
    EmbeddingCall single{.route = EmbeddingRoute::ollama_single};
    EXPECT_TRUE(embedding_body(single, {{1, 0}}, "local", record).contains("embedding"));
    EmbeddingCall ollama{.route = EmbeddingRoute::ollama};
    const Body two = embedding_body(ollama, {{1, 0}, {0, 1}}, "local", record);
    EXPECT_EQ(two["embeddings"].size(), 2u);
    EXPECT_EQ(two["total_duration"], 500'000'000);
    for (const Body& any : {body, two}) EXPECT_EQ(any["timings"]["prompt_n"], 3);
}

}  // namespace

}  // namespace ft
