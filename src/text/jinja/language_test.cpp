// tests/templates/language.jsonl: one small template per line, with what Jinja2 makes of it.
#include <gtest/gtest.h>

#include <fstream>

#include "text/chat_template.h"

namespace ft {
namespace {

using Json = nlohmann::ordered_json;

RenderOptions at_fixed_time() {
    RenderOptions options;
    options.now = parse_local_time("2026-01-31T12:34:56");
    return options;
}

Expected<std::string> render_now(const std::string& source, const Json& context) {
    const Expected<ChatTemplate> parsed = ChatTemplate::parse(source);
    if (!parsed) return parsed.error();
    return parsed->render(context, at_fixed_time());
}

TEST(JinjaLanguage, EveryCaseGivesTheReferencesTextOrFails) {
    std::ifstream file(FREETOKEN_SOURCE_DIR "/tests/templates/language.jsonl");
    ASSERT_TRUE(file);
    int cases = 0;
    for (std::string line; std::getline(file, line); cases++) {
        const Json c = Json::parse(line);
        const std::string source = c.at("template");
        SCOPED_TRACE(c.at("group").get<std::string>() + ": " + source);
        const auto text = render_now(source, c.value("context", Json::object()));
        if (c.contains("error")) {
            EXPECT_FALSE(text) << "gave: " << *text;
        } else {
            ASSERT_TRUE(text) << text.error().what;
            EXPECT_EQ(*text, c.at("text").get<std::string>());
        }
    }
    EXPECT_GT(cases, 300);
}

TEST(JinjaLanguage, ErrorsSayWhatAndOnWhichLine) {
    struct Row {
        const char* source;
        const char* message;
    };
    const Row rows[] = {
        {"a\n\n{{ x.y }}", "template line 3: 'x' is undefined"},
        {"{{ d.k.z }}", "template line 1: 'dict object' has no attribute 'k'"},
        {"{% if 1 %}\n{% if 2 %}\nx",
         "template line 3: Unexpected end of template: the 'if' of line 2 is not closed"},
        {"\n{% endif %}", "template line 2: Encountered unknown tag 'endif'."},
        {"{# a\nb #}\n{{ 'a' + 1 }}", "template line 3: can only concatenate str (not \"int\") to str"},
        {"{% set x =\n 1 +\n %}", "template line 3: unexpected 'end of statement block'"},
        {"{{ raise_exception('no such role: ' ~ 'bot') }}", "template line 1: no such role: bot"},
        {"{{ 'a'|shout }}", "template line 1: No filter named 'shout'."},
        {"\n{{ 1 is big }}", "template line 2: No test named 'big'."},
        {"{% include 'x' %}", "template line 1: the tag 'include' is not supported"},
        {"{{ 'a'.encode() }}", "template line 1: 'encode' of str is not supported in templates"},
        {"{{ [1].append(2) }}", "template line 1: access to attribute 'append' of 'list' object is unsafe."},
        {"{{ lipsum() }}", "template line 1: lipsum() is not supported in templates"},
        {"{{ [1]|map('string') }}", "template line 1: a generator is not text: add |list"},
        {"{{ 9223372036854775807 + 1 }}", "template line 1: an integer does not fit 64 bits"},
        {"\n{{ 99999999999999999999 }}", "template line 2: an integer does not fit 64 bits"},
        {"{{ ''['__class__'].mro }}",
         "template line 1: access to attribute '__class__' of 'str' object is unsafe."},
        {"\xff", "template line 1: the template is not UTF-8 text"},
        {"\n{# open", "template line 2: Missing end of comment tag"},
        {"{{ '\\ud83d' }}", "template line 1: a string holds the escape \\d83d that is no character"},
        {"{% macro m(caller) %}{% endmacro %}",
         "template line 1: a parameter named 'caller' is not supported"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.source);
        const auto text = render_now(row.source, {{"d", Json::object()}});
        ASSERT_FALSE(text) << *text;
        EXPECT_TRUE(text.error().what.starts_with(row.message)) << text.error().what;
        EXPECT_EQ(text.error().code, Code::invalid);
    }
}

TEST(JinjaLanguage, NothingOfTheInsideCanBeReached) {
    for (const char* source :
         {"{{ ''|attr('__class__') }}", "{{ ''['__class__'] }}", "{{ raise_exception.__globals__ }}",
          "{{ range.__init__ }}{{ namespace.__call__ }}", "{{ d.__dict__ }}", "{{ d['__class__'] }}",
          "{{ ns.__init__ }}{{ ns._x }}", "{{ [1]|map(attribute='__class__')|join }}"}) {
        const auto text = render_now(std::string("{% set ns = namespace() %}") + source, {{"d", {{"a", 1}}}});
        ASSERT_TRUE(text) << source << ": " << text.error().what;
        EXPECT_EQ(*text, "") << source;
    }
}

}  // namespace
}  // namespace ft
