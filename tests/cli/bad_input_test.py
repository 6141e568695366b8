"""What is wrong with a file or a flag is said in one sentence that names it, with exit status 2."""
import json
import os
import re
import struct

import harness
from harness import DEMO, SMALL, ask, gguf_io, run

MODEL = SMALL / "qwen3moe-q4km/model.gguf"
IDS = SMALL / "qwen3moe-q4km/ids.txt"


class BadInput(harness.Case):
    def check_model(self, name, content, *words):
        """`logits` refuses the file, names it, and leaves no output behind."""
        path, out = self.write(name + ".gguf", content), self.path(name + ".f32")
        r = run("logits", path, "--ids", IDS, "-o", out, limit=20)
        self.refused(r, path.name, *words)
        self.assertFalse(out.exists())

    def test_no_such_file(self):
        for command in (("show",), ("run", "-p", "x"), ("logits", "--ids", IDS, "-o", self.path("o")),
                        ("perplexity", "--text", IDS), ("bench",), ("tokenize",)):
            with self.subTest(command=command[0]):
                self.refused(run(command[0], self.path("absent.gguf"), *command[1:]), "absent.gguf")

    def test_places_that_are_no_files(self):
        os.mkfifo(self.path("pipe.gguf"))
        (self.folder / "folder.gguf").mkdir()
        os.symlink("/nowhere/model.gguf", self.path("link.gguf"))
        self.write("empty.gguf", b"")
        for name in ("pipe.gguf", "folder.gguf", "link.gguf", "empty.gguf"):
            with self.subTest(name=name):
                self.refused(run("show", self.path(name), limit=20), name)

    def test_foreign_and_future_files(self):
        raw = MODEL.read_bytes()
        for name, content, word in (
            ("text", b"# not a model\n" * 100, "gguf"),
            ("zip", b"PK\x03\x04" + raw[4:4096], "gguf"),
            ("version-1", raw[:4] + struct.pack("<I", 1) + raw[8:], "version"),
            ("version-4", raw[:4] + struct.pack("<I", 4) + raw[8:], "version"),
            ("big-endian", raw[:4] + struct.pack(">I", 3) + raw[8:], "endian"),
        ):
            with self.subTest(name=name):
                self.check_model(name, content, word)

    def test_cut_files(self):
        raw = MODEL.read_bytes()
        for at in [5, 30, 1000, 6000, len(raw) // 3, len(raw) - 4096]:
            with self.subTest(at=at):
                self.check_model("cut-%d" % at, raw[:at])

    def test_a_missing_part_of_a_split_model(self):
        source = SMALL / "qwen3moe-split-bf16"
        parts = sorted(source.glob("*.gguf"))
        first = self.write(parts[0].name, parts[0].read_bytes())
        self.refused(run("show", first), parts[1].name)
        self.write(parts[1].name, parts[1].read_bytes()[:2000])
        self.refused(run("logits", first, "--ids", IDS, "-o", self.path("o")), parts[1].name)

    def test_an_architecture_that_is_not_known(self):
        content = MODEL.read_bytes().replace(b"qwen3moe", b"mamba9ab")
        self.check_model("foreign", content, "mamba9ab", "qwen35moe")

    def test_weights_that_are_not_finite(self):
        tensors, metadata = harness.contents(DEMO)
        for name, value in (("nan", float("nan")), ("infinite", float("inf"))):
            broken = [(n, shape, kind, struct.pack("<f", value) * (len(raw) // 4) if n == "output_norm.weight" else raw)
                      for n, shape, kind, raw in tensors]
            path = self.path(name + "-weights.gguf")
            harness.write_gguf(path, None, broken, metadata)
            with self.subTest(name=name):
                for flags in (("--temp", 0), ("--temp", 1), ("--json",)):
                    self.refused(ask("hello", "--max-tokens", 4, *flags, model=path), path.name, "not finite", "router")
                text = self.write("text.txt", "some words to score " * 8)
                self.refused(run("perplexity", path, "--text", text, "--ctx", 16), path.name, "not finite")

    def test_text_of_a_file_that_a_terminal_would_obey(self):
        evil = "m\x1b[2J\u009b31m\u202e\u2066x"
        tensors, metadata = harness.contents(DEMO)
        metadata = [(k, evil if k == "general.name" else v, kind) for k, v, kind in metadata]
        path = self.path("evil.gguf")
        harness.write_gguf(path, None, tensors, metadata)
        config = self.write("evil.yaml", "model:\n  path: \"\\u009b\\u202e\"\n")
        shown = [self.good(run("show", path)).text, self.good(run("show", path, "--json")).text,
                 self.good(ask("hello", "--max-tokens", 1, "--json", model=path)).text,
                 self.good(run("tokenize", path, stdin='{"text": 1, "\u009b\u202e": 2}\n\u009b\u202e{\n')).text,
                 self.good(run("run", "--config", config, "--print-config")).text,
                 run("show", self.path("\u009b\u202e.gguf")).err]
        for text in shown:
            with self.subTest(text=text[:60]):
                self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
        self.assertIn("\\u009b31m\\u202e", shown[0])
        self.assertEqual(json.loads(shown[1])["name"], evil)
        self.assertEqual(json.loads(shown[2])["model"], evil)
        again = self.good(run("run", "--config", self.write("again.yaml", shown[4]), "--print-config")).text
        values = [re.sub(r"  # .*", "", text) for text in (again, shown[4])]  # less the places that they are from
        self.assertEqual(*values)

    def test_no_chat_template(self):
        self.refused(ask("hello", "--max-tokens", 2, model=MODEL), "template", "--raw")

    def test_no_vocabulary(self):
        path = self.write("no-vocabulary.gguf", MODEL.read_bytes().replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.nothin"))
        self.refused(ask("hello", "--raw", model=path), "tokenizer.ggml.tokens")

    def test_prompt_longer_than_the_context(self):
        self.refused(ask("one two three four " * 60, "--raw", "--ctx", 64), "context", "64")
        self.refused(ask("one two three four " * 60, "--ctx", 64), "context", "64")

    def test_context_beyond_the_model(self):
        self.refused(ask("x", "--ctx", 10**9), "context", "1024")

    def test_a_flag_that_is_missing_is_named_with_its_command(self):
        for words, missing in ((("trace", MODEL, "-o", "t"), "-p TEXT"), (("trace", MODEL, "-p", "x"), "-o TRACE"),
                               (("logits", MODEL, "-o", "t"), "--ids FILE"), (("perplexity", MODEL), "--text FILE")):
            with self.subTest(words=words):
                self.refused(run(*words), "%s: %s is needed" % (words[0], missing), "freetoken %s --help" % words[0])

    def test_an_address_is_refused_where_only_plan_reads_one(self):
        url = "http://127.0.0.1:9/model.gguf"
        for words in (("run", url, "-p", "x"), ("doctor", url), ("show", url), ("logits", url, "--ids", "x", "-o", "y"),
                      ("tokenize", url), ("serve", "--model", url)):
            with self.subTest(words=words):
                self.refused(run(*words), url, "freetoken pull " + url, "`plan`")

    def test_unknown_flags_and_commands(self):
        for words, nearest in (
            (("run", DEMO, "--tempp", 0), "--temp"),
            (("logits", MODEL, "--thraeds", 2), "--threads"),
            (("show", MODEL, "--jsn"), "--json"),
            (("bench", MODEL, "--dept", 3), "--depth"),
            (("shwo", MODEL), "show"),
        ):
            with self.subTest(words=words[1:]):
                self.refused(run(*words), nearest)

    def test_values_out_of_range(self):
        for flag, value in (("--temp", -1), ("--temp", "hot"), ("--top-p", 1.5), ("--max-tokens", -5), ("--ctx", -1),
                            ("--threads", "many"), ("--repeat-penalty", 0), ("--min-p", 2), ("--think", "maybe")):
            with self.subTest(flag=flag, value=value):
                self.refused(ask("x", flag, value), flag)

    def test_unknown_settings(self):
        self.refused(ask("x", "--set", "inference.temperatur=1"), "mean temperature")
        config = self.write("config.yaml", "inference:\n  temperature: 0.5\n  min_q: 0.9\n")
        self.refused(ask("x", "--config", config), "config.yaml", "3", "min_p")

    def test_not_enough_memory_is_said_before_reading(self):
        """A well-formed model whose experts take some 200 GB, in a sparse file."""
        tensors, metadata = harness.contents(SMALL / "qwen3moe-f32/model.gguf")
        width, path = 1 << 24, self.path("huge.gguf")
        w = gguf_io.GGUFWriter(str(path))
        for key, value, kind in metadata:
            w.meta(key, width if key == "qwen3moe.expert_feed_forward_length" else value, kind)
        offset = 0
        for name, shape, kind, _ in tensors:
            if "_exps." in name:
                shape = (width, *shape[1:]) if "down" in name else (shape[0], width, shape[2])
            w.tensor(name, shape, kind)
            offset += gguf_io.pad(gguf_io.nbytes(shape, kind))
        w.begin()
        with open(path, "wb") as f:
            f.write(w._heads[0])
            f.truncate(len(w._heads[0]) + offset)
        self.refused(run("logits", path, "--ids", IDS, "-o", self.path("o"), limit=20), "memory", "huge.gguf", "GiB")

    def test_outputs_that_cannot_be_written(self):
        for target in (self.folder, self.path("absent/out.f32"), "/dev/full"):
            with self.subTest(target=str(target)):
                self.refused(run("logits", MODEL, "--ids", IDS, "-o", target), os.path.basename(str(target)))

    def test_an_older_output_survives_a_failure(self):
        out = self.write("old.f32", b"old")
        self.refused(run("logits", self.write("cut.gguf", MODEL.read_bytes()[:5000]), "--ids", IDS, "-o", out), "cut.gguf")
        self.assertEqual(out.read_bytes(), b"old")

    def test_ids_that_are_none(self):
        for name, content, word in (("ids-a.txt", "1 2 x", "x"), ("ids-b.txt", "1 300", "300"), ("ids-c.txt", "", "ids-c"),
                                    ("ids-d.txt", "-1", "-1")):
            with self.subTest(content=content):
                r = run("logits", MODEL, "--ids", self.write(name, content), "-o", self.path("o"))
                self.refused(r, word)


if __name__ == "__main__":
    harness.main()
