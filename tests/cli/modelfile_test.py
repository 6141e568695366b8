"""serve --modelfile: TEMPLATE, a chat template in Go's language, in all dialects; and such templates elsewhere."""
import json

import harness
import serving
from harness import DEMO, ask, run

CHATS = '''{{- if or .System .Tools }}<|im_start|>system
{{- if .System }}
{{ .System }}
{{- end }}
{{- range .Tools }}
{"type": "function", "function": {{ .Function }}}
{{- end }}<|im_end|>
{{ end }}
{{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 }}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ .Content }}
{{- range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>
{{- end }}{{ if not $last }}<|im_end|>
{{ end }}
{{- else if eq .Role "tool" }}<|im_start|>user
<tool_response>
{{ .Content }}
</tool_response><|im_end|>
{{ end }}
{{- if and (ne .Role "assistant") $last }}<|im_start|>assistant
{{ if and $.IsThinkSet (not $.Think) }}<think>

</think>

{{ end }}
{{- end }}
{{- end }}'''
TURNS = '''{{ if .System }}<|im_start|>system
{{ .System }}<|im_end|>
{{ end }}{{ if .Prompt }}<|im_start|>user
{{ .Prompt }}<|im_end|>
{{ end }}<|im_start|>assistant
{{ .Response }}<|im_end|>
'''
SYSTEM = "<|im_start|>system\nBe brief.<|im_end|>\n"
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "So?"}]
CHAT_TEXT = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nSo?<|im_end|>\n<|im_start|>assistant\n"
TOOL = {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
TOOL_TEXT = ('{"type": "function", "function": {"name":"weather","description":"Tells it.",'
             '"parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}}')


class Modelfiles(harness.Case):
    def modelfile(self, template, more=""):
        return self.write("Modelfile", 'FROM %s\n%sTEMPLATE """%s"""\n' % (DEMO, more, template))

    def refused_with(self, template, *words, flags=()):
        self.refused(run("serve", "--modelfile", self.modelfile(template), *flags, limit=60), *words)

    def test_a_whole_conversation(self):
        with serving.Server(self.folder, flags=("--modelfile", self.modelfile(CHATS, "SYSTEM Be brief.\n"))) as server:
            def prompt(messages, **more):
                return server.post("/apply-template", {"messages": messages, **more}).json()["prompt"]

            self.assertEqual(prompt(CHAT), SYSTEM + CHAT_TEXT)
            self.assertEqual(prompt(CHAT, tools=[TOOL]), SYSTEM[:-11] + "\n" + TOOL_TEXT + "<|im_end|>\n" + CHAT_TEXT)
            self.assertEqual(prompt(CHAT, chat_template_kwargs={"enable_thinking": False}), SYSTEM + CHAT_TEXT + "<think>\n\n</think>\n\n")
            called = [CHAT[0],
                      {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {
                          "name": "weather", "arguments": '{"unit": "C", "city": "Oslo"}'}}]},
                      {"role": "tool", "tool_call_id": "1", "content": "7"}]
            self.assertEqual(prompt(called), SYSTEM + "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
                             '{"name": "weather", "arguments": {"city":"Oslo","unit":"C"}}\n</tool_call><|im_end|>\n'
                             "<|im_start|>user\n<tool_response>\n7\n</tool_response><|im_end|>\n<|im_start|>assistant\n")
            ids = server.post("/tokenize", {"content": SYSTEM + CHAT_TEXT, "parse_special": True}).json()["tokens"]
            for path, body in (("/v1/messages/count_tokens", {"model": "m", "messages": CHAT}),
                               ("/v1/chat/completions/render", {"messages": CHAT})):
                answer = server.post(path, body).json()
                self.assertEqual(answer.get("input_tokens", len(answer.get("token_ids", []))), len(ids), path)
            said = server.post("/api/chat", {"model": "local-moe", "messages": CHAT, "stream": False, "options": {"num_predict": 4}})
            self.assertEqual(said.json()["prompt_eval_count"], len(ids))
            shown = server.post("/api/show", {"model": "local-moe"}).json()
            self.assertEqual(shown["template"], CHATS)
            self.assertEqual(shown["capabilities"], ["completion", "tools", "thinking"])

    def test_turn_after_turn(self):
        with serving.Server(self.folder, flags=("--modelfile", self.modelfile(TURNS))) as server:
            prompt = server.post("/apply-template", {"messages": [{"role": "system", "content": "Be brief."}, *CHAT]}).json()["prompt"]
            self.assertEqual(prompt, SYSTEM + CHAT_TEXT)
            # what the template has no place for is said in words
            self.assertIn("weather", server.post("/apply-template", {"messages": CHAT, "tools": [TOOL]}).json()["prompt"])
            self.assertEqual(server.post("/api/show", {"model": "local-moe"}).json()["capabilities"], ["completion"])

    def test_it_is_weaker_than_a_template_given_elsewhere(self):
        mine = self.write("mine.tmpl", "[{{ .Prompt }}]")
        with serving.Server(self.folder, flags=("--modelfile", self.modelfile("{{ html .Prompt }}"), "--template", mine)) as server:
            self.assertEqual(server.post("/apply-template", {"messages": CHAT}).json()["prompt"], "[Hi]Hello.[So?]")

    def test_print_config_is_a_config(self):
        shown = self.good(run("serve", "--modelfile", self.modelfile(CHATS), "--print-config")).text
        line = next(line for line in shown.splitlines() if line.startswith("  template_text: "))
        self.assertIn("Modelfile line 2", line)
        again = self.good(run("serve", "--config", self.write("again.yaml", shown), "--print-config")).text
        self.assertIn(line.partition("  # ")[0], again)

    def test_what_cannot_be_is_refused_at_start(self):
        self.refused_with("\n{{ html .Prompt }}", "Modelfile line 2", "template line 2", "html", "--template")
        self.refused_with("{{ if .Prompt }}", "Modelfile line 2", "if", "end")
        self.refused_with("{{ .Prompt | printf \"%x\" }}", "printf", "%x")
        never = self.write("Modelfile", 'FROM %s\nTEMPLATE """{{ .Prompt }}\n' % DEMO)
        self.refused(run("serve", "--modelfile", never, limit=60), "Modelfile line 2", "closed")

    def test_files_of_templates(self):
        file = self.write("chats.tmpl", CHATS)
        lines = [{"messages": CHAT}, {"messages": CHAT, "tools": [TOOL], "enable_thinking": False}]
        got = self.good(run("render", file, stdin="".join(json.dumps(line) + "\n" for line in lines))).lines()
        self.assertEqual(got[0], {"text": CHAT_TEXT})
        self.assertEqual(got[1]["text"], "<|im_start|>system\n" + TOOL_TEXT + "<|im_end|>\n" + CHAT_TEXT + "<think>\n\n</think>\n\n")
        # the demo model's own template says the same of such a chat
        flags = ("--temp", 0, "--max-tokens", 8)
        self.assertEqual(self.good(ask("What is a router?", "--template", file, *flags)).text,
                         self.good(ask("What is a router?", *flags)).text)


if __name__ == "__main__":
    harness.main()
