#include "cli/batch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

TEST(BatchEnvelope, TakesTheMembersAround) {
    const BatchEnvelope got = read_envelope(
        3, R"({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"n": 1}})");
    EXPECT_FALSE(got.line.error);
    EXPECT_EQ(got.line.number, 3);
    EXPECT_EQ(got.line.custom_id, "a");
    EXPECT_EQ(got.route, OpenAiRoute::chat);
    EXPECT_EQ(got.body["n"], 1);
}

TEST(BatchEnvelope, WhatIsWrongIsNamed) {
    struct Case {
        const char* text;
        const char* says;
        const char* custom_id;
    };
    for (const Case& c : std::vector<Case>{
             {R"({"custom_id": "cut")", "no JSON", ""},
             {"[1, 2]", "no JSON object", ""},
             {R"({"url": "/v1/completions", "body": {}})", "custom_id", ""},
             {R"({"custom_id": 5, "url": "/v1/completions", "body": {}})", "custom_id", ""},
             {R"({"custom_id": "", "url": "/v1/completions", "body": {}})", "custom_id", ""},
             {R"({"custom_id": "a", "method": "GET", "url": "/v1/completions", "body": {}})", "method", "a"},
             {R"({"custom_id": "a", "body": {}})", "url", "a"},
             {R"({"custom_id": "a", "url": "/v1/unheard", "body": {}})", "/v1/unheard", "a"},
             {R"({"custom_id": "a", "url": "/v1/completions"})", "body", "a"},
             {R"({"custom_id": "a", "url": "/v1/completions", "body": []})", "body", "a"},
             {R"({"custom_id": "\ud800", "url": "/v1/completions"})", "no JSON", ""},
         }) {
        const BatchEnvelope got = read_envelope(12, c.text);
        ASSERT_TRUE(got.line.error) << c.text;
        EXPECT_THAT(got.line.error->message, HasSubstr(c.says)) << c.text;
        EXPECT_EQ(got.line.custom_id, c.custom_id) << c.text;
        const ordered_json line = failed_line(got.line, *got.line.error);
        EXPECT_EQ(line["id"], "batch_req_12");
        EXPECT_TRUE(line["response"].is_null());
        EXPECT_THAT(line["error"]["message"].get<std::string>(), HasSubstr("line 12: "));
        EXPECT_EQ(line["custom_id"].is_null(), std::string_view(c.custom_id).empty());
    }
}

TEST(BatchLines, HaveTheFourMembers) {
    BatchLine line{.number = 7, .custom_id = "a"};
    const ordered_json good = answered_line(line, {{"object", "text_completion"}});
    EXPECT_EQ(good,
              ordered_json::parse(R"({"id": "batch_req_7", "custom_id": "a", "response": {"status_code": 200,
        "request_id": "batch_req_7", "body": {"object": "text_completion"}}, "error": null})"));
    const ordered_json failed =
        failed_line(line, {.status = 500, .message = "The drive.", .type = "server_error"});
    EXPECT_EQ(failed["response"]["status_code"], 500);
    EXPECT_EQ(failed["response"]["body"]["error"]["message"], "The drive.");
    EXPECT_EQ(failed["error"],
              ordered_json::parse(R"({"code": "server_error", "message": "line 7: The drive."})"));
}

}  // namespace
}  // namespace ft::cli
