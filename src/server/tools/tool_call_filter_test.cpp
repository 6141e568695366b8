#include "server/tools/tool_call_filter.h"

#include <gtest/gtest.h>

#include "server/json_body.h"

namespace ft {
namespace {

ToolRules rules_for_test(bool parallel = true) {
    ToolRules rules;
    rules.parallel = parallel;
    rules.id_seed = 0xAB;
    rules.tools.push_back({"get_weather", *parse_json(R"({"type": "object", "properties": {
        "town": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"}, "share": {"type": "number"},
        "list": {"type": "array"}, "more": {"type": "object"}, "either": {"type": ["null", "integer", "string"]},
        "any": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "unit": {"enum": ["C", "F"]}}})")});
    rules.tools.push_back({"get_time", nullptr});
    return rules;
}

// "text[get_weather {…}]text": what is told, whatever the cuts are.
std::string shown(const std::vector<AnswerPiece>& pieces) {
    std::string out;
    for (const AnswerPiece& piece : pieces) {
        if (piece.kind == AnswerPiece::Kind::tool_begin) out += "[" + piece.text + " ";
        else if (piece.kind == AnswerPiece::Kind::tool_end) out += "]";
        else out += piece.text;
    }
    return out;
}

std::string read_in(const std::vector<std::string_view>& parts, const ToolRules& rules) {
    ToolCallFilter filter(rules, 0);
    std::vector<AnswerPiece> pieces;
    for (const std::string_view part : parts) filter.push(part, false, pieces);
    filter.push("", true, pieces);
    return shown(pieces);
}

// The same whole, cut in two anywhere, and byte by byte.
std::string read_calls_of(std::string_view text, const ToolRules& rules = rules_for_test()) {
    const std::string whole = read_in({text}, rules);
    for (size_t cut = 1; cut < text.size(); cut++)
        EXPECT_EQ(read_in({text.substr(0, cut), text.substr(cut)}, rules), whole)
            << text << " cut at " << cut;
    std::vector<std::string_view> bytes;
    for (size_t i = 0; i < text.size(); i++) bytes.push_back(text.substr(i, 1));
    EXPECT_EQ(read_in(bytes, rules), whole) << text;
    return whole;
}

TEST(ToolCallFilter, TextIsTextUnchanged) {
    for (const char* text : {"",
                             " ",
                             "\n\nHello.\n",
                             "a < b <to> <tool <tool_ca",
                             "<tool_call",
                             "{",
                             "[",
                             "[1, 2]\n",
                             "[link](x)",
                             "{\"name\": \"other\", \"arguments\": {}}",
                             "{\"town\": \"Bern\"}",
                             "```json\n{\"a\": 1}\n```\n",
                             "```c\nint main()\n{\n    x[0] = \"a\";\n}\n```",
                             "say {\"name\": \"get_time\", \"arguments\": {}}",
                             "<tool_call></tool_call>",
                             "<tool_call>\nwhat\n</tool_call>",
                             "<tool_call>{\"a\": 1}</tool_call> x",
                             "<function",
                             "<function=get_time",
                             "<function=two\nlines>",
                             "{\"name\": \"get_time\", \"description\": \"x\"}",
                             "[{\"name\": \"Anna\"}]",
                             "```",
                             "``` \n",
                             "```json",
                             "```json\n",
                             "`` `"})
        EXPECT_EQ(read_calls_of(text), text);
}

TEST(ToolCallFilter, HermesJson) {
    EXPECT_EQ(
        read_calls_of(
            "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Bern\"}}\n</tool_call>"),
        R"([get_weather {"town": "Bern"}])");
    EXPECT_EQ(read_calls_of(
                  "Let me see.\n\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\n\nDone."),
              "Let me see.[get_time {}]\n\nDone.");
    EXPECT_EQ(read_calls_of(
                  "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>\n"
                  "<tool_call>{\"name\": \"b\", \"arguments\": {\"x\": [1, {\"y\": \"}\"}]}}</tool_call>"),
              R"([a {}][b {"x": [1, {"y": "}"}]}])");
    EXPECT_EQ(read_calls_of("<tool_call>{\"arguments\": {\"x\": 1}, \"name\": \"a\"}</tool_call>"),
              R"([a {"x": 1}])");
    EXPECT_EQ(read_calls_of("<tool_call>[{\"name\": \"a\"}, {\"name\": \"b\"}]</tool_call>"), "[a {}][b {}]");
}

TEST(ToolCallFilter, MalformedCallsAreStillCalls) {
    EXPECT_EQ(read_calls_of("<tool_call>{'name': 'a', 'arguments': {'x': True,}}"), R"([a {"x": true}])");
    EXPECT_EQ(read_calls_of("<tool_call>{\"name\": \"a\", \"arguments\": \"{\\\"x\\\": 1}\"}</tool_call>"),
              R"([a {"x": 1}])");
    EXPECT_EQ(read_calls_of("<tool_call>{\"name\": \"a\", \"arguments\": null}</tool_call>"), "[a {}]");
    EXPECT_EQ(read_calls_of("<tool_call>{\"name\": \"a\", \"parameters\": {\"x\": 1}}}</tool_call>"),
              R"([a {"x": 1}])");
    EXPECT_EQ(read_calls_of("<tool_call>{{\"name\": \"a\", \"arguments\": {}}}</tool_call>"), "[a {}]");
    EXPECT_EQ(read_calls_of("<tool_call>```json\n{\"name\": \"a\"}\n```</tool_call>"), "[a {}]");
    EXPECT_EQ(read_calls_of("<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": \"cut he"),
              R"([a {"x": "cut he"}])");
    EXPECT_EQ(read_calls_of("<tool_call>{\"name\": \"get_wea"), "<tool_call>{\"name\": \"get_wea");
    EXPECT_EQ(read_calls_of(
                  "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": 1}}\n<tool_call>{\"name\": \"b\"}"),
              R"([a {"x": 1}][b {}])");
    EXPECT_EQ(read_calls_of("<tool_call>{\"name\": \"a\"}{\"name\": \"b\"}</tool_call>"), "[a {}][b {}]");
    EXPECT_EQ(read_calls_of("<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"a\", "
                            "\"arguments\": {}}}</tool_call>"),
              "[a {}]");
}

TEST(ToolCallFilter, QwenCoderXml) {
    EXPECT_EQ(
        read_calls_of(
            "<tool_call>\n<function=get_weather>\n<parameter=town>\nBern\n</parameter>\n<parameter=days>\n"
            "3\n</parameter>\n</function>\n</tool_call>"),
        R"([get_weather {"town": "Bern", "days": 3}])");
    EXPECT_EQ(
        read_calls_of(
            "I look.\n<function=get_weather><parameter=town>say \"hi\"\n  in two</parameter></function>"),
        R"(I look.[get_weather {"town": "say \"hi\"\n  in two"}])");
    EXPECT_EQ(read_calls_of("<function=get_time>\n</function>\n<function=get_time></function>"),
              "[get_time {}][get_time {}]");
    EXPECT_EQ(
        read_calls_of("<function name=\"get_weather\"><parameter name=\"unit\">C</parameter></function>"),
        R"([get_weather {"unit": "C"}])");
    EXPECT_EQ(
        read_calls_of(
            "<function=get_weather>\n<parameter=town>\nBern\n<parameter=days>\n2\n</function>\n</tool_call>"),
        R"([get_weather {"town": "Bern", "days": 2}])");
    EXPECT_EQ(read_calls_of("<function=get_weather>\n<parameter=town>\nBe"),
              R"([get_weather {"town": "Be"}])");
    EXPECT_EQ(read_calls_of("<function=get_weather>\n<parameter=town>\n</parameter>\n</function>"),
              R"([get_weather {"town": ""}])");
}

TEST(ToolCallFilter, XmlValuesHaveTheTypesOfTheSchema) {
    const auto value = [](const std::string& name, const std::string& text) {
        const std::string all = read_calls_of("<function=get_weather><parameter=" + name + ">" + text +
                                              "</parameter></function>");
        const size_t start = all.find(": ") + 2;
        return all.substr(start, all.size() - start - 2);
    };
    EXPECT_EQ(value("town", "5"), R"("5")");
    EXPECT_EQ(value("unknown", "5"), R"("5")");
    EXPECT_EQ(value("days", " 5 "), "5");
    EXPECT_EQ(value("days", "5.0"), "5");
    EXPECT_EQ(value("days", "five"), R"("five")");
    EXPECT_EQ(value("exact", "True"), "true");
    EXPECT_EQ(value("share", "0.25"), "0.25");
    EXPECT_EQ(value("list", "[1, 'a',]"), R"([1, "a"])");
    EXPECT_EQ(value("more", "{'a': {}}"), R"({"a": {}})");
    EXPECT_EQ(value("more", "text"), R"("text")");
    EXPECT_EQ(value("either", "null"), "null");
    EXPECT_EQ(value("either", "7"), "7");
    EXPECT_EQ(value("either", "seven"), R"("seven")");
    EXPECT_EQ(value("any", "None"), "null");
    EXPECT_EQ(value("unit", "F"), R"("F")");
}

TEST(ToolCallFilter, BareJsonOfAKnownFunction) {
    EXPECT_EQ(read_calls_of("{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Bern\"}}"),
              R"([get_weather {"town": "Bern"}])");
    EXPECT_EQ(read_calls_of("Sure.\n{\"name\": \"get_time\", \"parameters\": {}}"), "Sure.[get_time {}]");
    EXPECT_EQ(
        read_calls_of(
            "[{\"name\": \"get_time\", \"arguments\": {}},\n{\"name\": \"get_weather\", \"arguments\": {}}]"),
        "[get_time {}][get_weather {}]");
    EXPECT_EQ(read_calls_of("```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\nThere."),
              "[get_time {}]\nThere.");
    EXPECT_EQ(read_calls_of(
                  "{\"name\": \"get_time\", \"arguments\": {}}\n{\"name\": \"get_time\", \"arguments\": {}}"),
              "[get_time {}][get_time {}]");
    EXPECT_EQ(
        read_calls_of("{\"tool_calls\": [{\"function\": {\"name\": \"get_time\", \"arguments\": {}}}]}"),
        "[get_time {}]");
}

TEST(ToolCallFilter, ArgumentsComeAsTheyAreWritten) {
    const ToolRules rules = rules_for_test();
    ToolCallFilter filter(rules, 3);
    std::vector<AnswerPiece> pieces;
    filter.push("<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": \"long", false, pieces);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].kind, AnswerPiece::Kind::tool_begin);
    EXPECT_EQ(pieces[0].choice, 3u);
    EXPECT_EQ(pieces[0].tool_id, "call_00000000000000ab0300");
    EXPECT_EQ(pieces[1].kind, AnswerPiece::Kind::tool_arguments);
    EXPECT_EQ(pieces[1].text, "{\"x\": \"long");
    pieces.clear();
    filter.push(" text", false, pieces);
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].text, " text");
}

TEST(ToolCallFilter, TextIsNotHeldBackForNothing) {
    const ToolRules rules = rules_for_test();
    ToolCallFilter filter(rules, 0);
    std::vector<AnswerPiece> pieces;
    filter.push("{\"town\": ", false, pieces);
    EXPECT_EQ(shown(pieces), "{\"town\":");
    pieces.clear();
    filter.push("\"Bern\"", false, pieces);
    EXPECT_EQ(shown(pieces), " \"Bern\"");
}

TEST(ToolCallFilter, OneCallWhereTheyAreNotToBeParallel) {
    EXPECT_EQ(
        read_calls_of("<tool_call>{\"name\": \"a\"}</tool_call><tool_call>{\"name\": \"b\"}</tool_call>",
                      rules_for_test(false)),
        "[a {}]");
}

}  // namespace
}  // namespace ft
