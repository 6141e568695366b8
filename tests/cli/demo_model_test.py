"""The bundled model: recorded answers, perplexity, and the built-in question of scripts/run.

With FREETOKEN_TEST_DATA the Q8_0 file answers all of its prompts, too.
"""
import json
import re

import harness
from harness import DEMO, TOP, run

GOLDENS = TOP / "tests/goldens/demo"
GREEDY = ("--raw", "--temp", 0, "--repeat-penalty", 1, "--max-tokens", 220)
SHARE = 0.97  # of the answers must be the recorded ones


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

    def check_perplexity(self, model, want):
        r = self.good(run("perplexity", model, "--text", GOLDENS / "valid-plain.txt", "--ctx", 512, limit=600))
        got = float(re.search(r"perplexity: ([0-9.]+)", r.text).group(1))
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

    def test_the_question_of_scripts_run(self):
        script = (TOP / "scripts/run").read_text()
        question = re.search(r"^question='(.*)'$", script, re.M).group(1)
        self.assertIn("--temp 0 --repeat-penalty 1", script)
        want = next(p["answer"] for p in prompts() if p["question"] == question)
        r = self.good(harness.ask(question, "--temp", 0, "--repeat-penalty", 1))
        self.assertEqual(r.text.strip(), want)


if __name__ == "__main__":
    harness.main()
