// Whole chats by templates of the kinds that Ollama's users write, with the texts that Ollama gives.
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

std::string go_chat(const std::string& source, const Json& messages, const Json& more = Json::object()) {
    const Expected<ChatTemplate> parsed = ChatTemplate::parse(source);
    if (!parsed) return "refused: " + parsed.error().what;
    Json context = {{"messages", messages}};
    context.update(more);
    const Expected<std::string> text = parsed->render(context);
    return text ? *text : "failed: " + text.error().what;
}

const Json k_two_turns = Json::parse(R"([
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "So?"}])");

// ---- turn after turn

constexpr const char* k_chatml = R"({{ if .System }}<|im_start|>system
{{ .System }}<|im_end|>
{{ end }}{{ if .Prompt }}<|im_start|>user
{{ .Prompt }}<|im_end|>
{{ end }}<|im_start|>assistant
{{ .Response }}<|im_end|>
)";

TEST(GoChat, ChatmlTurnByTurn) {
    EXPECT_EQ(
        go_chat(k_chatml, k_two_turns),
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nSo?<|im_end|>\n<|im_start|>assistant\n");
}

TEST(GoChat, TheResponseIsAddedWhereThereIsNone) {
    EXPECT_EQ(go_chat("[{{ .System }}|{{ .Prompt }}]", k_two_turns), "[Be brief.|Hi]Hello.[|So?]");
}

TEST(GoChat, TheLastTurnEndsInsideABranch) {
    EXPECT_EQ(go_chat("{{ if .Prompt }}Q: {{ .Prompt }}\nA: {{ .Response }}\n{{ else }}-{{ end }}--\n",
                      k_two_turns),
              "Q: Hi\nA: Hello.\n--\nQ: So?\nA: ");
}

TEST(GoChat, ATurnEndsWhereItsPartsComeAgain) {
    const char* source = "({{ .System }}|{{ .Prompt }}|{{ .Response }})";
    const Json system_late =
        Json::parse(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
        {"role": "system", "content": "s"}, {"role": "user", "content": "c"}])");
    EXPECT_EQ(go_chat(source, system_late), "(|a|b)(s|c|");
    const Json open =
        Json::parse(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])");
    EXPECT_EQ(go_chat(source, open), "(|a|b");
    const Json same_role =
        Json::parse(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])");
    EXPECT_EQ(go_chat(source, same_role), "(|a\n\nb|");
    EXPECT_EQ(go_chat(source, Json::array()), "(||");
}

// ---- the whole conversation

TEST(GoChat, HeadersAroundEachMessage) {
    constexpr const char* k_headers = R"({{- range .Messages }}<|start_header_id|>{{ .Role }}<|end_header_id|>

{{ .Content }}<|eot_id|>
{{- end }}<|start_header_id|>assistant<|end_header_id|>

)";
    EXPECT_EQ(go_chat(k_headers, k_two_turns),
              "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
              "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\nSo?<|eot_id|>"
              "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

constexpr const char* k_tools = R"({{- if or .System .Tools }}<|im_start|>system
{{- if .System }}
{{ .System }}
{{- end }}
{{- if .Tools }}

<tools>
{{- range .Tools }}
{"type": "function", "function": {{ .Function }}}
{{- end }}
</tools>
{{- end }}<|im_end|>
{{ end }}
{{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 -}}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ if .Content }}{{ .Content }}
{{- else if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{ end }}</tool_call>
{{- end }}{{ if not $last }}<|im_end|>
{{ end }}
{{- else if eq .Role "tool" }}<|im_start|>user
<tool_response>
{{ .Content }}
</tool_response><|im_end|>
{{ end }}
{{- if and (ne .Role "assistant") $last }}<|im_start|>assistant
{{ if and $.IsThinkSet (not $.Think) -}}
<think>

</think>

{{ end -}}
{{ end }}
{{- end }})";

TEST(GoChat, ToolsAndThinking) {
    const Json messages = Json::parse(R"([{"role": "user", "content": "Oslo?"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1, "a": "x"}}}]},
        {"role": "tool", "content": "7", "name": "f"}])");
    const Json tools = Json::parse(R"([{"type": "function", "function": {"name": "f", "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}])");
    const std::string chat =
        "<|im_start|>user\nOslo?<|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
        "{\"name\": \"f\", \"arguments\": {\"a\":\"x\",\"b\":1}}\n</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n7\n</tool_response><|im_end|>\n<|im_start|>assistant\n";
    EXPECT_EQ(go_chat(k_tools, messages), chat);
    EXPECT_EQ(go_chat(k_tools, messages, {{"tools", tools}, {"enable_thinking", false}}),
              "<|im_start|>system\n\n<tools>\n{\"type\": \"function\", \"function\": "
              "{\"name\":\"f\",\"description\":\"d\","
              "\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}}\n</"
              "tools><|im_end|>\n" +
                  chat + "<think>\n\n</think>\n\n");
    EXPECT_EQ(go_chat(k_tools, k_two_turns, {{"enable_thinking", true}}),
              "<|im_start|>system\nBe "
              "brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"
              "<|im_start|>user\nSo?<|im_end|>\n<|im_start|>assistant\n");
}

TEST(GoChat, CallsAndResultsAreNotJoined) {
    const Json messages =
        Json::parse(R"([{"role": "system", "content": "a"}, {"role": "system", "content": "b"},
        {"role": "assistant", "content": "c"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
        {"role": "tool", "content": "1", "name": "f"}, {"role": "tool", "content": "2", "name": "g"}])");
    EXPECT_EQ(go_chat("{{ .System }};{{ range .Messages }}{{ .Role }}:{{ .Content }}{{ len .ToolCalls }}{{ "
                      ".ToolName }};{{ end }}",
                      messages),
              "a\n\nb;system:a\n\nb0;assistant:c0;assistant:1;tool:10f;tool:20g;");
}

TEST(GoChat, SaysWhatItNames) {
    const auto chatml = ChatTemplate::parse(k_chatml);
    const auto tools = ChatTemplate::parse(k_tools);
    ASSERT_TRUE(chatml && tools);
    EXPECT_FALSE(chatml->names_tools() || chatml->names_thinking());
    EXPECT_TRUE(tools->names_tools() && tools->names_thinking());
    EXPECT_EQ(tools->source(), k_tools);
}

TEST(GoChat, MessagesOfAnyShapeDoNotBreakIt) {
    EXPECT_EQ(
        go_chat(
            "{{ range .Messages }}{{ .Role }}{{ .Content }}{{ range .ToolCalls }}{{ .Function.Name }}{{ "
            ".Function.Arguments }}{{ end }}{{ end }}",
            Json::parse(
                R"([{"role": 1, "content": null}, {"tool_calls": [1, {"name": "f"}, {"function": {"arguments": "raw"}}]}])")),
        "{}f{}raw");
    EXPECT_TRUE(go_chat("{{ .Prompt }}", Json::parse("[1]")).starts_with("failed: "));
    EXPECT_EQ(go_chat("{{ .Prompt }}", Json::parse(R"([{"role": "user", "content": [{"type": "text"}]}])")),
              "failed: the content of a message is no text");
    EXPECT_EQ(go_chat("{{ slice .Prompt 0 1 }}", Json::parse(R"([{"role": "user", "content": "é"}])")),
              "\xEF\xBF\xBD");
}

}  // namespace

}  // namespace ft
