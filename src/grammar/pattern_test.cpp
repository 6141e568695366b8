#include "grammar/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar/grammar_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

Expected<SharedGrammar> pattern_grammar(const std::string& pattern) {
    ordered_json schema = {{"type", "string"}};
    schema["pattern"] = pattern;
    return compile_json_schema(schema, byte_tokenizer());
}

struct PatternCase {
    const char* pattern;
    std::vector<std::string> good, bad;  // the strings, not their JSON
};

TEST(Pattern, AllowsWhatItSaysAndNothingElse) {
    const PatternCase cases[] = {
        {R"(^abc$)", {"abc"}, {"", "ab", "abcd", "xabc"}},
        {R"(abc)", {"abc", "xxabcyy"}, {"ab"}},
        {R"(^abc)", {"abc", "abcdef"}, {"xabc"}},
        {R"(abc$)", {"abc", "xyzabc"}, {"abcx"}},
        {R"(^(a|bc)*$)", {"", "abca"}, {"b"}},
        {R"(^a|b$)", {"axx", "xxb"}, {"xa", "bx"}},
        {R"(^\d{3}-\d{4}$)", {"555-1234"}, {"555-123", "5551234"}},
        {R"(^[\w.+-]+@\w+\.com$)", {"a.b+c-d@e_1.com"}, {"@e.com", "a@e-com"}},
        {R"(^[^\s"]{1,3}$)", {"a/b", "蓝蓝蓝"}, {"", "a b", "a\"b", "abcd"}},
        {R"(^\S\s\D\W$)", {"a x!"}, {"a 1!", "abx!"}},
        {R"(^.$)", {"x", "\"", "\\", "\t", "蓝"}, {"\n", "", "ab"}},
        {R"(^\\\/\.\"$)", {"\\/.\""}, {"\\/x\""}},
        {R"(^\x41\u84dd\n\t$)", {"A蓝\n\t"}, {"A蓝n\t"}},
        {R"(^[\x00-\x1f]$)", {"\x01", "\n"}, {" "}},
        {R"(^a{2,}b{0,1}c{2}$)", {"aacc", "aaabcc"}, {"acc", "aabbcc"}},
        {R"(^(?:ab)+?(?<name>c)$)", {"abc", "ababc"}, {"c"}},
        {R"((a+)+$)", {"a", "xxaaa"}, {"b", ""}},
        {R"(^[a\]\-z]$)", {"a", "]", "-", "z"}, {"b"}},
        {R"(^[a-]$)", {"a", "-"}, {"b"}},
        {R"()", {"", "anything"}, {}},
        {R"(^$)", {""}, {"x"}},
    };
    for (const PatternCase& c : cases) {
        const auto grammar = pattern_grammar(c.pattern);
        ASSERT_TRUE(grammar) << c.pattern << (grammar ? "" : grammar.error().sentence());
        for (const std::string& text : c.good)
            EXPECT_TRUE(allows(*grammar, ordered_json(text).dump())) << c.pattern << " " << text;
        for (const std::string& text : c.bad)
            EXPECT_FALSE(allows(*grammar, ordered_json(text).dump())) << c.pattern << " " << text;
    }
}

TEST(Pattern, WhatIsNotOfferedIsNamed) {
    const std::pair<const char*, const char*> cases[] = {
        {R"(a(?=b))", "(?="},         {R"((?<!a)b)", "(?="},   {R"(^(a)\1$)", "\\1"},
        {R"(\bword)", "\\b"},         {R"(\p{L})", "\\p"},     {R"(a^b)", "\"^\" within"},
        {R"((a$)b)", "\"$\" within"}, {R"(a**)", "\"*\""},     {R"((a)", "too early"},
        {R"([a)", "too early"},       {R"(a))", "\")\""},      {R"([z-a])", "backwards"},
        {R"(a{2,1})", "2 to 1"},      {R"(a{2)", "too early"}, {R"(\)", "too early"},
        {R"(a{9999999})", "count"},   {R"(\xG0)", "\"G\""},
    };
    for (const auto& [pattern, says] : cases) {
        const auto grammar = pattern_grammar(pattern);
        ASSERT_FALSE(grammar) << pattern;
        EXPECT_THAT(grammar.error().what, HasSubstr(says)) << pattern;
        EXPECT_THAT(grammar.error().what, HasSubstr("schema: pattern")) << pattern;
    }
    const auto deep = pattern_grammar(std::string(5000, '(') + std::string(5000, ')'));
    ASSERT_FALSE(deep);
    EXPECT_THAT(deep.error().what, HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace ft
