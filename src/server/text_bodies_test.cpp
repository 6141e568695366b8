#include "server/text_bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/served_model_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

class TextBodies : public testing::Test {
 protected:
    ordered_json answer(TextRoute route, std::string_view body) const {
        std::optional<ApiError> error;
        const std::string made =
            text_answer(route, ordered_json::parse(body), model_.served(), "local-moe", k_room, error);
        EXPECT_FALSE(error) << error->message;
        return error ? ordered_json() : ordered_json::parse(made);
    }
    std::string refused(TextRoute route, std::string_view body) const {
        std::optional<ApiError> error;
        text_answer(route, ordered_json::parse(body), model_.served(), "local-moe", k_room, error);
        return error ? error->message : "not refused";
    }

    static constexpr auto k_room = [](uint64_t bytes) {
        return bytes < 1000 ? std::optional<ApiError>() : ApiError{.message = "there is no room."};
    };
    SmallModel model_;
};

TEST_F(TextBodies, TextsToIdsAndBack) {
    EXPECT_EQ(answer(TextRoute::tokenize, R"({"content": "ab<|s|>"})"),
              ordered_json::parse(R"({"tokens": [97, 98, 256]})"));
    EXPECT_EQ(answer(TextRoute::tokenize, R"({"content": "<|s|>", "parse_special": false})")["tokens"].size(),
              5u);
    EXPECT_EQ(answer(TextRoute::detokenize, R"({"tokens": [97, 98]})"),
              ordered_json::parse(R"({"content": "ab"})"));
    EXPECT_EQ(answer(TextRoute::detokenize, R"({"tokens": []})")["content"], "");
}

// Half a character is no text.
TEST_F(TextBodies, PiecesAreTextsOrBytes) {
    EXPECT_EQ(
        answer(TextRoute::tokenize, R"({"content": "aé", "with_pieces": true})"),
        ordered_json::parse(
            R"({"tokens": [{"id": 97, "piece": "a"}, {"id": 195, "piece": [195]}, {"id": 169, "piece": [169]}]})"));
}

TEST_F(TextBodies, PiecesAreOnlyWrittenWhereThereIsRoom) {
    const std::string body =
        fmt::format(R"({{"content": "{}", "with_pieces": true}})", std::string(1000, 'a'));
    EXPECT_EQ(refused(TextRoute::tokenize, body), "there is no room.");
}

TEST_F(TextBodies, WhatTheModelWouldBeFed) {
    constexpr const char* k_chat = R"({"messages": [{"role": "user", "content": "hi"}]})";
    EXPECT_EQ(answer(TextRoute::apply_template, k_chat)["prompt"], "<|s|>user:hi");
    EXPECT_EQ(answer(TextRoute::render_chat, k_chat)["token_ids"].size(), 8u);
    EXPECT_EQ(answer(TextRoute::count_tokens, k_chat)["input_tokens"], 8);
    EXPECT_EQ(answer(TextRoute::render_completion, R"({"prompt": ["a", "bc"]})"),
              ordered_json::parse(R"([{"token_ids": [97]}, {"token_ids": [98, 99]}])"));
}

TEST_F(TextBodies, WhatIsWrongIsNamed) {
    for (const TextRoute route :
         {TextRoute::tokenize, TextRoute::detokenize, TextRoute::apply_template, TextRoute::render_chat,
          TextRoute::render_completion, TextRoute::count_tokens}) {
        EXPECT_THAT(refused(route, "[]"), HasSubstr("no JSON object"));
        EXPECT_NE(refused(route, "{}"), "not refused");
    }
    EXPECT_THAT(refused(TextRoute::tokenize, R"({"content": 5})"), HasSubstr("content"));
    for (const char* tokens : {"5", "[-1]", "[258]", "[1.5]", "[18446744073709551615]", "[\"a\"]"})
        EXPECT_THAT(refused(TextRoute::detokenize, fmt::format(R"({{"tokens": {}}})", tokens)),
                    HasSubstr("tokens"))
            << tokens;
}

}  // namespace
}  // namespace ft
