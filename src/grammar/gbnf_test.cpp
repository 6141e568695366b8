#include "grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grammar/grammar_for_test.h"

namespace ft {
namespace {

using testing::HasSubstr;

struct GbnfCase {
    const char* grammar;
    std::vector<std::string> good, bad;
};

TEST(Gbnf, AllowsWhatItSaysAndNothingElse) {
    const GbnfCase cases[] = {
        {R"(root ::= "yes" | "no" | "也许")", {"yes", "no", "也许"}, {"", "ye", "yesno", "也", "maybe"}},
        {R"(root ::= [1-9] [0-9]{2,3} " " unit
            unit ::= "GB" | "MB")",
         {"100 GB", "9999 MB"},
         {"099 GB", "10 GB", "10000 GB", "100GB", "100 KB"}},
        {R"(root ::= item ("," item)*
            item ::= "a" | "b")",
         {"a", "a,b,a"},
         {"", "a,", "ab", ",a"}},
        {R"(root ::= "a"? "b"+ "c"*)", {"b", "abbcc"}, {"", "a", "ac", "abcb"}},
        {R"(root ::= "a"{3})", {"aaa"}, {"aa", "aaaa"}},
        {R"(root ::= "a"{2,})", {"aa", "aaaaaaaa"}, {"a"}},
        {R"(root ::= "a"{0,2} "b")", {"b", "aab"}, {"aaab"}},
        {R"(root ::= "a"{0} "b")", {"b"}, {"ab"}},
        {R"(root ::= ("ab"|"c"){2,3})", {"abab", "cabc"}, {"ab", "cccc"}},
        {R"(root ::= [^a-c]{2})", {"de", "蓝x", "\n\t"}, {"ad", "d"}},
        {R"(root ::= [a\-z\]^]+)", {"a-z]^"}, {"b", "\\"}},
        {R"(root ::= [a-])", {"a", "-"}, {"b"}},
        {R"(root ::= [-a])", {"-", "a"}, {"b"}},
        {R"(root ::= .{2})", {"ab", "蓝\n", "😀é"}, {"a", "abc", "\xFF\xFF", "\xED\xA0\x80x"}},
        {R"(root ::= [α-ω一-龥😀]+)", {"αω龥一😀"}, {"a", "😁"}},
        {R"(root ::= "\x41é\u84DD\U0001F600\n\r\t\\\"")", {"Aé蓝😀\n\r\t\\\""}, {"A"}},
        {R"(root ::= [\x00-\x1F])", {std::string(1, '\0'), "\x1F"}, {" "}},
        {"# before\nroot ::= \"a\" # behind\n  | \"b\" # |\n\n  | \"c\"\n# the end",
         {"a", "b", "c"},
         {"d", "ab"}},
        {"root ::= (\n  \"a\"\n  | \"b\" # inside\n) x\r\nx ::=\r\n  \"!\"\r\n", {"a!", "b!"}, {"a"}},
        {R"(root ::= "a" | )", {"a", ""}, {"b"}},
        {R"(root ::= "" "a" "")", {"a"}, {""}},
        {R"(root ::= ("" | "a")* "b")", {"b", "aaab"}, {"a"}},
        {R"(root ::= ("a"?){2,5} "b")", {"b", "aaaaab"}, {"aaaaaab"}},
        {R"(root ::= ("a"?){3,} "b")", {"b", "aaaaaaaaab"}, {"a"}},
        {R"g(root ::= "(" root ")" | "x")g", {"x", "((x))"}, {"(x", "x)"}},
        {R"(root ::= a b
            a ::= "x" a | ""
            b ::= "y" b | "y")",
         {"y", "xxyy"},
         {"x", "yx"}},
        {R"(root ::= r-1 r_2
            r-1 ::= "a"
            r_2 ::= "b")",
         {"ab"},
         {"a"}},
        {R"(root ::= ((("a")+)?)+)", {"", "aaa"}, {"b"}},
        {R"(root ::= "a"+? "b")", {"b", "aab"}, {"a"}},
        {R"(root ::= "a" never | "b"
            never ::= "c" never)",
         {"b"},
         {"a", "ac"}},
        {R"(root ::= "a"{1000,2000})",
         {std::string(1000, 'a'), std::string(2000, 'a')},
         {std::string(999, 'a'), std::string(2001, 'a')}},
        {R"(root ::= ("a" | "b"){70,} "c")",
         {std::string(70, 'a') + "c", std::string(300, 'b') + "c"},
         {std::string(69, 'a') + "c"}},
    };
    for (const GbnfCase& c : cases) {
        const SharedGrammar grammar = gbnf(c.grammar);
        for (const std::string& text : c.good)
            EXPECT_TRUE(allows(grammar, text)) << c.grammar << "\n" << text;
        for (const std::string& text : c.bad)
            EXPECT_FALSE(allows(grammar, text)) << c.grammar << "\n" << text;
    }
}

TEST(Gbnf, ATextThatCannotGoOnIsStoppedAtItsFirstWrongByte) {
    const SharedGrammar grammar = gbnf(R"(root ::= "a" | "b" [0-9]+ ";")");
    GrammarState state(grammar);
    EXPECT_EQ(allowed_bytes(state, "b12x"), 3u);
    EXPECT_FALSE(state.may_end());
    EXPECT_EQ(allowed_bytes(state, ";"), 1u);
    EXPECT_TRUE(state.must_end());
}

TEST(Gbnf, ErrorsNameTheLineAndWhatIsWrong) {
    const std::pair<std::string, const char*> cases[] = {
        {"root ::= \"a", "line 1: a text in quotes has no end"},
        {"root ::= \"a\nb\"", "no end"},
        {"root ::= [a", "a class of characters has no end"},
        {"root ::= []", "no characters"},
        {"root ::= [z-a]", "backwards"},
        {"root ::= (\"a\"", "ends where ) at the end of a group"},
        {"root ::= \"a\")", "\")\" where |, or the end of the line"},
        {"root ::= other", "rule \"other\" is used, but not there"},
        {"x ::= \"a\"", "there is no rule \"root\""},
        {"", "there is no rule \"root\""},
        {"root = \"a\"", "::="},
        {"root ::= \"a\"\n\nroot ::= \"b\"", "line 3: rule \"root\" is there twice"},
        {"::= \"a\"", "the name of a rule"},
        {"root ::= \"\\q\"", "\"q\" where n, r, t"},
        {"root ::= \"\\u12G4\"", "hexadecimal"},
        {"root ::= \"\\uD800\"", "no character"},
        {"root ::= \"\\U00110000\"", "no character"},
        {"root ::= \"\\", "ends where"},
        {"root ::= \"a\"{2,1}", "2 to 1 times"},
        {"root ::= \"a\"{x}", "a count"},
        {"root ::= \"a\"{1", "} behind the counts"},
        {"root ::= \"a\"{99999999999}", "over 2147483647"},
        {"root ::= *", "\"*\""},
        {"root ::= <think> \"a\"", "<token> is not offered"},
        {"root ::= \"a\" ~", "\"~\" where"},
        {"root ::= \"\xFF\"", "not UTF-8"},
        {"root ::= root \"a\" | \"b\"", "rule \"root\" is left-recursive"},
        {"root ::= a\na ::= b? c\nb ::= \"x\"\nc ::= a | \"y\"", "left-recursive"},
        {"root ::= (root \"a\"){2,3} | \"b\"", "rule \"root\" is left-recursive"},
        {"root ::= \"a\" root", "no text that ever ends"},
        {"root ::= ([a-z]*){0,9999}", "repeats up to 9999 times what may be empty"},
        {std::string("root ::= ") + std::string(200, '(') + "\"a\"" + std::string(200, ')'), "nested deeper"},
        {"root ::= \"a\"" + std::string(5000, '*'), "too many repeats"},
    };
    for (const auto& [grammar, says] : cases) {
        const std::string refusal = gbnf_refusal(grammar);
        EXPECT_THAT(refusal, HasSubstr(says)) << grammar;
        EXPECT_EQ(refusal.find("grammar"), 0u) << refusal;
    }
}

// Each ends in a sentence, or as a grammar whose tokens are found within the bounds that this counts.
TEST(Gbnf, BombsEndInASentenceOrWork) {
    std::string doubling = "root ::= a0\n";
    for (int i = 0; i < 60; i++) doubling += fmt::format("a{} ::= a{} a{}\n", i, i + 1, i + 1);
    const SharedGrammar deep = gbnf(doubling + "a60 ::= \"x\"");
    GrammarState state(deep);
    EXPECT_EQ(allowed_bytes(state, std::string(200, 'x')), 200u);

    EXPECT_THAT(gbnf_refusal(R"(root ::= ((("a"{0,9999}){0,9999}){0,9999}){0,9999})"),
                HasSubstr("may be empty"));
    EXPECT_THAT(gbnf_refusal("root ::= \"" + std::string(1000000, 'a') + "\""), HasSubstr("states"));
    EXPECT_THAT(gbnf_refusal(std::string(2 << 20, ' ')), HasSubstr("bytes"));
    EXPECT_TRUE(allows(gbnf(R"(root ::= ("")*)"), ""));
    EXPECT_THAT(gbnf_refusal(R"(root ::= (((("a"?){0,64}){0,64}){0,64}){0,64})"), HasSubstr("ways open"));
    std::string chain = "root ::= r0\n";
    for (int i = 0; i < 2000; i++) chain += fmt::format("r{} ::= r{} \"x\"\n", i, i + 1);
    EXPECT_THAT(gbnf_refusal(chain + "r2000 ::= \"y\""), HasSubstr("deep before any text"));
}

// Every way is kept until the text tells them apart: at some length they are too many.
TEST(Gbnf, TooManyWaysAtOnceEndTheAnswerWithASentence) {
    const SharedGrammar grammar = gbnf(R"(root ::= "a" root "b" | "a" root "c" | "x")");
    GrammarState state(grammar);
    Error error;
    for (int i = 0; i < 30 && error.what.empty(); i++) {
        if (const auto allowed = state.allowed(); !allowed) error = allowed.error();
        else if (const Status accepted = state.accept('a'); !accepted) error = accepted.error();
    }
    EXPECT_THAT(error.what, HasSubstr("grammar: it leaves more than"));
}

TEST(Gbnf, NestingEndsWhereTheStackDoes) {
    const SharedGrammar grammar = gbnf(R"g(root ::= "(" root ")" | "x")g");
    GrammarState state(grammar);
    const size_t depth = allowed_bytes(state, std::string(2000, '('));
    EXPECT_GT(depth, 400u);
    EXPECT_LT(depth, 600u);
    EXPECT_EQ(allowed_bytes(state, "x" + std::string(depth, ')')), depth + 1);
    EXPECT_TRUE(state.must_end());
}

}  // namespace
}  // namespace ft
