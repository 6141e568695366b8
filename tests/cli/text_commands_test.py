"""`freetoken tokenize`, `detokenize` and `render`: JSON lines in, JSON lines out, in order."""
import json

import harness
from harness import DEMO, SMALL, TOP, run

TEMPLATE = TOP / "models/train/chat_template.jinja"
SPM = SMALL / "mixtral-f32-spm/model.gguf"


def lines(*objects):
    return "".join((o if isinstance(o, str) else json.dumps(o)) + "\n" for o in objects)


class TextCommands(harness.Case):
    def tokenize(self, *objects, model=DEMO):
        return self.good(run("tokenize", model, stdin=lines(*objects))).lines()

    def detokenize(self, *objects, model=DEMO):
        return self.good(run("detokenize", model, stdin=lines(*objects))).lines()

    def test_round_trip(self):
        texts = ["Hello there!", "什么是混合专家模型？", "  spaces\n\n\ttabs ", "", "👩‍💻 é ñ \u0000 \x7f", "1234567", "<|im_end|>"]
        for model in (DEMO, SPM):
            ids = self.tokenize(*[{"text": t} for t in texts], model=model)
            self.assertEqual(len(ids), len(texts))
            back = self.detokenize(*[{"ids": i["ids"]} for i in ids], model=model)
            for text, got in zip(texts, back):
                with self.subTest(model=model.name, text=text):
                    self.assertEqual(got.get("text", got.get("hex")), text)

    def test_special_tokens_only_where_asked(self):
        plain, special = self.tokenize({"text": "<|im_end|>"}, {"text": "<|im_end|>", "special": True})
        self.assertEqual(special["ids"], [5119])
        self.assertGreater(len(plain["ids"]), 1)
        self.assertNotIn(5119, plain["ids"])
        hidden, shown = self.detokenize({"ids": [5119], "special": False}, {"ids": [5119]})
        self.assertEqual((hidden["text"], shown["text"]), ("", "<|im_end|>"))

    def test_bytes_that_are_no_text(self):
        (replaced, half) = self.tokenize({"hex": "ff41"}, {"text": "\U0001f469"})
        self.assertEqual(self.detokenize(replaced), [{"text": "\ufffdA"}])
        self.assertEqual(self.detokenize({"ids": half["ids"][:1]}), [{"hex": "f0"}])

    def test_bos_only_where_asked(self):
        plain, bos = self.tokenize({"text": "a"}, {"text": "a", "bos": True}, model=SPM)
        self.assertEqual(bos["ids"][1 : 1 + len(plain["ids"])], plain["ids"])
        self.assertEqual(self.tokenize({"text": "a", "bos": True})[0], self.tokenize({"text": "a"})[0])

    def test_a_bad_line_is_answered_in_its_place(self):
        got = self.tokenize({"text": "a"}, "not json", {"txt": "a"}, {"text": 3}, {"hex": "0g"}, {"text": "a"})
        self.assertEqual([sorted(g) for g in got], [["ids"]] + [["error"]] * 4 + [["ids"]])
        self.assertTrue(got[1]["error"].startswith("line 2: no JSON: at column 2: syntax error"), got[1])
        self.assertFalse([g for g in got if "exception" in str(g) or "line 1" in str(g)])
        got = self.detokenize({"ids": [1]}, {"ids": [5120]}, {"ids": [-1]}, {"ids": "1"}, {"ids": [2]})
        self.assertEqual(["error" in g for g in got], [False, True, True, True, False])

    def test_a_line_over_the_limit_is_answered_in_its_place(self):
        too_long = '{"text": "%s"}' % ("a" * (17 << 20))
        got = self.tokenize({"text": "a"}, too_long, {"text": "a"}, too_long)
        self.assertEqual([sorted(g) for g in got], [["ids"], ["error"], ["ids"], ["error"]])
        self.assertEqual(got[1]["error"], "line 2: the line has more than 16 MiB, the limit.")
        self.assertEqual(got[0], got[2])

    def test_a_long_text_is_quick(self):
        """1 MB, also of one letter; the time limit is generous, a quadratic tokenizer needs hours."""
        for text in ("a" * 2**20, "ab 12 " * 2**17, "专家" * 2**17):
            with self.subTest(text=text[:6]):
                r = self.good(run("tokenize", DEMO, stdin=lines({"text": text}), limit=60))
                self.assertIn("ids", r.lines()[0])

    def test_render(self):
        context = {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}
        want = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
        for source in (DEMO, TEMPLATE):
            with self.subTest(source=source.name):
                self.assertEqual(self.good(run("render", source, stdin=lines(context))).lines(), [{"text": want}])

    def test_render_errors(self):
        template = self.write("t.jinja", "{{ a + b.c }}{% if a > 5 %}{{ raise_exception('too large') }}{% endif %}")
        got = self.good(run("render", template, stdin=lines({"a": 1, "b": {"c": 2}}, "not json", [1], {"a": 6, "b": {"c": 1}}))).lines()
        self.assertEqual(got[0], {"text": "3"})
        self.assertEqual([sorted(g) for g in got[1:]], [["error"]] * 3)
        self.assertIn("too large", got[3]["error"])

    def test_render_has_a_clock(self):
        template = self.write("now.jinja", "{{ strftime_now('%Y-%m-%d %H:%M') }}")
        r = self.good(run("render", template, "--now", "2026-01-31T12:34:56", stdin=lines({})))
        self.assertEqual(r.lines(), [{"text": "2026-01-31 12:34"}])
        self.refused(run("render", template, "--now", "yesterday", stdin=lines({})), "--now", "yesterday")

    def test_render_is_bounded(self):
        for name, source in (("loop", "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}"),
                             ("depth", "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"),
                             ("memory", "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}")):
            with self.subTest(name=name):
                r = self.good(run("render", self.write(name + ".jinja", source), stdin=lines({}), limit=30))
                self.assertIn("error", r.lines()[0])


if __name__ == "__main__":
    harness.main()
