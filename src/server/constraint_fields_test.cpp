#include "server/constraint_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/request.h"
#include "grammar/grammar_for_test.h"
#include "server/json_body.h"

namespace ft {
namespace {

using testing::HasSubstr;

class ConstraintFields : public testing::Test {
 protected:
    struct Read {
        SharedGrammar grammar;
        std::optional<ApiError> error;
    };

    Read read(std::string_view body, bool ollama = false) {
        const Expected<nlohmann::ordered_json> object = parse_json(body);
        check(static_cast<bool>(object), "JSON of the test");
        Read out;
        JsonFields fields(*object, out.error);
        Request request;
        if (ollama) read_ollama_format(fields, *tokenizer_, request);
        else read_constraint(fields, *tokenizer_, request);
        out.grammar = request.grammar;
        return out;
    }

    const Tokenizer* tokenizer_ = &byte_tokenizer();
};

TEST_F(ConstraintFields, EveryFieldGivesItsGrammar) {
    struct Case {
        const char* body;
        const char* good;
        const char* bad;
    };
    const Case cases[] = {
        {R"({"response_format": {"type": "json_object"}})", R"({"a": 1})", "[1]"},
        {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true,
             "schema": {"enum": [1, 2]}}}})",
         "2", "3"},
        {R"({"response_format": {"type": "json_schema", "schema": {"const": "a"}}})", "\"a\"", "a"},
        {R"({"response_format": {"type": "json_object", "schema": {"type": "null"}}})", "null", "{}"},
        {R"({"grammar": "root ::= \"a\" | \"b\""})", "b", "c"},
        {R"({"json_schema": {"type": "boolean"}})", "true", "1"},
        {R"({"guided_json": "{\"type\": \"boolean\"}"})", "false", "1"},
        {R"({"guided_grammar": "root ::= [0-9]+"})", "12", "a"},
        {R"({"guided_choice": ["yes", "蓝\"\\"]})", "蓝\"\\", "no"},
        {R"({"structured_outputs": {"json": {"const": null}}})", "null", "0"},
        {R"({"structured_outputs": {"choice": ["a"]}})", "a", "b"},
        {R"({"structured_outputs": {"grammar": "root ::= \"x\""}})", "x", "y"},
        {R"({"structured_outputs": {"json_object": true}})", "{}", "[]"},
    };
    for (const Case& c : cases) {
        const Read got = read(c.body);
        ASSERT_FALSE(got.error) << c.body << ": " << got.error->message;
        ASSERT_TRUE(got.grammar) << c.body;
        EXPECT_TRUE(allows(got.grammar, c.good)) << c.body;
        EXPECT_FALSE(allows(got.grammar, c.bad)) << c.body;
    }
}

TEST_F(ConstraintFields, WhatAsksForNothingGivesNone) {
    for (const char* body :
         {"{}", R"({"response_format": {"type": "text"}})", R"({"response_format": null, "grammar": ""})",
          R"({"json_schema": {}, "guided_json": null, "guided_choice": [], "structured_outputs": {}})",
          R"({"structured_outputs": {"json_object": false}})"}) {
        const Read got = read(body);
        EXPECT_FALSE(got.error) << body;
        EXPECT_FALSE(got.grammar) << body;
    }
}

TEST_F(ConstraintFields, RefusalsNameTheFieldAndWhatIsWrong) {
    struct Case {
        const char* body;
        const char* param;
        const char* says;
    };
    const Case cases[] = {
        {R"({"response_format": {"type": "json_schema"}})", "response_format", "schema"},
        {R"({"response_format": {"type": "xml"}})", "response_format", "xml"},
        {R"({"response_format": "json"})", "response_format", "object"},
        {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": 7}}})", "response_format",
         "7 is no schema"},
        {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}})",
         "response_format", "\"not\""},
        {R"({"grammar": "root ::= \"a"})", "grammar", "grammar"},
        {R"({"grammar": "root ::= root \"a\" | \"b\""})", "grammar", "left-recursive"},
        {R"({"grammar": 3})", "grammar", "text"},
        {R"({"guided_choice": ["a", 1]})", "guided_choice", "texts"},
        {R"({"guided_json": "{"})", "guided_json", "no JSON"},
        {R"({"structured_outputs": {"regex": "a"}})", "structured_outputs", "regex"},
        {R"({"grammar": "root ::= \"a\"", "json_schema": {"type": "null"}})", "json_schema", "another field"},
    };
    for (const Case& c : cases) {
        const Read got = read(c.body);
        ASSERT_TRUE(got.error) << c.body;
        EXPECT_EQ(got.error->status, 400);
        EXPECT_EQ(got.error->param, c.param) << c.body;
        EXPECT_THAT(got.error->message, HasSubstr(c.says));
    }
}

TEST_F(ConstraintFields, OllamasFormat) {
    const Read object = read(R"({"format": "json"})", true);
    ASSERT_TRUE(object.grammar);
    EXPECT_TRUE(allows(object.grammar, "{}"));
    const Read schema = read(R"({"format": {"type": "integer"}})", true);
    ASSERT_TRUE(schema.grammar);
    EXPECT_TRUE(allows(schema.grammar, "-12"));
    EXPECT_FALSE(read(R"({"format": ""})", true).grammar);
    EXPECT_THAT(read(R"({"format": "yaml"})", true).error->message, HasSubstr("yaml"));
    EXPECT_THAT(read(R"({"format": 3})", true).error->message, HasSubstr("no schema"));
}

}  // namespace
}  // namespace ft
