"""Files, streams and limits: what a command reads and writes besides the model, and what the system refuses."""
import fcntl
import os
import pathlib
import resource
import struct
import subprocess
import threading
import time
import unittest

import harness
from harness import DEMO, PROGRAM, SMALL, run

MODEL = SMALL / "qwen3moe-q4km/model.gguf"
IDS = SMALL / "qwen3moe-q4km/ids.txt"


def start(*args, **how):
    """A run with streams and limits of its own -> (exit status, standard error)"""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    # a search for leaks needs descriptors and threads that these runs do not have
    env = harness.environment({"ASAN_OPTIONS": "detect_leaks=0"})
    done = subprocess.run([PROGRAM] + [str(a) for a in args], env=env, timeout=60, **how)
    return done.returncode, done.stderr.decode()


def limit(which, soft, hard=None):
    return lambda: resource.setrlimit(which, (soft, soft if hard is None else hard))


class Inputs(harness.Case):
    def test_places_that_are_no_texts(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        for place, word in ((self.folder, "folder"), (pipe, "pipe"), ("/dev/zero", "limit"), ("/proc/self/mem", "cannot read"),
                            (self.path("absent"), "No such file")):
            for args in (("logits", MODEL, "--ids", place, "-o", self.path("o")), ("perplexity", DEMO, "--text", place),
                         ("run", DEMO, "-p", "x", "--template", place), ("show", place),
                         ("run", DEMO, "-p", "x", "--config", place), ("render", place)):
                with self.subTest(place=str(place), command=args[0], flag=str(args[2:3])):
                    r = run(*args, limit=30)
                    self.refused(r, os.path.basename(str(place)))
                    if args[0] in ("logits", "perplexity"):
                        self.assertIn(word, r.err)

    def test_a_pipe_with_a_writer(self):
        """Ids through a pipe give the logits that ids from a file give."""
        pipe = self.path("ids-pipe")
        os.mkfifo(pipe)
        hold = os.open(pipe, os.O_RDWR)
        writer = threading.Thread(target=lambda: (os.write(hold, IDS.read_bytes()), time.sleep(0.5), os.close(hold)))
        writer.start()
        self.good(run("logits", MODEL, "--ids", pipe, "-o", self.path("a.f32")))
        writer.join()
        self.good(run("logits", MODEL, "--ids", IDS, "-o", self.path("b.f32")))
        self.assertEqual(self.path("a.f32").read_bytes(), self.path("b.f32").read_bytes())

    def test_standard_input_that_cannot_be_read(self):
        fd = os.open(self.folder, os.O_RDONLY)
        for args in (("tokenize", MODEL), ("run", DEMO)):
            with self.subTest(args=args[0]):
                rc, err = start(*args, stdin=fd)
                self.assertEqual(rc, 2, err)
                self.assertIn("standard input", err)
        os.close(fd)

    def test_endless_standard_input(self):
        with open("/dev/zero", "rb") as zero:
            for args in (("tokenize", MODEL), ("run", DEMO)):
                with self.subTest(args=args[0]):
                    rc, err = start(*args, stdin=zero)
                    self.assertEqual(rc, 2, err)
                    self.assertIn("16 MiB", err)

    def test_lines_that_are_nested_without_end(self):
        deep = '{"a":' * 200000 + "1" + "}" * 200000
        lists = '{"ids":' + "[" * 300000
        for args in (("render", self.write("t.jinja", "{{ a }}")), ("tokenize", MODEL), ("detokenize", MODEL)):
            with self.subTest(command=args[0]):
                lines = self.good(run(*args, stdin="\n".join([deep, lists, "{}"]))).lines()
                self.assertEqual(len(lines), 3)
                for line in lines[:2]:
                    self.assertIn("nested", line["error"])

    def test_the_model_is_looked_at_before_standard_input(self):
        read, write = os.pipe()
        rc, err = start("run", self.path("absent.gguf"), stdin=read)
        os.close(read)
        os.close(write)
        self.assertEqual(rc, 2)
        self.assertIn("absent.gguf", err)


class Outputs(harness.Case):
    def logits(self, *flags, **how):
        return start("logits", MODEL, "--ids", IDS, *flags, **how)

    def test_a_redirected_stdout_keeps_what_was_written_before(self):
        self.good(run("logits", MODEL, "--ids", IDS, "-o", self.path("plain.f32")))
        for target in ("/dev/stdout", "/proc/self/fd/1"):
            with self.subTest(target=target), open(self.path("all"), "wb") as out:
                out.write(b"before")
                out.flush()
                self.assertEqual(self.logits("-o", target, stdout=out)[0], 0)
            self.assertEqual(self.path("all").read_bytes(), b"before" + self.path("plain.f32").read_bytes())

    def test_a_pipe_that_nobody_reads(self):
        os.mkfifo(self.path("pipe"))
        for flags in (("-o", self.path("pipe")), ("-o", self.path("o"), "--routes", self.path("pipe"))):
            rc, err = self.logits(*flags)
            self.assertEqual(rc, 2, err)
            self.assertIn("Nobody reads", err)
        self.assertFalse(self.path("o").exists())

    def test_no_output_replaces_an_input_or_the_other_output(self):
        model, ids = self.write("m.gguf", MODEL.read_bytes()), self.write("ids.txt", IDS.read_bytes())
        config = self.write("c.yaml", "inference:\n  threads: 1\n")
        link = self.path("link.txt")
        os.symlink(ids, link)
        base = ("logits", model, "--ids", ids, "--config", config)
        for flags, word in ((("-o", model), "the model"), (("-o", ids), "--ids"), (("-o", link), "--ids"),
                            (("-o", config), "--config"), (("-o", self.path("n"), "--routes", self.path("n")), "--routes"),
                            (("-o", self.path("n"), "--routes", model), "the model")):
            with self.subTest(flags=[str(f) for f in flags]):
                self.refused(run(*base, *flags), word, "same file")
        self.refused(run("show", model, "--tensor", "output_norm.weight", "-o", model), "the model")
        self.assertEqual((model.read_bytes(), ids.read_bytes()), (MODEL.read_bytes(), IDS.read_bytes()))
        self.assertFalse(self.path("n").exists())

    def test_both_outputs_or_none(self):
        out = self.path("logits.f32")
        rc, err = self.logits("-o", out, "--routes", "/dev/full")
        self.assertEqual(rc, 2)
        self.assertIn("/dev/full", err)
        self.assertFalse(out.exists())

    def test_a_limit_on_file_sizes(self):
        out, routes = self.path("limited.f32"), self.path("limited.txt")
        rc, err = self.logits("-o", out, "--routes", routes, preexec_fn=limit(resource.RLIMIT_FSIZE, 10000))
        self.assertEqual(rc, 2, err)
        self.assertIn("limited.f32", err)
        self.assertIn("ulimit -f", err)
        self.assertFalse(out.exists() or routes.exists())
        self.assertEqual([p.name for p in self.folder.glob(".freetoken*")], [])

    def test_a_stdout_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            rc, err = start("show", MODEL, stdout=full)
        self.assertEqual(rc, 2)
        self.assertIn("No space left", err)
        rc, err = start("show", MODEL, stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual(rc, 2)
        self.assertIn("standard output", err)

    def test_a_stdout_that_does_not_block(self):
        text = "word " * 60000
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETFL, fcntl.fcntl(write, fcntl.F_GETFL) | os.O_NONBLOCK)
        child = subprocess.Popen([PROGRAM, "tokenize", str(DEMO)], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        child.stdin.write(b'{"text": "%s"}\n' % text.encode())
        child.stdin.close()
        time.sleep(0.3)
        got = b""
        while part := os.read(read, 65536):
            got += part
        os.close(read)
        err = child.stderr.read().decode()
        child.stderr.close()
        self.assertEqual(child.wait(), 0, err)
        self.assertEqual(got, run("tokenize", DEMO, stdin='{"text": "%s"}\n' % text).out)


class Limits(harness.Case):
    def test_small_stacks(self):
        for args in (("--version",), ("show", MODEL), ("run", DEMO, "-p", "hello", "--max-tokens", 2, "--temp", 0)):
            with self.subTest(command=args[0]):
                rc, err = start(*args, preexec_fn=limit(resource.RLIMIT_STACK, 512 * 1024))
                self.assertEqual(rc, 0, err)
                for kib in (64, 128, 256):
                    rc, err = start(*args, preexec_fn=limit(resource.RLIMIT_STACK, kib * 1024))
                    self.assertEqual(rc, 2, err)
                    self.assertIn("the limit on the stack is %d KiB" % kib, err)
                    self.assertIn("ulimit -s", err)

    @unittest.skipUnless(os.geteuid() == 0, "the limit counts all processes of an ordinary user")
    def test_threads_that_the_system_does_not_give(self):
        """Fewer threads compute the same; the answer comes."""
        def restrict():
            resource.setrlimit(resource.RLIMIT_NPROC, (8, 8))
            os.setgid(54321)
            os.setuid(54321)

        rc, err = start("logits", MODEL, "--ids", IDS, "-o", "/dev/stdout", "--threads", 200, preexec_fn=restrict)
        self.assertEqual(rc, 0, err)
        self.assertIn("of the 200 threads", err)

    def test_a_model_in_more_parts_than_files_may_be_open(self):
        tensors, metadata = harness.contents(SMALL / "qwen3moe-f32/model.gguf")
        n = 200
        for part in range(n):
            own = tensors if part == 0 else []
            keys = metadata if part == 0 else []
            split = [("split.no", part, "u16"), ("split.count", n, "u16"), ("split.tensors.count", len(tensors), "i32")]
            harness.write_gguf(self.path("m-%05d-of-%05d.gguf" % (part + 1, n)), None, own, keys + split)
        first = self.path("m-00001-of-%05d.gguf" % n)
        rc, err = start("show", first, preexec_fn=limit(resource.RLIMIT_NOFILE, 64, 1024))
        self.assertEqual(rc, 0, err)
        rc, err = start("show", first, preexec_fn=limit(resource.RLIMIT_NOFILE, 64))
        self.assertEqual(rc, 2, err)
        self.assertIn("ulimit -n", err)

    def test_numbers_are_decimal_and_finite(self):
        got = self.good(run("bench", MODEL, "--pp", "010", "--tg", "0", "--reps", 1, "--json")).json()
        self.assertEqual(got["timings"]["prompt_n"], 10)
        for flag, value in (("--limit", "nan"), ("--pp", "0x10"), ("--reps", "1.5")):
            self.refused(run("bench", MODEL, flag, value), flag, value)
        text = self.good(run("bench", MODEL, "--pp", 0, "--tg", 2, "--reps", 1)).text
        self.assertNotIn("prompt", text)


class Perplexity(harness.Case):
    def test_chunks_that_score_nothing(self):
        text = self.write("text.txt", "one two three four " * 50)
        for n in (1, 2):
            self.refused(run("perplexity", DEMO, "--text", text, "--ctx", n), "--ctx 3")
        self.assertRegex(self.good(run("perplexity", DEMO, "--text", text, "--ctx", 3)).text, r"perplexity: \d+\.\d+ ")

    def test_logits_that_are_no_numbers(self):
        tensors, metadata = harness.contents(DEMO)
        broken = [(n, s, k, struct.pack("<f", float("nan")) * (len(raw) // 4) if n == "output_norm.weight" else raw)
                  for n, s, k, raw in tensors]
        path = self.path("nan.gguf")
        harness.write_gguf(path, None, broken, metadata)
        text = self.write("words.txt", "one two three four " * 50)
        self.refused(run("perplexity", path, "--text", text, "--ctx", 16), "nan.gguf", "finite")

    def test_a_folder_is_no_text(self):
        self.refused(run("perplexity", DEMO, "--text", self.folder), "folder")


class Models(harness.Case):
    """Numbers in a file that no model can have."""

    def changed(self, case, name, keys, drop=()):
        tensors, metadata = harness.contents(SMALL / case / "model.gguf")
        metadata = [(k, keys.get(k, v), kind) for k, v, kind in metadata if k not in drop]
        path = self.path(name + ".gguf")
        harness.write_gguf(path, None, tensors, metadata)
        return path

    def refuse(self, path, *words):
        self.refused(run("logits", path, "--ids", IDS, "-o", self.path("o"), limit=30), path.name, *words)

    def test_no_length_of_the_feed_forward_part(self):
        self.refuse(self.changed("llama-f32", "ff", {"llama.feed_forward_length": 0}), "feed_forward_length")
        self.refuse(self.changed("qwen3-f16", "ff3", {"qwen3.feed_forward_length": 0}), "feed_forward_length")

    def test_a_hybrid_model_whose_layers_all_have_attention(self):
        tensors, metadata = harness.contents(SMALL / "qwen35moe-f32/model.gguf")
        last = [t for t in tensors if t[0].startswith("blk.3.")]
        tensors = [t for t in tensors if not t[0].startswith("blk.")]
        for layer in range(4):
            tensors += [("blk.%d." % layer + name[6:], *rest) for name, *rest in last]
        metadata = [(k, 1 if k == "qwen35moe.full_attention_interval" else v, kind) for k, v, kind in metadata]
        path = self.path("attention.gguf")
        harness.write_gguf(path, None, tensors, metadata)
        self.good(run("logits", path, "--ids", IDS, "-o", self.path("attention.f32")))
        self.assertEqual(self.path("attention.f32").stat().st_size, 4 * 300 * len(IDS.read_text().split()))

    def test_more_experts_than_a_model_can_have(self):
        for count in (4097, 65536, 2**31 - 1):
            self.refuse(self.changed("qwen3moe-f32", "experts-%d" % count, {"qwen3moe.expert_count": count}), "expert_count")

    def test_rows_that_are_no_whole_blocks(self):
        tensors, metadata = harness.contents(MODEL)
        name = next(n for n, s, k, _ in tensors if k.startswith("Q4_K"))
        raw = MODEL.read_bytes()
        at = raw.index(name.encode()) + len(name) + 4
        row = struct.unpack_from("<Q", raw, at)[0]
        path = self.write("rows.gguf", raw[:at] + struct.pack("<Q", row - 1) + raw[at + 8:])
        self.refuse(path, name, "whole blocks")


if __name__ == "__main__":
    harness.main()
