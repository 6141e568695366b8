#include "server/chat_render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/served_model_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

std::string rendered(std::string_view source, std::string_view messages, std::string_view tools = "null") {
    const std::unique_ptr<Tokenizer> tokenizer = byte_chat_tokenizer();
    ChatContext context;
    context.messages = *parse_json(messages);
    context.tools = *parse_json(tools);
    const Expected<std::string> text = render_chat(template_of(source), *tokenizer, context);
    return text ? *text : "refused: " + text.error().what;
}

constexpr std::string_view k_any = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
constexpr std::string_view k_strict =
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('late system') "
    "}}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}";
constexpr std::string_view k_deaf =
    "{% for m in messages %}{% if m.role in ['user', 'assistant'] or loop.first %}<{{ m.role }}>{{ m.content "
    "}}"
    "{% endif %}{% endfor %}";
constexpr std::string_view k_no_system =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}";

constexpr std::string_view k_late = R"([{"role": "system", "content": "S"}, {"role": "user", "content": "A"},
    {"role": "assistant", "content": "B"}, {"role": "system", "content": "be brief"}, {"role": "user", "content": "C"}])";

TEST(ChatRender, AsItIsWhereTheTemplateKnowsIt) {
    EXPECT_EQ(rendered(k_any, k_late), "<system>S<user>A<assistant>B<system>be brief<user>C");
}

TEST(ChatRender, LateSystemMessagesKeepTheirPlace) {
    EXPECT_EQ(rendered(k_strict, k_late), "<system>S<user>A<assistant>B<user>be brief\n\nC");
    EXPECT_EQ(rendered(k_deaf, k_late), "<system>S<user>A<assistant>B<user>be brief\n\nC");
}

TEST(ChatRender, WithoutSystemMessages) {
    EXPECT_EQ(rendered(k_no_system, k_late), "<user>S\n\nA<assistant>B<user>be brief\n\nC");
}

TEST(ChatRender, ToolsAsTextWhereTheTemplateDoesNotKnowThem) {
    const std::string text =
        rendered(k_deaf, R"([{"role": "user", "content": "A"}, {"role": "assistant", "content": "",
        "tool_calls": [{"function": {"name": "clock", "arguments": {"zone": 1}}}]}, {"role": "tool", "content": "noon"}])",
                 R"([{"type": "function", "function": {"name": "clock"}}])");
    EXPECT_THAT(
        text,
        HasSubstr("\n{\"name\":\"clock\"}<user>A<assistant><tool_call>\n{\"name\":\"clock\",\"arguments\":"
                  "{\"zone\":1}}\n</tool_call><user><tool_response>\nnoon\n</tool_response>"));
    EXPECT_THAT(text, testing::StartsWith("<system>You can call functions."));
}

TEST(ChatRender, ArgumentsAsTextWhereTheTemplateWantsIt) {
    EXPECT_EQ(
        rendered("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
                 "{{ c.function.name + ' ' + c.function.arguments }}{% endfor %}{% endfor %}",
                 R"([{"role": "user", "content": "A"}, {"role": "assistant", "content": "", "tool_calls": [
                       {"function": {"name": "clock", "arguments": {"zone": 1}}}]}])"),
        "Aclock {\"zone\":1}");
}

TEST(ChatRender, WhatNoFormMendsIsTheTemplatesError) {
    EXPECT_THAT(rendered("{{ raise_exception('never') }}", k_late), HasSubstr("never"));
    // Not all shows, in any form: the plain one.
    EXPECT_EQ(rendered("{{ messages[0].content }}", k_late), "S");
}

}  // namespace
}  // namespace ft
