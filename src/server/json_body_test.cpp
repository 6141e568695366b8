#include "server/json_body.h"

#include <gtest/gtest.h>

#include <string>

namespace ft {
namespace {

std::string with_members(size_t n) {
    std::string text = "{\"a\": {";
    for (size_t i = 0; i < n; i++) text += fmt::format("{}\"k{}\": \":\"", i > 0 ? "," : "", i);
    return text + "}}";
}

TEST(JsonBody, BoundsDepthAndTheMembersOfAnObject) {
    EXPECT_TRUE(parse_json(std::string(k_deepest_json, '[') + std::string(k_deepest_json, ']')));
    EXPECT_FALSE(parse_json(std::string(k_deepest_json + 1, '[') + std::string(k_deepest_json + 1, ']')));
    EXPECT_TRUE(parse_json(with_members(k_most_members)));
    const auto many = parse_json(with_members(k_most_members + 1));
    ASSERT_FALSE(many);
    EXPECT_NE(many.error().what.find("JSON whose a has more than 4096 members"), std::string::npos);
}

TEST(JsonBody, CountsNothingInTextsAndStartsAnewInEachObject) {
    std::string list = "[";
    for (int i = 0; i < 5000; i++) list += fmt::format("{}{{\"a\": \"{{[:\\\"\"}}", i > 0 ? "," : "");
    EXPECT_TRUE(parse_json(list + "]"));
}

TEST(JsonBody, ZeroDoesNotEndTheText) {
    const auto body = parse_json(std::string_view("{\"a\": 1}\0{", 10));
    ASSERT_FALSE(body);
    EXPECT_EQ(body.error().what, "no JSON: byte 9 is zero");
    EXPECT_FALSE(parse_json(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace ft
