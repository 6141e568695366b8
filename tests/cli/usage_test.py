"""Help, version, settings, bench, resident memory."""
import pathlib
import re
import subprocess

import harness
from harness import DEMO, SMALL, ask, run

COMMANDS = ("pull", "list", "rm", "run", "show", "logits", "tokenize", "detokenize", "render", "perplexity", "bench")
MODEL = SMALL / "qwen3moe-q4km/model.gguf"


class Usage(harness.Case):
    def test_help_and_version(self):
        text = self.good(run("--help")).text
        for command in COMMANDS:
            self.assertIn(command, text)
            self.assertIn("Usage", self.good(run(command, "--help")).text)
        self.assertRegex(self.good(run("--version")).text, r"\d+\.\d+\.\d+")

    def test_help_is_80_columns_wide_and_ends_with_examples(self):
        for command in COMMANDS:
            lines = self.good(run(command, "--help")).text.splitlines()
            self.assertLessEqual(max(map(len, lines)), 80, command)
            self.assertTrue(any(line.startswith("Usage: freetoken %s " % command) for line in lines))
            self.assertIn("Examples:", lines[-5:])
        self.assertEqual(self.good(run("help", "run")).text, self.good(run("run", "--help")).text)

    def test_every_command_says_its_defaults_in_one_way(self):
        for command in re.findall(r"(?m)^  ([a-z]+) {3}", self.good(run("--help")).text):
            with self.subTest(command=command):
                text = self.good(run(command, "--help")).text
                self.assertNotRegex(text, r"\(\d[^()]*\)|\(default \d")
                self.assertNotRegex(text, r"(?m)^[A-Z][\w ]*:\n {10}")  # a description without a name before it
                self.assertIn("print this help", text)
        self.assertEqual(" ".join(self.good(run("perplexity", "--help")).text.split()).count("default: 512"), 1)

    def test_the_model_may_be_named_by_a_flag(self):
        for words in (("show", "--json"), ("perplexity", "--text", self.write("t.txt", "some words " * 40), "--ctx", 16)):
            with self.subTest(command=words[0]):
                model = DEMO if words[0] == "perplexity" else MODEL
                want = self.good(run(words[0], model, *words[1:])).text
                for flag in ("-m", "--model"):
                    self.assertEqual(self.good(run(words[0], flag, model, *words[1:])).text, want)
                self.refused(run(words[0], model, *words[1:], "-m", model), "given twice")
        got = self.good(run("bench", "-m", MODEL, "-p", 8, "-n", 4, "-r", 1, "-t", 1, "-c", 64, "--json")).json()
        self.assertEqual((got["timings"]["prompt_n"], got["timings"]["predicted_n"]), (8, 4))
        self.assertEqual((got["threads"], got["reps"]), (1, 1))

    def test_settings_are_given_and_shown_in_one_way_everywhere(self):
        """Whichever command takes --config takes --set and --print-config too, and what it prints is such a file."""
        config = self.write("config.yaml", "inference:\n  temperature: 0.25\n  system: \"a 'b' # \\u202e: 用\"\n  stop: [x, \"y\\n\"]\n")
        env = {"FREETOKEN_KV_CACHE_SINK_TOKENS": "3", "FREETOKEN_INFERENCE_TEMPERATURE": "0.125"}
        taking = []
        for command in re.findall(r"(?m)^  ([a-z]+) {3}", self.good(run("--help")).text):
            flags = re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", self.good(run(command, "--help")).text)
            of_settings = {"--config", "--set", "--print-config"} & set(flags)
            if not of_settings:
                continue
            taking.append(command)
            with self.subTest(command=command):
                self.assertEqual(len(of_settings), 3, of_settings)
                by_set = ("--set", "inference.top_k=7", "--set", "kv_cache.sink_tokens=5")
                first = self.good(run(command, "--config", config, *by_set, "--print-config", env=env)).text
                self.assertRegex(first, r"(?m)^model:$")
                for key, value, origin in (("temperature", "0.125", "FREETOKEN_"), ("top_k", "7", "--set"), ("stop", ".*", "config.yaml"),
                                           ("system", ".*", "config.yaml"), ("sink_tokens", "5", "--set")):
                    self.assertRegex(first, r"(?m)^  %s: %s  # .*%s" % (key, value, origin))
                again = self.good(run(command, "--config", self.write("again.yaml", first), "--print-config")).text
                self.assertEqual(plain(again), plain(first))
        self.assertTrue({"run", "serve", "batch", "plan", "bench", "pull", "list", "rm", "doctor"} <= set(taking), taking)

    def test_a_text_that_is_no_utf8(self):
        bad = "caf\udce9"  # the byte E9, as Python hands it to a program
        for words, env, place in ((("--system", bad), None, "--system"), (("--stop", "a", "--stop", bad), None, "--stop"),
                                  (("--set", "inference.system=" + bad), None, "--set inference.system"),
                                  ((), {"FREETOKEN_INFERENCE_SYSTEM": bad}, "FREETOKEN_INFERENCE_SYSTEM")):
            with self.subTest(place=place):
                self.refused(run("run", DEMO, "-p", "x", *words, env=env), place + " takes", "UTF-8", "caf\\xe9")

    def test_a_path_that_is_no_utf8_is_not_printed_as_another(self):
        bad = "m\udcff\udcfe.gguf"  # the bytes FF FE
        self.refused(run("run", bad, "--print-config"), "--print-config", "model.path", "UTF-8", "m\\xff\\xfe.gguf")

    def test_precedence_of_settings(self):
        config = self.write("precedence.yaml", "inference:\n  temperature: 0.25\n")
        variable = {"FREETOKEN_INFERENCE_TEMPERATURE": "0.75"}
        by_set, by_flag = ("--set", "inference.temperature=0.5"), ("--temp", "0.125")
        for flags, env, want in (((), None, None), (("--config", config), None, "0.25"), (("--config", config), variable, "0.75"),
                                 (("--config", config) + by_set, variable, "0.5"),
                                 (("--config", config) + by_set + by_flag, variable, "0.125")):
            with self.subTest(want=want):
                text = self.good(run("run", DEMO, "--print-config", *flags, env=env)).text
                self.assertRegex(text, r"(?m)^  temperature: " + (re.escape(want) + r"\b" if want else "auto .*else 0.7"))

    def test_tables_of_kernels(self):
        r = run("logits", MODEL, "--ids", SMALL / "qwen3moe-q4km/ids.txt", "-o", self.path("o"), env={"FREETOKEN_ISA": "mmx"})
        self.refused(r, "mmx", "scalar")

    def test_bench(self):
        hashes = set()
        for flags in (("--pp", 24, "--tg", 8), ("--pp", 24, "--tg", 8, "--threads", 1)):
            got = self.good(run("bench", MODEL, *flags, "--reps", 2, "--json")).json()
            flat = {**got, **got["timings"]}
            for key in ("prompt_ms", "prompt_per_second", "predicted_ms", "predicted_per_second", "ttft_ms", "load_ms",
                        "read_gb_per_second", "foreign_cpu"):
                self.assertIsInstance(flat[key], (int, float), key)
            self.assertEqual((flat["prompt_n"], flat["predicted_n"]), (24, 8))
            hashes.add(flat["logits_hash"])
        self.assertEqual(len(hashes), 1)
        only = self.good(run("bench", MODEL, "--pp", 0, "--tg", 4, "--depth", 8, "--warm", 2, "--reps", 1, "--json")).json()
        self.assertEqual((only["timings"]["prompt_n"], only["timings"]["predicted_n"]), (0, 4))
        short = self.good(run("bench", DEMO, "--pp", 0, "--tg", 900, "--limit", 0.02, "--reps", 1, "--json")).json()
        self.assertTrue(0 < short["timings"]["predicted_n"] < 900, short)
        text = self.good(run("bench", MODEL, "--pp", 8, "--tg", 0, "--reps", 1)).text
        self.assertRegex(text, r"peak memory \d+ MiB \(now \d+, and \d+ of mapped files\)")
        resident = only["resident_bytes"]
        self.assertGreater(resident["anonymous"], 0)
        self.assertLessEqual(resident["anonymous"] + resident["mapped_files"], only["peak_memory_bytes"] + (1 << 20))

    def test_perplexity(self):
        text = self.write("words.txt", "some words to score " * 40)
        line = self.good(run("perplexity", DEMO, "--text", text, "--ctx", 32)).text
        got = self.good(run("perplexity", DEMO, "--text", text, "--ctx", 32, "--json")).json()
        self.assertIn("perplexity: %.5f +/- %.5f" % (got["perplexity"], got["standard_error"]), line)
        self.assertEqual(got["scored"], got["chunks"] * 15)

    def test_bench_of_several_answers_at_once(self):
        got = self.good(run("bench", DEMO, "--parallel", "1,3", "--pp", 8, "--tg", 6, "--json")).json()
        self.assertEqual([each["parallel"] for each in got["parallel"]], [1, 3])
        for each in got["parallel"]:
            for key in ("ttft_ms", "predicted_per_second", "total_per_second", "prompt_per_second"):
                self.assertGreater(each[key], 0, key)
        self.refused(run("bench", DEMO, "--parallel", "0"), "--parallel")

    def test_bench_of_conversations(self):
        got = self.good(run("bench", DEMO, "--conversations", 6, "--pp", 200, "--json")).json()["conversations"]
        beside, reuse, mix = got["beside"], got["reuse"], got["mix"]
        self.assertTrue(0 < beside["gap_median_ms"] <= beside["gap_p99_ms"] <= beside["gap_most_ms"], beside)
        self.assertGreater(beside["prompt_per_second"], 0)
        self.assertGreater(beside["prompt_per_second_alone"], 0)
        self.assertGreater(reuse["cached_tokens"], 900)
        self.assertLess(reuse["ttft_ms"], reuse["ttft_ms_first"])
        self.assertGreater(mix["total_per_second"], 0)
        self.assertGreater(mix["full_per_second"], 0)
        text = self.good(run("bench", DEMO, "--conversations", 6, "--pp", 200)).text
        self.assertEqual([line.split()[0] for line in text.splitlines()], ["prompt", "beginning", "mix"])
        self.refused(run("bench", DEMO, "--conversations", "0"), "--conversations")
        some = self.good(run("bench", DEMO, "--conversations", 6, "--pp", 100, "--parts", "mix,reuse", "--json"))
        self.assertEqual(set(some.json()["conversations"]), {"reuse", "mix"})
        self.refused(run("bench", DEMO, "--conversations", 6, "--parts", "mixed"), "--parts", "mixed", "beside")
        self.refused(run("bench", DEMO, "--parts", "mix"), "--parts", "--conversations")

    def test_perplexity_refuses_what_it_cannot_score(self):
        self.refused(run("perplexity", DEMO, "--text", self.path("absent.txt")), "absent.txt")
        short = self.write("short.txt", "a few words only")
        self.refused(run("perplexity", DEMO, "--text", short, "--ctx", 512), "512", "short.txt")



class Install(harness.Case):
    def test_program_manual_and_completion_are_installed(self):
        built = pathlib.Path(harness.PROGRAM).parent
        done = subprocess.run(["cmake", "--install", built, "--prefix", self.folder], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        program = self.folder / "bin/freetoken"
        self.assertEqual(subprocess.run([program, "--version"], stdout=subprocess.PIPE).stdout, run("--version").out)
        for file in ("share/man/man1/freetoken.1", "share/bash-completion/completions/freetoken"):
            text = (self.folder / file).read_text()
            for command in COMMANDS:
                self.assertIn(command, text)


def plain(text):
    """The keys and values, without comments."""
    return [re.sub(r"\s+#.*", "", line) for line in text.splitlines() if not line.startswith("#")]


if __name__ == "__main__":
    harness.main()
