"""`freetoken run` without a terminal: one answer by -p or by piped input."""
import json
import signal
import subprocess
import time

import harness
from harness import DEMO, PROGRAM, ask, environment, run

QUESTION = "What is a mixture-of-experts model?"
GREEDY = ("--temp", 0)


class RunCommand(harness.Case):
    def test_an_answer_and_its_statistics(self):
        r = self.good(ask(QUESTION, *GREEDY, "--max-tokens", 24))
        self.assertTrue(r.text.strip())
        self.assertNotIn("\x1b", r.text)
        self.assertEqual(len([l for l in r.err.splitlines() if "tok/s" in l]), 1, r.err)
        self.assertRegex(r.err, r"prompt \d+ tokens.*first token.*answer \d+ tokens.*GB/s")

    def test_piped_input_is_one_prompt(self):
        want = self.good(ask(QUESTION, *GREEDY, "--max-tokens", 16)).text
        for end in ("", "\n", "\n\n"):
            with self.subTest(end=end):
                self.assertEqual(self.good(run("run", DEMO, *GREEDY, "--max-tokens", 16, stdin=QUESTION + end)).text, want)

    def test_the_prompt_may_be_an_argument(self):
        flags = (*GREEDY, "--max-tokens", 8)
        want = self.good(ask(QUESTION, *flags)).text
        self.assertEqual(self.good(run("run", DEMO, QUESTION, *flags)).text, want)
        self.assertEqual(self.good(run("run", DEMO, "-", *flags, stdin=QUESTION)).text, want)

    def test_the_model_may_be_named_by_a_flag_and_flags_of_llama_cpp_work(self):
        want = self.good(ask(QUESTION, *GREEDY, "--max-tokens", 8)).text
        for words in (("-m", DEMO, QUESTION), (QUESTION, "--model", DEMO), ("-m", DEMO, "-p", QUESTION)):
            with self.subTest(words=[str(w) for w in words]):
                self.assertEqual(self.good(run("run", *words, *GREEDY, "-n", 8, "-t", 1, "-c", 256)).text, want)
        r = self.good(run("run", "-m", DEMO, "-p", QUESTION, *GREEDY, "-n", 8, "-ngl", 99))
        self.assertIn("-ngl changes nothing", r.err)
        ours = ("--color", "--single-turn", "--num-ctx", 512, "--keepalive", "5m", "-e", "--verbose")
        r = self.good(run("run", "-m", DEMO, "-p", QUESTION, *GREEDY, "-n", 4, *ours))
        for flag in ("--color", "--single-turn", "--keepalive", "-e"):
            self.assertIn(f"[flags] {flag} changes nothing: ", r.err)
        self.assertIn("[stats] all weights are in RAM", r.err)  # Ollama's --verbose is --stats
        r = run("run", "-m", DEMO, "-p", QUESTION, "--format", "json")
        self.refused(r, "--format", """--json-schema '{"type": "object"}'""")
        self.refused(run("run", DEMO, "-m", DEMO, "a", "b"), "argument")

    def test_figures_are_said_as_asked(self):
        flags = (*GREEDY, "--max-tokens", 8)
        want = self.good(ask(QUESTION, *flags)).text
        for flag in ("-q", "--quiet"):
            r = self.good(ask(QUESTION, *flags, flag))
            self.assertEqual((r.text, r.err), (want, ""))
        more = self.good(ask(QUESTION, *flags, "--stats"))
        self.assertIn("[stats] prompt", more.err)
        self.assertIn("in RAM", more.err)
        self.assertEqual(more.text, want)
        self.refused(ask(QUESTION, "--stats", "--quiet"), "--quiet", "--stats")

    def test_a_printed_configuration_is_no_reason_for_notes(self):
        config = self.path("printed.yaml")
        config.write_bytes(self.good(run("run", DEMO, "--print-config")).out)
        r = self.good(run("run", "--config", config, "-p", QUESTION, *GREEDY, "--max-tokens", 4))
        self.assertNotIn("[kv]", r.err)
        self.assertNotIn("[mem]", r.err)
        without_effect = ("--set", "kv_cache.sink_tokens=8", "--set", "memory.gpu_vram_budget=1")
        said = self.good(ask(QUESTION, *GREEDY, "--max-tokens", 4, *without_effect)).err
        self.assertIn("[kv] kv_cache.sink_tokens changes nothing", said)
        self.assertIn("[mem] memory.gpu_vram_budget has no effect", said)
        self.assertEqual(self.good(ask(QUESTION, *GREEDY, "--max-tokens", 4, *without_effect, "-q")).err, "")

    def test_piped_input_beside_a_prompt_is_not_left_out_silently(self):
        flags = (*GREEDY, "--max-tokens", 1)
        self.assertIn("standard input is not read", self.good(ask(QUESTION, *flags, stdin="more")).err)
        self.assertNotIn("standard input", self.good(ask(QUESTION, *flags)).err)

    SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"},
                                               "kind": {"enum": ["dense", "sparse"]}},
              "required": ["name", "age", "kind"], "additionalProperties": False}

    def test_answers_of_a_schema(self):
        path = self.write("schema.json", json.dumps(self.SCHEMA))
        for flags in ((*GREEDY,), ("--temp", 1.4, "--seed", 1), ("--temp", 1.4, "--seed", 2, "--raw")):
            with self.subTest(flags=flags):
                got = self.good(ask(QUESTION, *flags, "--json-schema", path, "--max-tokens", 300, "--json")).json()
                value = json.loads(got["text"])
                self.assertEqual(list(value), ["name", "age", "kind"])
                self.assertLessEqual(len(value["name"]), 12)
                self.assertIs(type(value["age"]), int)
                self.assertIn(value["kind"], ("dense", "sparse"))
                self.assertEqual(got["finish_reason"], "stop")

    def test_answers_of_a_grammar(self):
        path = self.write("answer.gbnf", 'root ::= ("yes" | "no") ", " [a-z]{3,8} "."  # nothing else\n')
        for seed in range(3):
            got = self.good(ask(QUESTION, "--temp", 1.3, "--seed", seed, "--grammar", path)).text.strip()
            self.assertRegex(got, r"^(yes|no), [a-z]{3,8}\.$")

    def test_a_grammar_or_schema_as_it_is_typed(self):
        for flags in (("--grammar", 'root ::= "yes" | "no"'), ("--grammar", 'root ::= a\na ::= "yes" | "no"'),
                      ("--json-schema", ' {"enum": ["yes", "no"]}')):
            with self.subTest(flags=flags):
                got = self.good(ask(QUESTION, "--temp", 1.3, "--seed", 1, *flags)).text.strip()
                self.assertIn(got, ("yes", "no", '"yes"', '"no"'))
        self.refused(ask(QUESTION, "--grammar", "root ::= other"), "--grammar: ", '"other"')
        self.refused(ask(QUESTION, "--json-schema", '{"not": {}}'), "--json-schema: ", '"not"')
        self.refused(run("serve", DEMO, "--chat-template", "chatml"), "--chat-template (here --template): chatml")

    def test_a_question_where_settings_name_the_model(self):
        config = self.write("model.yaml", "model:\n  path: %s\n" % DEMO)
        for r in (run("run", "--config", config, "What is an expert?"),
                  run("run", "What is an expert?", env={"FREETOKEN_MODEL_PATH": str(DEMO)})):
            self.refused(r, "What is an expert?: no file", "-p \"What is an expert?\"")
        without = run("run", "What is an expert?")
        self.refused(without, "no file")
        self.assertNotIn("-p", without.err)

    def test_grammars_and_schemas_that_cannot_be_are_refused_before_the_weights(self):
        for flag, text, says in (("--grammar", "root ::= other", '"other"'), ("--grammar", 'root ::= "a', "line 1"),
                                 ("--json-schema", '{"not": {}}', '"not"'), ("--json-schema", "{", "no JSON"),
                                 ("--json-schema", "7", "no schema")):
            with self.subTest(text=text):
                r = ask(QUESTION, flag, self.write("bad", text))
                self.refused(r, says)
                self.assertIn("bad", r.err)
        self.refused(ask(QUESTION, "--grammar", self.path("none")), "none")
        both = self.write("both", "{}")
        self.refused(ask(QUESTION, "--grammar", both, "--json-schema", both), "at once")

    def test_raw_is_the_continuation_alone(self):
        flags = ("--raw", *GREEDY, "--max-tokens", 12)
        want = self.good(ask("The expert", *flags, "--json")).json()["text"]
        self.assertIn(self.good(ask("The expert", *flags)).text, (want, want + "\n"))

    def test_raw_parses_special_tokens(self):
        n = [self.good(ask(p, "--raw", "--max-tokens", 1, "--json")).json()["timings"]["prompt_n"]
             for p in ("<|im_end|>", "<|im_end|><|im_end|><|im_end|>")]
        self.assertEqual(n, [1, 3])

    def test_json(self):
        got = self.good(ask(QUESTION, *GREEDY, "--max-tokens", 8, "--json")).json()
        self.assertEqual(got["finish_reason"], "length")
        self.assertIsInstance(got["text"], str)
        for key in ("prompt_n", "prompt_ms", "prompt_per_second", "predicted_n", "predicted_ms", "predicted_per_second"):
            self.assertIsInstance(got["timings"][key], (int, float), key)
        flat = {**got, **got["timings"]}
        for key in ("ttft_ms", "load_ms", "read_gb_per_second", "logits_hash", "foreign_cpu", "seed"):
            self.assertIn(key, flat)
        self.assertEqual(got["timings"]["predicted_n"], 8)
        self.assertEqual(self.good(ask(QUESTION, *GREEDY, "--json")).json()["finish_reason"], "stop")

    def test_seeds(self):
        flags = ("--temp", 3, "--top-p", 1, "--max-tokens", 24, "--seed")
        first = self.good(ask(QUESTION, *flags, 7)).text
        self.assertEqual(self.good(ask(QUESTION, *flags, 7, "--threads", 3)).text, first)
        self.assertNotEqual(self.good(ask(QUESTION, *flags, 8)).text, first)

    def test_a_shown_seed_repeats_the_answer(self):
        flags = ("--temp", 3, "--top-p", 1, "--max-tokens", 24, "--json")
        got = self.good(ask(QUESTION, *flags)).json()
        seed = {**got, **got["timings"]}["seed"]
        self.assertEqual(self.good(ask(QUESTION, *flags, "--seed", seed)).json()["text"], got["text"])

    def test_greedy_does_not_depend_on_seed_or_threads(self):
        want = self.good(ask(QUESTION, *GREEDY, "--max-tokens", 32)).text
        for flags in (("--seed", 5), ("--threads", 1), ("--top-k", 1), ("--set", "inference.temperature=0")):
            with self.subTest(flags=flags):
                self.assertEqual(self.good(ask(QUESTION, *GREEDY, "--max-tokens", 32, *flags)).text, want)

    def test_system_text_and_template_file(self):
        count = lambda *f: self.good(ask("x", "--max-tokens", 1, "--json", *f)).json()["timings"]["prompt_n"]
        self.assertGreater(count("--system", "You answer in few words."), count() + 5)
        template = self.write("plain.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}")
        flags = (*GREEDY, "--max-tokens", 8)
        self.assertEqual(self.good(ask("The expert", "--template", template, *flags)).text.strip(),
                         self.good(ask("The expert", "--raw", *flags)).text.strip())
        broken = self.write("broken.jinja", "{% for m in messages %}")
        self.refused(ask("x", "--template", broken), "broken.jinja")

    def test_the_context_ends_the_answer(self):
        r = self.good(ask("The expert", "--raw", "--temp", 1.5, "--seed", 3, "--ctx", 24, "--ignore-eos", "--json"))
        got = r.json()
        self.assertEqual(got["finish_reason"], "length")
        self.assertEqual(got["timings"]["prompt_n"] + got["timings"]["predicted_n"], 24, r.err)
        self.assertIn("--ctx", r.err)

    def test_text_of_any_kind(self):
        for prompt in ("用一句话解释什么是混合专家模型。", "👩‍💻 \x00", "%s {{ x }} <|im_start|>"):
            if "\x00" not in prompt:
                with self.subTest(prompt=prompt):
                    self.good(ask(prompt, *GREEDY, "--max-tokens", 16)).text
        self.good(run("run", DEMO, *GREEDY, "--max-tokens", 8, stdin=b"bytes \xff\xfe \x00 that are no text")).text

    def test_ctrl_c_ends_an_answer(self):
        child = subprocess.Popen([PROGRAM, "run", str(DEMO), "-p", "Tell a story.", "--temp", "1.8", "--raw"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        child.stdout.read(1)
        child.send_signal(signal.SIGINT)
        begin = time.monotonic()
        child.communicate(timeout=20)
        self.assertIn(child.returncode, (0, 130))
        self.assertLess(time.monotonic() - begin, 5)

    def test_an_output_that_goes_away(self):
        """`freetoken run … | head -c 1` ends without a crash."""
        child = subprocess.Popen([PROGRAM, "run", str(DEMO), "-p", QUESTION, "--temp", "0"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=environment())
        child.stdout.close()
        _, err = child.stderr.read(), child.wait(timeout=60)
        self.assertIn(err, (0, 1, 2, 141, -signal.SIGPIPE))


if __name__ == "__main__":
    harness.main()
