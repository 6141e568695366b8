#include "server/tools/json_mender.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/json_body.h"
#include "server/tools/typed_value.h"

namespace ft {
namespace {

std::string mended(std::string_view text, size_t cut) {
    JsonMender mender;
    std::string out;
    size_t taken = mender.push(text.substr(0, cut), out);
    if (!mender.done()) taken += mender.push(text.substr(cut), out);
    if (!mender.done()) mender.finish(out);
    EXPECT_TRUE(mender.done());
    return out + "|" + std::string(text.substr(taken));
}

// The same at every cut.
std::string mended(std::string_view text) {
    const std::string whole = mended(text, text.size());
    for (size_t cut = 0; cut < text.size(); cut++)
        EXPECT_EQ(mended(text, cut), whole) << text << " cut at " << cut;
    return whole;
}

TEST(JsonMender, WellFormedJsonKeepsItsMeaning) {
    for (const char* text :
         {R"({})", R"([])", R"({"a": [1, -2.5e+3, true, false, null, "x\"y\\z\u00e9\ud83d\ude00"]})",
          R"({"a": {"b": {}}, "c": [[], [1]]})", R"({"it's": "a 'b' c", "": "a: b, c } ]"})"}) {
        const std::string out = mended(text);
        ASSERT_TRUE(out.ends_with('|'));
        EXPECT_EQ(nlohmann::ordered_json::parse(out.substr(0, out.size() - 1)),
                  nlohmann::ordered_json::parse(text));
    }
    EXPECT_EQ(mended("{\"a\":1,\n \"b\" : [ 1,2 ] } tail"), "{\"a\": 1, \"b\": [1, 2]}| tail");
}

TEST(JsonMender, SmallFaultsAreMended) {
    EXPECT_EQ(mended("{'a': 'it\\'s', 'b': True, 'c': None}"), R"({"a": "it's", "b": true, "c": null}|)");
    EXPECT_EQ(mended("{'a': 'it's fine'}"), R"({"a": "it's fine"}|)");
    EXPECT_EQ(mended("{a: 1, b: two words, c: -x}"), R"({"a": 1, "b": "two words", "c": "-x"}|)");
    EXPECT_EQ(mended("{a: 1e999, b: -1e+999, c: 1e-999}"), R"({"a": "1e999", "b": "-1e+999", "c": 1e-999}|)");
    EXPECT_EQ(mended(std::string_view("{a: 5 \0}", 8)), R"({"a": "5 \u0000"}|)");
    EXPECT_EQ(mended("{\"a\": 1,}"), R"({"a": 1}|)");
    EXPECT_EQ(mended("[1, 2,]"), R"([1, 2]|)");
    EXPECT_EQ(mended("{,\"a\": 1,, \"b\": 2}"), R"({"a": 1, "b": 2}|)");
    EXPECT_EQ(mended("{\"a\": 1 \"b\": 2}"), R"({"a": "1 \"b\": 2"}|)");
    EXPECT_EQ(mended("{\"a\": {} \"b\": 2}"), R"({"a": {}, "b": 2}|)");
    EXPECT_EQ(mended("{\"a\" 1}"), R"({"a\" 1}": null}|)");
    EXPECT_EQ(mended("{\"a\": \"x\ny\tz\"}"), R"({"a": "x\ny\tz"}|)");
    EXPECT_EQ(mended("{\"a\": \"\\d\\u12\"}"), R"({"a": "\\d\\u12"}|)");
    EXPECT_EQ(mended("{\"a\": \"he said \"hi\" to me\"}"), R"({"a": "he said \"hi\" to me"}|)");
    EXPECT_EQ(mended("{\"a\": \"\\ud800x\\udc00\"}"), R"({"a": "\ufffdx\ufffd"}|)");
    EXPECT_EQ(mended("{\"a\": [1, {\"b\": 2]}"), R"({"a": [1, {"b": 2}]}|)");
    EXPECT_EQ(mended("{{\"a\": 1}}"), R"({"a": 1}|})");
    EXPECT_EQ(mended("{\"a\": , \"b\":}"), R"({"a": null, "b": null}|)");
}

// JSON readers take a NUL for the end of the text.
TEST(TypedValue, ANumberIsOneToItsEndAndToItsReaders) {
    const std::vector<std::string> number{"number"}, integer{"integer"};
    EXPECT_EQ(typed_value(integer, "\n5\n"), "5");
    EXPECT_EQ(typed_value(integer, "5.0"), "5");
    EXPECT_EQ(typed_value(number, "-1.5e3"), "-1.5e3");
    for (const std::string_view text : {std::string_view("5\0x", 3), std::string_view("1e999"),
                                        std::string_view("05"), std::string_view("0x5")})
        EXPECT_TRUE(typed_value(number, text).starts_with('"')) << text;
}

TEST(JsonMender, WhatEndsEarlyIsClosed) {
    EXPECT_EQ(mended("{\"a\": [1, \"x"), R"({"a": [1, "x"]}|)");
    EXPECT_EQ(mended("{\"a"), R"({"a": null}|)");
    EXPECT_EQ(mended("{\"a\":"), R"({"a": null}|)");
    EXPECT_EQ(mended("{\"a\": \"x\\"), R"({"a": "x"}|)");
    EXPECT_EQ(mended("{\"a\": \"\\u00"), R"({"a": "\ufffd"}|)");
    EXPECT_EQ(mended("{\"a\": tru"), R"({"a": "tru"}|)");
    EXPECT_EQ(mended("{\"a\": 1, "), R"({"a": 1}|)");
    EXPECT_EQ(mended("no JSON"), "|no JSON");
}

TEST(JsonMender, WhateverComesTheResultIsJson) {
    const std::string_view text =
        "{'a': [1, tru, {\"b\": \"\\u12 \\ud83d\\ude00 \"q\" \", c: {}}], \"d\"\n:\t-0.5e9, ]} [{,:}\\'\"";
    for (size_t start = 0; start < text.size(); start++)
        for (size_t end = start; end <= text.size(); end++) {
            JsonMender mender;
            std::string out;
            const std::string part = "{" + std::string(text.substr(start, end - start));
            mender.push(part, out);
            if (!mender.done()) mender.finish(out);
            ASSERT_TRUE(nlohmann::ordered_json::accept(out)) << part << " -> " << out;
        }
}

TEST(JsonMender, NestingIsBounded) {
    JsonMender mender;
    std::string out;
    const std::string deep(100000, '[');
    EXPECT_LT(mender.push(deep, out), 100u);
    EXPECT_TRUE(mender.done());
    EXPECT_TRUE(parse_json(out));
}

}  // namespace
}  // namespace ft
