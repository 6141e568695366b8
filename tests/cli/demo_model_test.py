"""The bundled model: recorded answers, perplexity, and the built-in question of scripts/run.

With FREETOKEN_TEST_DATA the Q8_0 file answers all of its prompts, too, and is asked what int8 and int4 keys and values cost.
"""
import json
import re

import harness
from harness import DEMO, TOP, run

GOLDENS = TOP / "tests/goldens/demo"
GREEDY = ("--raw", "--temp", 0, "--repeat-penalty", 1, "--max-tokens", 220)
SHARE = 0.97  # of the answers must be the recorded ones
INT8_SHARE = 0.9  # of the answers are the same with int8 keys and values as with f16


def prompts():
    with open(GOLDENS / "prompts.jsonl", encoding="utf-8") as f:
        return [p for p in map(json.loads, f) if not p.get("close")]


class DemoModel(harness.Case):
    def check_answers(self, model, lines):
        wrong = []
        for line in lines:
            got = self.good(run("run", model, "-p", line["prompt"], *GREEDY)).text.strip()
            if got != line["answer"]:
                wrong.append("%s\n  got  %s\n  want %s" % (line["question"], got, line["answer"]))
        self.assertGreaterEqual(len(lines) - len(wrong), SHARE * len(lines), "\n".join(wrong[:3]))

    def perplexity(self, model, *flags):
        r = self.good(run("perplexity", model, "--text", GOLDENS / "valid-plain.txt", "--ctx", 512, *flags, limit=600))
        return float(re.search(r"perplexity: ([0-9.]+)", r.text).group(1))

    def check_int8_answers(self, model, lines):
        """Greedy answers with int8 keys and values are those with f16."""
        body = {"temperature": 0, "repetition_penalty": 1, "max_tokens": 220}
        asked = [{"custom_id": str(i), "url": "/v1/completions", "body": dict(body, prompt=line["prompt"])}
                 for i, line in enumerate(lines)]
        said = {}
        path = self.write("asked.jsonl", "".join(json.dumps(a) + "\n" for a in asked))
        for quant in ("f16", "int8"):
            out = self.path("%s-%s.jsonl" % (model.stem, quant))
            self.good(run("batch", path, "-o", out, "--model", model, "--set", "kv_cache.quant=" + quant, limit=600))
            with open(out, encoding="utf-8") as f:
                said[quant] = {o["custom_id"]: o["response"]["body"]["choices"][0]["text"] for o in map(json.loads, f)}
        self.assertEqual(len(said["f16"]), len(lines))
        same = [i for i in said["f16"] if said["int8"][i] == said["f16"][i]]
        self.assertGreaterEqual(len(same), INT8_SHARE * len(lines))

    def check_perplexity(self, model, want):
        got = self.perplexity(model)
        self.assertLessEqual(abs(got / want - 1), 0.002, "perplexity %g, recorded %g" % (got, want))

    def test_60_answers(self):
        lines = [p for p in prompts() if p["same_answer"]["q4_k_m"]]
        self.check_answers(DEMO, lines[:: len(lines) // 60][:60])

    def test_perplexity(self):
        self.check_perplexity(DEMO, 1.5060)

    def test_q8_0_answers(self):
        self.check_answers(harness.test_data("demo-model/freetoken-demo-q8_0.gguf"), prompts())

    def test_q8_0_perplexity(self):
        self.check_perplexity(harness.test_data("demo-model/freetoken-demo-q8_0.gguf"), 1.5029)

    def test_int8_answers(self):
        self.check_int8_answers(DEMO, prompts()[::4])

    def test_q8_0_int8_answers(self):
        self.check_int8_answers(harness.test_data("demo-model/freetoken-demo-q8_0.gguf"), prompts())

    def test_q8_0_perplexity_with_int8_and_int4_keys_and_values(self):
        model = harness.test_data("demo-model/freetoken-demo-q8_0.gguf")
        f16 = self.perplexity(model)
        for quant, most in (("int8", 0.001), ("int4", 0.005)):
            got = self.perplexity(model, "--set", "kv_cache.quant=" + quant)
            self.assertLessEqual(abs(got / f16 - 1), most, "%s: perplexity %g, f16 %g" % (quant, got, f16))

    def test_the_question_of_scripts_run(self):
        script = (TOP / "scripts/run").read_text()
        question = re.search(r"^question='(.*)'$", script, re.M).group(1)
        self.assertIn("--temp 0 --repeat-penalty 1", script)
        want = next(p["answer"] for p in prompts() if p["question"] == question)
        r = self.good(harness.ask(question, "--temp", 0, "--repeat-penalty", 1))
        self.assertEqual(r.text.strip(), want)


if __name__ == "__main__":
    harness.main()
