// Constructs of the language, each with the text that Go's text/template gives.
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

const Json& sample_chat() {
    static const Json context = Json::parse(R"({
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "weather", "arguments": {"unit": "<C>", "city": "Oslo", "days": 1000000}}}]},
            {"role": "tool", "content": "{\"t\": 7}", "name": "weather", "tool_call_id": "c1"},
            {"role": "user", "content": "So?"}],
        "tools": [
            {"type": "function", "function": {
                "name": "weather", "description": "Tells it.", "strict": true,
                "parameters": {"type": "object",
                               "properties": {"unit": {"enum": ["C", "F"], "type": "string"},
                                              "city": {"type": ["string", "null"], "description": "Where", "minLength": 1}},
                               "required": ["city", "unit"]}}}],
        "enable_thinking": true, "reasoning_effort": "high"})");
    return context;
}

// Behind {{ .Messages }} in a comparison, so that the whole conversation is given.
std::string sample_text(const std::string& source) {
    const Expected<ChatTemplate> parsed = ChatTemplate::parse("{{ if .Messages }}{{ end }}" + source);
    if (!parsed) return "refused: " + parsed.error().what;
    RenderOptions options;
    options.now = parse_local_time("2024-03-01T12:00:00");
    const Expected<std::string> text = parsed->render(sample_chat(), options);
    return text ? *text : "failed: " + text.error().what;
}

TEST(GoTemplate, TrimMarkersAndComments) {
    EXPECT_EQ(sample_text("a  {{- .System -}} \n\t b"), "aBe brief.b");
    EXPECT_EQ(sample_text("a \n{{ .System }} \n b\n"), "a \nBe brief. \n b\n");
    EXPECT_EQ(sample_text("a {{- /* one\ntwo */ -}} b{{/* c */}} d"), "ab d");
    EXPECT_EQ(sample_text("a {{- \" \" -}} b"), "a b");
    EXPECT_EQ(sample_text("a {{ -3 }} {{3 -}} b"), "a -3 3b");
    EXPECT_EQ(sample_text("} { }} {"), "} { }} {");
}

TEST(GoTemplate, Literals) {
    EXPECT_EQ(sample_text(R"({{ "a\t\"b\"\n\u00e9\x41\101\\" }})"),
              "a\t\"b\"\né"
              "AA\\");
    EXPECT_EQ(sample_text("{{ `raw \\n\n\"x\"` }}"), "raw \\n\n\"x\"");
    EXPECT_EQ(sample_text("{{ 12 }} {{ 0x1f }} {{ 017 }} {{ -7 }} {{ 'a' }} {{ 1.50 }} {{ 1e6 }} {{ 123456.0 "
                          "}} {{ 0.00001 }}"),
              "12 31 15 -7 97 1.5 1e+06 123456 1e-05");
    EXPECT_EQ(sample_text("{{ true }} {{ false }}"), "true false");
}

TEST(GoTemplate, VariablesBelongToTheirBlock) {
    EXPECT_EQ(sample_text("{{ $x := \"a\" }}{{ if true }}{{ $x = \"b\" }}{{ end }}{{ $x }}"), "b");
    EXPECT_EQ(sample_text("{{ $x := \"a\" }}{{ if true }}{{ $x := \"b\" }}{{ $x }}{{ end }}{{ $x }}"), "ba");
    EXPECT_EQ(sample_text("{{ $last := -1 }}{{ range $i, $m := .Messages }}{{ if eq $m.Role \"user\" }}"
                          "{{ $last = $i }}{{ end }}{{ end }}{{ $last }}"),
              "4");
    EXPECT_EQ(
        sample_text("{{ if $s := .System }}{{ $s }}{{ end }}{{ with $t := .Tools }}{{ len $t }}{{ end }}"),
        "Be brief.1");
    EXPECT_EQ(sample_text("{{ $.System }}{{ range .Tools }}{{ $.ThinkLevel }}{{ end }}"), "Be brief.high");
}

TEST(GoTemplate, Branches) {
    const std::string chosen =
        "{{ if eq .ThinkLevel \"low\" }}1{{ else if eq .ThinkLevel \"high\" }}2{{ else }}3{{ end }}";
    EXPECT_EQ(sample_text(chosen), "2");
    EXPECT_EQ(sample_text("{{ if .Nothing }}1{{ else if false }}2{{ else }}3{{ end }}"), "3");
    EXPECT_EQ(sample_text("{{ with .System }}<{{ . }}>{{ else }}none{{ end }}"), "<Be brief.>");
    EXPECT_EQ(
        sample_text("{{ with .Nothing }}{{ . }}{{ else with .ThinkLevel }}{{ . }}{{ else }}none{{ end }}"),
        "high");
    for (const char* no : {"0", "0.0", "\"\"", "false", ".Nothing", "(slice .Messages 5)"})
        EXPECT_EQ(sample_text(std::string("{{ if ") + no + " }}yes{{ else }}no{{ end }}"), "no") << no;
    for (const char* yes : {"1", "-0.5", "\"x\"", "true", ".Tools", "(index .Tools 0).Function"})
        EXPECT_EQ(sample_text(std::string("{{ if ") + yes + " }}yes{{ else }}no{{ end }}"), "yes") << yes;
}

TEST(GoTemplate, Ranges) {
    EXPECT_EQ(sample_text("{{ range .Messages }}{{ .Role }},{{ end }}"), "system,user,assistant,tool,user,");
    EXPECT_EQ(sample_text("{{ range $i, $m := .Messages }}{{ $i }}{{ $m.Role }}{{ end }}"),
              "0system1user2assistant3tool4user");
    EXPECT_EQ(sample_text("{{ range $m := .Messages }}{{ if eq $m.Role \"tool\" }}{{ break }}{{ end }}"
                          "{{ if eq .Role \"user\" }}{{ continue }}{{ end }}{{ .Role }};{{ end }}"),
              "system;assistant;");
    EXPECT_EQ(sample_text("{{ range .Nothing }}x{{ else }}empty{{ end }}"), "empty");
    EXPECT_EQ(sample_text("{{ range $i, $e := .Nothing }}x{{ else }}{{ $i }}{{ $e }}{{ end }}"),
              "<no value><no value>");
    EXPECT_EQ(sample_text("{{ range $i := 3 }}{{ $i }}{{ end }}"), "012");
    // the keys of a map are sorted
    EXPECT_EQ(sample_text("{{ range $k, $v := (index (index .Messages 2).ToolCalls 0).Function.Arguments "
                          "}}{{ $k }}={{ $v }};{{ end }}"),
              "city=Oslo;days=1e+06;unit=<C>;");
}

TEST(GoTemplate, PipelinesAndFunctions) {
    EXPECT_EQ(sample_text("{{ .System | len | printf \"%d %s\" | print }}"),
              "failed: template line 1: printf: the format names more values than are given");
    EXPECT_EQ(sample_text("{{ .System | len | printf \"%v|%d|%s%%\" 1 2 \"x\" }}"),
              "failed: template line 1: printf: the format names fewer values than are given");
    EXPECT_EQ(sample_text("{{ .System | len | printf \"%s %t %d%%\" .ThinkLevel true }}"), "high true 9%");
    EXPECT_EQ(
        sample_text("{{ and .System .ThinkLevel }} {{ or .Nothing .System }} {{ and 0 (index .Tools 9) }}"),
        "high Be brief. 0");
    EXPECT_EQ(sample_text("{{ not .System }}{{ eq .ThinkLevel \"a\" \"high\" }}{{ ne 1 2 }}{{ lt 1 2 }}{{ le "
                          "2 2 }}{{ gt 1 2 }}{{ ge \"b\" \"a\" }}"),
              "falsetruetruetruetruefalsetrue");
    EXPECT_EQ(sample_text("{{ range $i, $_ := .Messages }}{{ eq (len (slice $.Messages $i)) 1 }} {{ end }}"),
              "false false false false true ");
    EXPECT_EQ(sample_text("{{ slice .System 3 8 }}{{ index .System 0 }}{{ (index .Messages 1).Content }}"),
              "brief66Hi");
    EXPECT_EQ(sample_text("{{ print 1 2 \"a\" 3 }}{{ print true false }}{{ println \"a\" 1 }}"),
              "1 2a3true falsea 1\n");
    EXPECT_EQ(sample_text("{{ currentDate }} {{ yesterdayDate }} {{ print currentDate }}"),
              "2024-03-01 2024-02-29 2024-03-01");
}

TEST(GoTemplate, DefinedTemplates) {
    EXPECT_EQ(sample_text(
                  "{{ define \"m\" }}[{{ .Role }}{{ $.Content }}]{{ end }}"
                  "{{ range .Messages }}{{ if eq .Role \"user\" }}{{ template \"m\" . }}{{ end }}{{ end }}"),
              "[userHi][userSo?]");
    EXPECT_EQ(sample_text("{{ $x := 1 }}{{ block \"b\" .System }}{{ $x := 2 }}<{{ . }}>{{ end }}{{ $x }}"),
              "<Be brief.>1");
}

TEST(GoTemplate, DataIsPrintedAsOllamaDoes) {
    const std::string call = "(index (index .Messages 2).ToolCalls 0)";
    EXPECT_EQ(sample_text("{{ " + call + ".Function.Name }} {{ " + call + ".ID }} {{ " + call +
                          ".Function.Arguments }}"),
              R"(weather c1 {"city":"Oslo","days":1000000,"unit":"\u003cC\u003e"})");
    EXPECT_EQ(sample_text("{{ json " + call + ".Function.Arguments }}"),
              R"({"city":"Oslo","days":1000000,"unit":"\u003cC\u003e"})");
    const std::string parameters =
        R"({"type":"object","required":["city","unit"],"properties":{"city":{"type":["string","null"],)"
        R"("description":"Where","minLength":1},"unit":{"type":"string","enum":["C","F"]}}})";
    const std::string tool = R"({"type":"function","function":{"name":"weather","description":"Tells it.",)"
                             R"("parameters":)" +
                             parameters + R"(,"strict":true}})";
    EXPECT_EQ(sample_text("{{ .Tools }}"), "[" + tool + "]");
    EXPECT_EQ(sample_text("{{ json .Tools }}{{ range .Tools }}{{ . }}{{ .Function.Parameters }}{{ end }}"),
              "[" + tool + "]" + tool + parameters);
    EXPECT_EQ(
        sample_text("{{ range $n, $p := (index .Tools 0).Function.Parameters.Properties }}{{ $n }}:{{ .Type "
                    "}}:{{ .Enum }}:"
                    "{{ toTypeScriptType $p }};{{ end }}{{ (index .Tools 0).Function.Parameters.Required }}"),
        "city:[string null]:[]:string | null;unit:string:[C F]:string;[city unit]");
    EXPECT_EQ(sample_text("{{ (index .Messages 2).Thinking }} {{ (index .Messages 3).ToolName }} {{ .Think "
                          "}} {{ .IsThinkSet }} {{ .Prompt }}"),
              "Hm. weather true true <no value>");
    EXPECT_EQ(sample_text("{{ json \"a\\\"<&>\\n\" }}{{ json 1.5 }}{{ json true }}{{ json .Nothing }}"),
              R"("a\"\u003c\u0026\u003e\n"1.5truenull)");
}

TEST(GoTemplate, WhatCannotBeIsRefusedByNameAndLine) {
    const std::pair<const char*, const char*> k_bad[] = {
        {"\n{{ html .System }}", "template line 2: the function html is not offered"},
        {"{{ if .System }}\n", "template line 1: {{ if }} has no {{ end }}"},
        {"{{ end }}", "template line 1: {{ end }} ends nothing"},
        {"{{ .System", "template line 1: an action is never closed by }}"},
        {"{{ \"a }}", "template line 1: a text in \" is never closed"},
        {"{{ /* a }}", "has no meaning in an action"},
        {"{{/* a }}", "a comment is never closed"},
        {"{{ $x }}", "the variable $x is not declared"},
        {"{{ $x = 1 }}", "the variable $x is not declared"},
        {"{{ .System 1 }}", "only a function takes arguments"},
        {"{{ 1 | .System }}", "only a function can stand behind |"},
        {"{{ len }}", "len does not take 0 arguments"},
        {"{{ not 1 2 }}", "not does not take 2 arguments"},
        {"{{ printf \"%5d\" 1 }}", "printf: the format %5d"},
        {"{{ break }}", "{{ break }} stands in no range"},
        {"{{ template \"m\" . }}", "no template m is defined"},
        {"{{ if 1 }}{{ else }}{{ else }}{{ end }}", "a second else"},
        {"{{ nil }}", "nil alone is no value"},
        {"{{ \"\\q\" }}", "\\q is no escape"},
        {"{{ }}", "where a value is expected"},
        {"{{ (1 }}", "where ) is expected"},
        {"{{ 08x }}", "08x is no number"},
        {"{{ 1e999 }}", "1e999 is no number"},
        {"{{ .System }}\xFF", "not UTF-8"},
    };
    for (const auto& [source, what] : k_bad) {
        const std::string got = sample_text(source);
        EXPECT_TRUE(got.starts_with("refused: ")) << source << ": " << got;
        EXPECT_NE(got.find(what), std::string::npos) << source << ": " << got;
    }
}

TEST(GoTemplate, WhatFailsNamesTheLine) {
    const std::pair<const char*, const char*> k_failing[] = {
        {"\n{{ .Messages.Role }}", "template line 2: the list of messages has no field .Role"},
        {"{{ range .Messages }}{{ .Name }}{{ end }}", "a message has no field .Name"},
        {"{{ .Messages }}", "the list of messages has no text of its own"},
        {"{{ index .Messages 5 }}", "index: the place 5 is out of range, there are 5"},
        {"{{ slice .Messages 6 }}", "slice: the place 6 is out of range, there are 5"},
        {"{{ eq .System 1 }}", "eq: a text and a number cannot be compared"},
        {"{{ lt true false }}", "lt: a truth value and a truth value cannot be compared"},
        {"{{ len .Nothing }}", "nothing has no length"},
        {"{{ range .System }}{{ end }}", "range cannot go over a text"},
        {"{{ printf \"%d\" .System }}", "printf: %d does not write a text"},
    };
    for (const auto& [source, what] : k_failing) {
        const std::string got = sample_text(source);
        EXPECT_TRUE(got.starts_with("failed: ")) << source << ": " << got;
        EXPECT_NE(got.find(what), std::string::npos) << source << ": " << got;
    }
}

TEST(GoTemplate, IsBounded) {
    const auto repeated = [](const std::string& text, int n) {
        std::string out;
        for (int i = 0; i < n; i++) out += text;
        return out;
    };
    EXPECT_NE(sample_text(repeated("{{ if 1 }}", 300) + repeated("{{ end }}", 300)).find("nested deeper"),
              std::string::npos);
    EXPECT_NE(
        sample_text("{{ if 1 }}" + repeated("{{ else if 1 }}", 300) + "{{ end }}").find("nested deeper"),
        std::string::npos);
    EXPECT_NE(
        sample_text("{{ " + repeated("(", 300) + "1" + repeated(")", 300) + " }}").find("nested deeper"),
        std::string::npos);
    EXPECT_NE(sample_text("{{ define \"m\" }}{{ template \"m\" . }}{{ end }}{{ template \"m\" . }}")
                  .find("call each other deeper"),
              std::string::npos);
    EXPECT_TRUE(sample_text("{{ range 2000000 }}{{ end }}").starts_with("failed: "));
    EXPECT_TRUE(sample_text("{{ $x := \"aaaaaaaaaaaaaaaa\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}")
                    .starts_with("failed: "));
    EXPECT_EQ(sample_text(repeated("{{ if 1 }}", 90) + "x" + repeated("{{ end }}", 90)), "x");
}

TEST(GoTemplate, IsToldFromJinja) {
    for (const char* jinja : {"{{ messages[0].content }}", "{{ 'a' }}", "{{ range is callable }}",
                              "{% if x %}{{ .System }}{% endif %}", "plain"}) {
        const Expected<ChatTemplate> parsed = ChatTemplate::parse(jinja);
        if (parsed) EXPECT_TRUE(parsed->render({{"messages", {{{"content", "x"}}}}})) << jinja;
        else EXPECT_EQ(parsed.error().what.find("function"), std::string::npos) << jinja;
    }
    const auto got = ChatTemplate::parse("{{ upper .System }}");
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().what, "template line 1: the function upper is not offered");
}

}  // namespace

}  // namespace ft
