#include "server/tools/forced_call.h"

#include <gtest/gtest.h>

#include "server/json_body.h"

namespace ft {
namespace {

using nlohmann::ordered_json;

ToolOffer offer_of(std::string_view list, std::string only = "") {
    ToolOffer offer;
    offer.list = *parse_json(list);
    offer.choice = ToolOffer::Choice::required;
    offer.only = std::move(only);
    return offer;
}

constexpr std::string_view k_two =
    R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
    "properties": {"x": {"type": "integer"}}}}}, {"type": "function", "function": {"name": "g"}}])";
constexpr const char* k_schema_of_g =
    R"({"type": "object", "properties": {"name": {"const": "g"}, "arguments": {"type":
    "object", "properties": {}, "additionalProperties": false}}, "required": ["name", "arguments"], "additionalProperties": false})";

TEST(ForcedCall, IsOneOfAllFunctionsOrTheNamedOne) {
    EXPECT_EQ(forced_call_schema(offer_of(k_two, "g")), ordered_json::parse(k_schema_of_g));
    const ordered_json any = forced_call_schema(offer_of(k_two));
    ASSERT_EQ(any["anyOf"].size(), 2u);
    EXPECT_EQ(any["anyOf"][0]["properties"]["name"]["const"], "f");
    EXPECT_EQ(any["anyOf"][0]["properties"]["arguments"],
              ordered_json::parse(
                  R"({"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties":
        false})"));
    EXPECT_EQ(any["anyOf"][1], ordered_json::parse(k_schema_of_g));
}

TEST(ForcedCall, ReferencesStayWhole) {
    EXPECT_EQ(forced_call_schema(
                  offer_of(R"([{"type": "function", "function": {"name": "f", "parameters": {"$defs": {"p":
        {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/p"}}}}}])")),
              ordered_json::parse(R"({"$defs": {"f0": {"$defs": {"p": {"type": "integer"}}, "type": "object",
        "properties": {"a": {"$ref": "#/$defs/f0/$defs/p"}}, "additionalProperties": false}}, "type": "object", "properties": {"name": {"const": "f"},
        "arguments": {"$ref": "#/$defs/f0"}}, "required": ["name", "arguments"], "additionalProperties": false})"));
}

}  // namespace
}  // namespace ft
