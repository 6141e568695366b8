#include "grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar/grammar_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

struct SchemaCase {
    const char* schema;
    std::vector<std::string> good, bad;
};

void check_cases(std::span<const SchemaCase> cases) {
    for (const SchemaCase& c : cases) {
        const auto grammar = compile_json_schema(ordered_json::parse(c.schema), byte_tokenizer());
        ASSERT_TRUE(grammar) << c.schema << (grammar ? "" : grammar.error().sentence());
        for (const std::string& text : c.good) {
            EXPECT_TRUE(ordered_json::accept(text)) << text;
            EXPECT_TRUE(allows(*grammar, text)) << c.schema << "\n" << text;
        }
        for (const std::string& text : c.bad)
            EXPECT_FALSE(allows(*grammar, text)) << c.schema << "\n" << text;
    }
}

std::string schema_refusal(const std::string& schema) {
    const auto grammar = compile_json_schema(ordered_json::parse(schema), byte_tokenizer());
    return grammar ? "" : grammar.error().sentence();
}

TEST(JsonSchema, AnyValue) {
    const std::vector<std::string> values = {"{}",
                                             "[]",
                                             "{\"a\": [1, {\"b\": null}], \"c\": \"x\"}",
                                             "[true,false,-0.5e+10]",
                                             "\"\\u00e9\\n\\\"蓝\"",
                                             "\"\\uD83D\\uDE00\"",
                                             "1234567890123456",
                                             "{\n    \"a\":1\n}",
                                             "[\n  1,\n  2\n]",
                                             "null"};
    const std::vector<std::string> wrong = {"",           "{",           "[1,]",        "{\"a\"}", "{a:1}",
                                            "01",         "1.",          "+1",          "'a'",     "\"\n\"",
                                            "\"\\x\"",    "\"\\uD83D\"", "\"\\uDE00\"", "nul",     "[1 2]",
                                            "{\"a\":1,}", " 1",          "1 ",          "[ \n 1]", "1e999"};
    for (const char* schema :
         {"true", "{}", R"({"title": "t", "description": "d", "default": 1, "examples": [1]})"}) {
        const SchemaCase c = {schema, values, wrong};
        check_cases({&c, 1});
    }
    const auto object = compile_json_object(byte_tokenizer());
    ASSERT_TRUE(object);
    EXPECT_TRUE(allows(*object, values[2]));
    EXPECT_FALSE(allows(*object, "[]"));
}

TEST(JsonSchema, WhiteSpaceAndDigitsAreBounded) {
    const SchemaCase cases[] = {
        {R"({"type": "array"})",
         {"[\n" + std::string(16, ' ') + "1]"},
         {"[\n" + std::string(17, ' ') + "1]", "[  1]", "[1 ,2]"}},
        {R"({"type": "integer"})",
         {"0", "-7", std::string(18, '9'), "-" + std::string(18, '9')},
         {std::string(19, '9'), "00", "1.0", "1e3", "-"}},
        {R"({"type": "number"})",
         {"0.5", "-1e10", "1.25E-07", std::string(16, '9') + "." + std::string(16, '9') + "e99"},
         {std::string(17, '9'), "0." + std::string(17, '9'), "1e100", ".5"}},
    };
    check_cases(cases);
}

TEST(JsonSchema, Objects) {
    const SchemaCase cases[] = {
        {R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}, "age": {"type": "integer"}},
             "required": ["name", "age"], "additionalProperties": false})",
         {R"({"name":"abc","age":1})", R"({ "name": "", "age": -5 })",
          "{\n  \"name\": \"蓝蓝蓝\",\n  \"age\": 2\n}"},
         {R"({"age":1,"name":"a"})", R"({"name":"a"})", R"({"name":"abcd","age":1})",
          R"({"name":"a","age":1,"b":2})", R"({"name":"a","age":1,})", "{}"}},
        {R"({"properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}})",
         {"{}", R"({"a":null})", R"({"b":null})", R"({"c":null})", R"({"a":null,"c":null})",
          R"({"a":null,"b":null,"c":null})"},
         {R"({"c":null,"a":null})", R"({"d":null})", R"({,"a":null})", R"({"a":null,})",
          R"({"a":null,"a":null})"}},
        {R"({"properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, "required": ["b"]})",
         {R"({"b":null})", R"({"a":null,"b":null})", R"({"b":null,"c":null})"},
         {"{}", R"({"a":null})", R"({"a":null,"c":null})"}},
        {R"({"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
         {"{}", R"({"a":null,"x":1,"ab":2})", R"({"x":1})", R"({"":1})", R"({"蓝":1})"},
         {R"({"a":1})", R"({"x":null})", R"({"x":1,"a":null})", R"({"a":null,"a":1})", R"({"\u0061":1})"}},
        {R"({"properties": {"ab": {"type": "null"}, "ac": {"type": "null"}, "a": {"type": "null"}}, "additionalProperties": true})",
         {R"({"ab":null,"ac":null,"a":null,"ad":1,"abc":2,"b":3})"},
         {R"({"ab":1})", R"({"a":1})", R"({"x":1,"ac":1})"}},
        {R"({"type": "object", "additionalProperties": {"type": "boolean"}})",
         {"{}", R"({"a":true,"b":false})"},
         {R"({"a":1})"}},
        {R"({"type": "object", "additionalProperties": false})", {"{}", "{ }"}, {R"({"a":1})"}},
        {R"({"type": "object", "required": ["x"]})",
         {R"({"x":[1]})", R"({"x":1,"y":2})"},
         {"{}", R"({"y":2})"}},
        {R"({"properties": {"a\"\\\n蓝": {"const": 1}}, "required": ["a\"\\\n蓝"]})",
         {"{\"a\\\"\\\\\\n蓝\":1}"},
         {"{\"a\":1}"}},
    };
    check_cases(cases);
}

TEST(JsonSchema, Arrays) {
    const SchemaCase cases[] = {
        {R"({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3})",
         {"[1,2]", "[1.5, 2,\n3]"},
         {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]"}},
        {R"({"items": {"enum": [1, 2]}, "maxItems": 2})", {"[]", "[1]", "[2,1]"}, {"[1,1,1]", "[3]"}},
        {R"({"items": {"type": "null"}, "minItems": 1})", {"[null]", "[null,null,null,null]"}, {"[]"}},
        {R"({"maxItems": 0, "type": "array"})", {"[]"}, {"[1]"}},
        {R"({"prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}})",
         {"[]", "[1]", "[1,2]", "[1,2,3,3]"},
         {"[2]", "[1,3]", "[3]"}},
        {R"({"prefixItems": [{"const": 1}, {"const": 2}, {"const": 3}], "items": false, "minItems": 2})",
         {"[1,2]", "[1,2,3]"},
         {"[]", "[1]", "[1,2,3,3]"}},
        {R"({"prefixItems": [{"const": 1}], "items": {"const": 3}, "minItems": 3, "maxItems": 4})",
         {"[1,3,3]", "[1,3,3,3]"},
         {"[1,3]", "[1,3,3,3,3]"}},
        {R"({"prefixItems": [{"const": 1}, {"const": 2}], "maxItems": 1})", {"[]", "[1]"}, {"[1,2]"}},
        {R"({"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"const": 1}}}})",
         {"[[[1,1],[]],[]]"},
         {"[[1]]"}},
    };
    check_cases(cases);
}

TEST(JsonSchema, Strings) {
    const SchemaCase cases[] = {
        {R"({"type": "string", "minLength": 2, "maxLength": 3})",
         {"\"ab\"", "\"蓝😀x\"", "\"\\n\\u0041\"", "\"\\uD83D\\uDE00a\""},
         {"\"a\"", "\"abcd\""}},
        {R"({"type": "string", "minLength": 300})",
         {"\"" + std::string(300, 'x') + "\""},
         {"\"" + std::string(299, 'x') + "\""}},
        {R"({"type": "string", "maxLength": 5000})",
         {"\"" + std::string(5000, 'x') + "\""},
         {"\"" + std::string(5001, 'x') + "\""}},
        {R"({"format": "date"})", {"\"2024-02-29\""}, {"\"2024-13-01\"", "\"2024-1-1\"", "\"2024-01-32\""}},
        {R"({"format": "time"})",
         {"\"23:59:59Z\"", "\"00:00:00.123+02:00\""},
         {"\"24:00:00Z\"", "\"12:00:00\""}},
        {R"({"format": "date-time"})", {"\"2024-02-29T12:30:00Z\""}, {"\"2024-02-29 12:30:00Z\""}},
        {R"({"format": "uuid"})",
         {"\"123e4567-e89b-12d3-a456-426614174000\""},
         {"\"123e4567e89b12d3a456426614174000\""}},
        {R"({"format": "ipv4"})", {"\"192.168.0.255\""}, {"\"192.168.0.256\"", "\"1.2.3\""}},
        {R"({"format": "email"})", {"\"a.b@c.example.org\""}, {"\"a@b\"", "\"@b.org\""}},
        {R"({"type": "string", "pattern": "^[a-c]+$"})", {"\"abc\""}, {"\"abd\"", "\"\""}},
    };
    check_cases(cases);
}

TEST(JsonSchema, Numbers) {
    const SchemaCase cases[] = {
        {R"({"type": "integer", "minimum": 5, "maximum": 123})",
         {"5", "9", "10", "99", "100", "123"},
         {"4", "124", "200", "05", "-5"}},
        {R"({"type": "integer", "minimum": -12, "maximum": 3})",
         {"-12", "-9", "-1", "0", "3"},
         {"-13", "4", "-20"}},
        {R"({"type": "integer", "exclusiveMinimum": 0})", {"1", std::string(18, '9')}, {"0", "-1"}},
        {R"({"type": "integer", "maximum": -1})", {"-1", "-999"}, {"0", "1"}},
        {R"({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 10})", {"1", "9"}, {"0", "10"}},
        {R"({"type": "integer", "minimum": 1, "exclusiveMinimum": 1, "maximum": 2})", {"2"}, {"1"}},
        {R"({"type": "integer", "format": "int32"})", {"2147483647", "-2147483648"}, {"2147483648"}},
        {R"({"type": "integer", "format": "int64"})", {"1"}, {"1.5"}},
        {R"({"type": "number", "minimum": 0, "maximum": 1})",
         {"0", "0.0", "0.25", "1", "1.0"},
         {"1.1", "-0.5", "2", "1e0"}},
        {R"({"type": "number", "exclusiveMinimum": 0, "maximum": 10})",
         {"0.001", "5.5", "10", "10.00"},
         {"0", "0.0", "10.01", "-1"}},
        {R"({"minimum": -2, "exclusiveMaximum": 2})", {"-2", "-1.99", "0", "1.99"}, {"-2.1", "2", "2.0"}},
        {R"({"type": "number", "maximum": -3})", {"-3", "-3.5", "-10"}, {"-2.9", "3"}},
        {R"({"type": "number", "exclusiveMaximum": 0})", {"-0.1", "-7"}, {"0", "-0.0", "0.1"}},
    };
    check_cases(cases);
}

TEST(JsonSchema, ValuesAndTypes) {
    const SchemaCase cases[] = {
        {R"({"enum": ["red", "green", "蓝", "re", 1, null, {"a": [1]}]})",
         {"\"red\"", "\"re\"", "\"蓝\"", "1", "null", R"({"a":[1]})"},
         {"\"r\"", "\"reds\"", "2", "red"}},
        {R"({"const": "none"})", {"\"none\""}, {"\"non\"", "none"}},
        {R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"}},
        {R"({"type": ["string", "null"], "maxLength": 1})", {"null", "\"a\""}, {"1", "\"ab\""}},
        {R"({"type": "boolean"})", {"true", "false"}, {"null", "0"}},
        {R"({"type": ["integer", "boolean"], "minimum": 3})", {"3", "true"}, {"2"}},
        {R"({"anyOf": [{"type": "integer"}, {"type": "null"}, {"const": "none"}]})",
         {"12", "null", "\"none\""},
         {"1.5", "\"no\""}},
        {R"({"oneOf": [{"type": "integer"}, {"type": "boolean"}]})", {"12", "true"}, {"null"}},
    };
    check_cases(cases);
}

TEST(JsonSchema, ReferencesAlsoToThemselves) {
    const SchemaCase cases[] = {
        {R"({"$defs": {"p": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
             "properties": {"from": {"$ref": "#/$defs/p"}, "to": {"$ref": "#/$defs/p"}}, "required": ["from", "to"]})",
         {R"({"from":{"x":1},"to":{"x":2}})"},
         {R"({"from":{"x":1}})", R"({"from":{},"to":{"x":2}})"}},
        {R"({"definitions": {"a/b~c": {"const": 7}}, "items": {"$ref": "#/definitions/a~1b~0c", "description": "d"}})",
         {"[7,7]"},
         {"[8]"}},
        {R"({"properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["v", "next"]})",
         {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
         {R"({"v":1,"next":{}})"}},
        {R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}})",
         {"[]", "[[],[[]]]"},
         {"[1]"}},
        {R"({"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s", "maxLength": 2})",
         {"\"ab\""},
         {"\"abc\""}},
    };
    check_cases(cases);
}

TEST(JsonSchema, SchemasThatHoldTogether) {
    const SchemaCase cases[] = {
        {R"({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}}, "required": ["b"]}]})",
         {R"({"a":1,"b":null})"},
         {R"({"a":1})", R"({"b":null,"a":1})"}},
        {R"({"$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
             "allOf": [{"$ref": "#/$defs/base"}], "properties": {"n": {"type": "null"}}, "required": ["n"]})",
         {R"({"id":1,"n":null})"},
         {R"({"n":null})"}},
        {R"({"allOf": [{"type": ["integer", "string"]}, {"type": "number", "minimum": 3}], "maximum": 5})",
         {"3", "5"},
         {"2", "\"a\"", "3.5"}},
        {R"({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}]})", {"2", "3"}, {"1", "4"}},
        {R"({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
         {R"({"a":null})", R"({"b":null})", R"({"a":null,"b":null})"},
         {"{}"}},
        {R"({"allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"type": "integer", "maximum": 2}}}]})",
         {R"({"a":2})"},
         {R"({"a":3})"}},
        {R"({"allOf": [true, {"type": "null"}]})", {"null"}, {"1"}},
    };
    check_cases(cases);
}

TEST(JsonSchema, WhatIsNotOfferedIsRefusedByName) {
    const std::pair<const char*, std::vector<const char*>> cases[] = {
        {R"({"type": "object", "unevaluatedProperties": false, "dependentSchemas": {}})",
         {"\"unevaluatedProperties\"", "at #"}},
        {R"({"properties": {"a": {"not": {}}}})", {"\"not\"", "#/properties/a"}},
        {R"({"items": {"multipleOf": 2}})", {"\"multipleOf\"", "#/items"}},
        {R"({"type": "array", "uniqueItems": true})", {"uniqueItems"}},
        {R"({"type": "tuple"})", {"\"tuple\""}},
        {R"({"type": [1]})", {"\"1\""}},
        {R"({"type": []})", {"type"}},
        {"7", {"7 is no schema"}},
        {"false", {"false allows no value"}},
        {R"({"$ref": "#/$defs/none"})", {"$ref \"#/$defs/none\" leads nowhere"}},
        {R"({"$ref": "https://example.org/schema"})", {"$ref"}},
        {R"({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})", {"no text that ever ends"}},
        {R"({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}, "$ref": "#/$defs/a"})",
         {"left-recursive"}},
        {R"({"$defs": {"a": {"$ref": "#/$defs/a", "minLength": 1}}, "$ref": "#/$defs/a"})", {"32 times"}},
        {R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})", {"no text that ever ends"}},
        {R"({"format": "hostname", "type": "string"})", {"\"hostname\""}},
        {R"({"type": "integer", "format": "date"})", {"\"date\""}},
        {R"({"type": "string", "pattern": "a", "maxLength": 3})", {"pattern"}},
        {R"g({"pattern": "(?=a)"})g", {"pattern", "(?="}},
        {R"({"minLength": -1})", {"minLength"}},
        {R"({"minLength": 3, "maxLength": 2})", {"maxLength is less than minLength"}},
        {R"({"type": "integer", "minimum": 3, "maximum": 2})", {"between"}},
        {R"({"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 3})", {"between"}},
        {R"({"type": "number", "minimum": 0.5})", {"whole numbers"}},
        {R"({"type": "number", "minimum": true})", {"minimum takes a number"}},
        {R"({"prefixItems": [{}], "items": false, "minItems": 2})", {"minItems"}},
        {R"({"required": ["a"], "additionalProperties": false})", {"\"a\" is required"}},
        {R"({"required": "a"})", {"required"}},
        {R"({"properties": []})", {"properties"}},
        {R"({"enum": []})", {"enum"}},
        {R"({"enum": [1], "type": "string"})", {"of the type"}},
        {R"({"enum": [1], "minimum": 0})", {"\"minimum\" beside"}},
        {R"({"anyOf": {}})", {"anyOf"}},
        {R"({"allOf": [{"type": "string"}, {"type": "null"}]})", {"two types"}},
        {R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}]})", {"\"pattern\""}},
    };
    for (const auto& [schema, words] : cases) {
        const std::string refusal = schema_refusal(schema);
        EXPECT_EQ(refusal.find("schema"), 0u) << schema << ": " << refusal;
        for (const char* word : words) EXPECT_THAT(refusal, HasSubstr(word)) << schema;
    }
}

TEST(JsonSchema, BombsEndInASentenceOrWork) {
    ordered_json wide = {{"type", "object"}};
    for (int i = 0; i < 300; i++) {
        for (int j = 0; j < 200; j++) wide["properties"][fmt::format("k{}", i)]["enum"].push_back(j);
        wide["required"].push_back(fmt::format("k{}", i));
    }
    const auto made = compile_json_schema(wide, byte_tokenizer());
    ASSERT_TRUE(made);
    EXPECT_FALSE(allows(*made, "{\"k0\":200"));

    ordered_json deep = {{"type", "object"}};
    for (int i = 0; i < 120; i++) deep = {{"type", "array"}, {"items", deep}};
    const auto nested = compile_json_schema(deep, byte_tokenizer());
    ASSERT_TRUE(nested);
    EXPECT_TRUE(allows(*nested, std::string(120, '[') + "{}" + std::string(120, ']')));
    for (int i = 0; i < 200; i++) deep = {{"type", "array"}, {"items", deep}};
    EXPECT_THAT(schema_refusal(deep.dump()), HasSubstr("deeper than"));

    ordered_json doubling = {{"$defs", ordered_json::object()}, {"$ref", "#/$defs/a0"}};
    for (int i = 0; i < 40; i++) {
        const std::string next = fmt::format("#/$defs/a{}", i + 1);
        doubling["$defs"][fmt::format("a{}", i)]["allOf"] = {{{"$ref", next}}, {{"$ref", next}}};
    }
    doubling["$defs"]["a40"] = {{"type", "null"}};
    EXPECT_THAT(schema_refusal(doubling.dump()), HasSubstr("schema"));

    ordered_json keys = {{"additionalProperties", true}};
    keys["properties"][std::string(100000, 'k')] = {{"type", "null"}};
    EXPECT_EQ(schema_refusal(keys.dump()), "");
    EXPECT_THAT(schema_refusal("[\"" + std::string(2 << 20, 'x') + "\"]"), HasSubstr("larger than"));
}

}  // namespace
}  // namespace ft
