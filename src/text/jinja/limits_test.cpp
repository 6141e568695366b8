// Templates that would take for ever, all memory or the whole stack must end in an error, and quickly.
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace ft {
namespace {

using Json = nlohmann::ordered_json;

std::string times(const std::string& text, int n) {
    std::string out;
    for (int i = 0; i < n; i++) out += text;
    return out;
}

Expected<std::string> render_within(const std::string& source, const RenderOptions& options = {}) {
    const Expected<ChatTemplate> parsed = ChatTemplate::parse(source);
    if (!parsed) return parsed.error();
    return parsed->render({{"one", Json::array({1})}}, options);
}

void expect_error(const std::string& source, const std::string& part, const RenderOptions& options = {}) {
    SCOPED_TRACE(source.substr(0, 160));
    const auto text = render_within(source, options);
    ASSERT_FALSE(text) << "gave " << text->size() << " bytes";
    EXPECT_NE(text.error().what.find(part), std::string::npos) << text.error().what;
}

TEST(JinjaLimits, Steps) {
    const std::string loop = "{% for a in range(100000) %}";
    expect_error(loop + loop + "x{% endfor %}{% endfor %}", "steps");
    expect_error("{% macro f(n) %}{{ f(n - 1) ~ f(n - 1) if n }}{% endmacro %}{{ f(90) }}", "steps");
    expect_error("{{ range(0, 10 ** 12) }}", "range is larger");
    expect_error(loop + "{{ range(100000)|map('string')|list }}{% endfor %}", "steps");
}

TEST(JinjaLimits, WorkInOneStep) {
    RenderOptions options;
    options.limits.work_bytes = 16 << 20;  // few turns of large steps: the steps themselves are quick
    const std::string loop = "{% set big = 'ab' * 100000 %}{% for a in range(100000) %}";
    const std::string list = "{% set l = range(10000)|list %}{% for a in range(100000) %}";
    for (const char* step :
         {"{{ 'x' in big }}", "{% set x = big.upper() %}", "{% set x = big[5] %}{% set x = big.count('a') %}",
          "{% set x = big|replace('x', 'y') %}", "{% set x = big == big ~ '' %}", "{% set x = big|tojson %}",
          "{% set x = big.split('x') %}", "{% set x = big.strip() %}", "{% set x = big.find('x') %}",
          "{% set x = {big: 1} %}", "{% set x = big|wordcount %}"})
        expect_error(loop + step + "{% endfor %}", "works on more than", options);
    for (const char* step :
         {"{{ -1 in l }}", "{% set x = l|sort %}", "{% set x = l + l %}", "{% set x = l|unique|list %}",
          "{{ l == l[:] }}", "{% set x = l|sum %}", "{% set x = l|max %}", "{% set x = l|reverse|list %}"})
        expect_error(list + step + "{% endfor %}", "works on more than", options);
}

TEST(JinjaLimits, Memory) {
    const std::string doubling =
        "{% set ns = namespace(v=START) %}{% for i in range(60) %}{% set ns.v = STEP %}{% endfor %}";
    const auto grown = [&](std::string start, const std::string& step) {
        std::string source = doubling;
        source.replace(source.find("START"), 5, start);
        return source.replace(source.find("STEP"), 4, step);
    };
    expect_error(grown("'ab'", "ns.v ~ ns.v"), "string would get longer");
    expect_error(grown("'ab'", "ns.v|replace('a', ns.v)"), "string would get longer");
    expect_error(grown("'ab'", "ns.v|join(ns.v)"), "string would get longer");
    expect_error(grown("'ab'", "ns.v|indent(ns.v, true)"), "string would get longer");
    expect_error(grown("'a&b'", "ns.v|e|string|forceescape ~ ns.v"), "string would get longer");
    expect_error(grown("[0]", "ns.v + ns.v"), "memory");
    expect_error(grown("[0]", "[ns.v|list, ns.v|list * 2]|first * 3"), "memory");
    expect_error("{{ ('x' * 1000000000) * 1000 }}", "string would get longer");
    expect_error("{{ [0] * 10 ** 15 }}", "larger than the memory");
    expect_error("{{ (('a' * 100000)|list * 1000)|length }}", "larger than the memory");
    expect_error(
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l, 'x' * 100000 ~ i] %}{% "
        "endfor %}",
        "memory");
    expect_error("{% macro m(n) %}{{ 'x' * 1000000 }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}", "memory");
    expect_error("{{ strftime_now('%Y' * 5000000) }}", "string would get longer");
}

TEST(JinjaLimits, Widths) {
    for (const char* source :
         {"{{ '%99999999999d' % 1 }}", "{{ '{:>9999999999}'.format('x') }}", "{{ 'x'.ljust(99999999999) }}",
          "{{ 'x'|center(99999999999) }}", "{{ 'a\nb'|indent(99999999999) }}", "{{ '1'.zfill(99999999999) }}",
          "{{ [1]|tojson(indent=9999999999) }}", "{{ 'x'.center(9223372036854775807) }}"})
        expect_error(source, "string would get longer");
    expect_error("{{ '%.99999999d' % 1 }}", "too large");
    expect_error("{{ '%.99999999f' % 1 }}", "too large");
    expect_error("{{ [1]|batch(9223372036854775807, 0)|list }}", "larger than the memory");
    expect_error("{{ [1]|slice(9223372036854775807)|list }}", "larger than the memory");
}

TEST(JinjaLimits, DepthOfValues) {
    expect_error("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "nested deeper");
    expect_error("{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a }}", "nested deeper");
    const std::string deep =
        "{% set ns = namespace(a=[], b=[]) %}{% for i in range(50000) %}{% set ns.a = [ns.a] %}{% endfor %}";
    const auto dropped =
        render_within(deep + "dropped");  // also without a word: the list's end must not unwind the stack
    ASSERT_TRUE(dropped) << dropped.error().what;
    EXPECT_EQ(*dropped, "dropped");
    expect_error(deep + "{{ ns.a }}", "nested deeper");
    expect_error(deep + "{{ ns.a|tojson }}", "nested deeper");
    const std::string twice =
        "{% set ns = namespace(a=[], b=[]) %}{% for i in range(5000) %}{% set ns.a = [ns.a] %}{% set ns.b = "
        "[ns.b] %}{% endfor %}";
    expect_error(twice + "{{ ns.a == ns.b }}", "nested deeper");
    expect_error(twice + "{{ ns.a < ns.b }}", "nested deeper");
    expect_error(
        "{% set ns = namespace(t=()) %}{% for i in range(5000) %}{% set ns.t = (ns.t,) %}{% endfor %}{{ "
        "{ns.t: 1} }}",
        "nested deeper");
}

TEST(JinjaLimits, DepthOfCalls) {
    expect_error("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "200 deep");
    expect_error("{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
                 "200 deep");
    expect_error("{% for x in one recursive %}{{ loop(one) }}{% endfor %}", "deep");
    // Deep blocks in deep macros: each allowed alone.
    const std::string blocks = times("{% if true %}", 190) + "{{ f(n + 1) }}" + times("{% endif %}", 190);
    expect_error("{% macro f(n) %}" + blocks + "{% endmacro %}{{ f(0) }}", "nested too deep");
    const std::string brackets = times("[", 190) + "f(n + 1)" + times("]", 190);
    expect_error("{% macro f(n) %}{% set x = " + brackets + " %}{% endmacro %}{{ f(0) }}", "nested too deep");
    const std::string calls = times("{% call f(n + 1) %}", 190) + times("{% endcall %}", 190);
    expect_error("{% macro f(n) %}" + calls + "{{ caller() }}{% endmacro %}{% call f(0) %}{% endcall %}",
                 "deep");
}

TEST(JinjaLimits, DepthOfSource) {
    struct Row {
        const char* before;
        const char* middle;
        const char* after;
    };
    const Row rows[] = {{"[", "", "]"},         {"(", "1", ")"},         {"{'a':", "1", "}"},
                        {"not ", "1", ""},      {"- ", "1", ""},         {"1 if 0 else ", "2", ""},
                        {"a[", "1", "]"},       {"f(", "1", ")"},        {"x|d(", "1", ")"},
                        {"x is in(", "1", ")"}, {"x is in [", "1", "]"}, {"1 + (", "1", ")"}};
    for (const Row& row : rows)
        expect_error("{{ " + times(row.before, 50000) + row.middle + times(row.after, 50000) + " }}",
                     "nested deeper");
    expect_error(times("{% for i in one %}", 20000) + times("{% endfor %}", 20000), "nested deeper");
    expect_error(times("{% if 1 %}", 20000) + times("{% endif %}", 20000), "nested deeper");
    expect_error(times("{% macro m() %}", 20000), "nested deeper");
    expect_error("{% set " + times("(", 20000) + "a", "nested deeper");
    expect_error(times("{{", 300000), "nested deeper");
    expect_error(times("{#", 300000), "Missing end of comment");
    // The allowed depth renders.
    const auto text = render_within("{{ " + times("(", 190) + "1" + times(")", 190) + " }}");
    ASSERT_TRUE(text) << text.error().what;
    EXPECT_EQ(*text, "1");
}

TEST(JinjaLimits, LongRowsAreNoDepth) {
    const std::pair<std::string, std::string> rows[] = {
        {"{{ 1" + times(" + 1", 100000) + " }}", "100001"},
        {"{{ 'x'" + times("|upper", 50000) + " }}", "X"},
        {"{{ 1" + times(" ** 1", 50000) + " }}", "1"},
        {"{{ 1" + times(" and 1", 50000) + " }}", "1"},
        {"{{ 1" + times(" == 1", 50000) + " }}", "True"},
        {"{{ 0" + times(" ~ ''", 50000) + " }}", "0"},
        {"{% if 0 %}" + times("{% elif 0 %}", 50000) + "{% endif %}", ""},
        {"{{ 7" + times(" if 1", 50000) + " }}", "7"},
        {"{{ 'x'" + times(".upper()", 50000) + " }}", "X"},
        {"{{ " + times("'a' ", 50000) + " }}", times("a", 50000)},
    };
    for (const auto& [source, expected] : rows) {
        const auto text = render_within(source);
        ASSERT_TRUE(text) << source.substr(0, 40) << text.error().what;
        EXPECT_EQ(*text, expected);
    }
    expect_error("{{ range(" + times("1,", 100000) + "1) }}", "at most 3 arguments");
}

TEST(JinjaLimits, CanBeSetLower) {
    RenderOptions options;
    options.limits.nodes = 50;
    EXPECT_FALSE(render_within("{% for i in range(100) %}x{% endfor %}", options));
    EXPECT_TRUE(render_within("{% for i in range(10) %}x{% endfor %}", options));
    options.limits.string_bytes = 10;
    EXPECT_FALSE(render_within("12345678901", options));
    EXPECT_TRUE(render_within("1234567890", options));
}

}  // namespace
}  // namespace ft
