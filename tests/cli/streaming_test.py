"""A model beyond its budget, as a user sees it: killed at any moment, as an ordinary user with little locked memory,
with a folder for experts, with statistics that can be compared with the plan."""
import os
import pwd
import re
import resource
import signal
import stat
import subprocess
import time

import harness
from harness import DEMO, PROGRAM, SMALL, run

GIB = 1 << 30
MODEL = SMALL / "qwen3moe-32x8/model.gguf"
LOCKED = 8 << 20  # bytes that an ordinary user may lock


class Streaming(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["XDG_CACHE_HOME"] = str(cls.folder / "cache")
        os.environ["XDG_RUNTIME_DIR"] = str(cls.folder)

    def budget(self, model, share, ctx=256):
        """GiB between the least (0) and all experts (1)"""
        p = run("plan", model, "--ctx", ctx, "--ram", 4, "--json").json()
        least, all_of_it = p["minimum"]["ram"], p["resident"]["ram"]
        return "%.6f" % ((least + share * (all_of_it - least)) / GIB + 0.000001)

    def logits(self, *flags, **more):
        ids = self.write("ids.txt", " ".join(str((17 + i * 7919) % 300) for i in range(60)))
        out = self.path("logits.f32")
        r = run("logits", MODEL, "--ids", ids, "-o", out, "--ctx", 256, *flags, **more)
        self.good(r)
        return out.read_bytes()

    def test_a_step_is_as_long_as_the_budget_affords_whatever_is_asked_for(self):
        least = self.budget(MODEL, 0)
        self.assertEqual(self.logits("--ram", least, "--chunk", 256), self.logits("--ram", least))

    def test_killed_at_any_moment_the_next_start_is_right(self):
        ram = self.budget(MODEL, 0.2)
        swap = self.path("swap")
        swap.mkdir()
        flags = ("--ram", ram, "--set", "memory.swap_dir=%s" % swap)
        want = self.logits()
        for delay in (0.01, 0.03, 0.08, 0.2):
            live = subprocess.Popen([PROGRAM, "run", str(MODEL), "-p", "x", "--raw", "--ctx", "256", *flags],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env=harness.environment())
            time.sleep(delay)
            live.send_signal(signal.SIGKILL)
            live.wait()
            self.assertTrue(self.logits(*flags) == want, delay)
        self.assertEqual(sorted(os.listdir(swap)), [])

    def test_an_ordinary_user_with_little_locked_memory(self):
        """As nobody where this test may change the user, and with 8 MiB that may be locked."""
        folder = self.path("nobody")
        folder.mkdir()
        ids, out = folder / "ids.txt", folder / "logits.f32"
        ids.write_text(" ".join(str((17 + i * 7919) % 300) for i in range(60)))
        want = self.logits()

        def become():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (LOCKED, LOCKED))
            if os.getuid() == 0:
                nobody = pwd.getpwnam("nobody")
                os.setgroups([])
                os.setgid(nobody.pw_gid)
                os.setuid(nobody.pw_uid)

        for place in (self.folder, folder):
            os.chmod(place, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
        done = subprocess.run([PROGRAM, "logits", str(MODEL), "--ids", str(ids), "-o", str(out), "--ctx", "256",
                               "--ram", self.budget(MODEL, 0.2)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=become, env=harness.environment({"HOME": str(folder)}), timeout=120)
        if done.returncode in (126, 127) or b"Permission denied" in done.stderr:
            self.skipTest("the model cannot be reached by another user here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(out.read_bytes() == want)

    def test_a_folder_on_the_models_own_drive_gets_no_copy(self):
        swap = self.path("own-drive")
        swap.mkdir()
        copy = self.write("model.gguf", MODEL.read_bytes())
        r = self.good(run("run", copy, "-p", "x", "--raw", "--max-tokens", 2, "--ctx", 256,
                          "--ram", self.budget(MODEL, 0.2), "--set", "memory.swap_dir=%s" % swap))
        self.assertIn("own drive", r.err)
        self.assertEqual(os.listdir(swap), [])

    def test_a_folder_that_is_missing_is_refused(self):
        for path in (self.path("none"), self.write("a-file", "x")):
            r = run("run", MODEL, "-p", "x", "--raw", "--set", "memory.swap_dir=%s" % path)
            self.refused(r, "swap_dir", path.name)

    def test_the_plans_forecast_stands_beside_what_happened(self):
        ram = self.budget(DEMO, 0.3, 512)
        bench = ("bench", DEMO, "--ctx", 512, "--pp", 128, "--tg", 8, "--reps", 1, "--ram", ram)
        self.assertNotIn("forecast", run(*bench, "--json", env={"XDG_CACHE_HOME": str(self.path("empty"))}).json()["timings"])
        self.good(run("plan", DEMO, "--ctx", 512, "--ram", ram))  # measures the machine
        t = self.good(run(*bench, "--json")).json()["timings"]
        forecast = t["forecast"]
        for kind in ("prompt", "predicted"):
            want = t[kind + "_per_second"] / forecast[kind + "_per_second"]
            self.assertAlmostEqual(forecast[kind + "_ratio"], want, delta=1e-3 * want)
        self.assertIn("the plan foresaw", self.good(run(*bench)).text)
        short = self.good(run("run", DEMO, "-p", "x", "--max-tokens", 2, "--json", "--ctx", 512)).json()["timings"]
        self.assertNotIn("predicted_ratio", short["forecast"])


class Simulate(harness.Case):
    def test_table_json_and_chart_of_a_recorded_trace(self):
        trace, chart = self.path("a.trace"), self.path("a.svg")
        self.good(run("trace", MODEL, "-p", "hello", "--raw", "--max-tokens", 12, "--temp", 0, "-o", trace))
        text = self.good(run("simulate", trace, "--svg", chart)).text
        self.assertIn("of the answer are counted", text)
        self.assertRegex(text, r"(?m)^ +\d+ +[0-9.]+ +[0-9.]+ (B|KiB|MiB) ")
        self.assertRegex(text, r"So short an answer \(\d+ tokens?\) says little")
        found = self.good(run("simulate", trace, "--json")).json()
        for name, rows in found["policies"].items():
            self.assertIn(name, text)
            self.assertEqual(rows[-1]["hit_rate"] >= rows[0]["hit_rate"], True)
        svg = chart.read_text()
        self.assertTrue(svg.startswith("<svg ") and svg.endswith("</svg>\n"))
        self.assertEqual(svg.count("<polyline "), len(found["policies"]))

    def test_several_prompts_are_one_trace_of_conversations_of_their_own(self):
        def rows(*texts):
            trace = self.path("several.trace")
            flags = [word for text in texts for word in ("-p", text)]
            self.good(run("trace", MODEL, *flags, "--raw", "--max-tokens", 6, "--temp", 0, "-o", trace))
            text = trace.read_text()
            sizes = re.search(r" tokens (\d+) prompt_tokens (\d+)", text)
            found = [line.split(" ") for line in text.splitlines() if not line.startswith("#")]
            return int(sizes.group(1)), int(sizes.group(2)), [(int(r[0]), int(r[1]), r[2:]) for r in found]

        one, both = rows("hello there"), rows("hello there", "hello you")
        other = rows("hello you")
        self.assertEqual(both[:2], (one[0] + other[0], one[1]))
        self.assertEqual(both[2], one[2] + [(layer, one[0] + token, ids) for layer, token, ids in other[2]])
        self.good(run("simulate", self.path("several.trace")))
        self.refused(run("trace", MODEL, "-p", "a", "-p", "", "-o", self.path("none.trace")), "-p TEXT")

    def test_a_trace_goes_on_where_the_model_would_end(self):
        def answer(*flags):
            trace = self.path("answer.trace")
            r = self.good(run("trace", DEMO, "-p", "What is an expert?", "--temp", 0, "--ctx", 512, "-o", trace, *flags))
            head = re.search(r"tokens (\d+) prompt_tokens (\d+)", trace.read_text())
            return int(head.group(1)) - int(head.group(2)), r.err

        short, said = answer()
        self.assertIn("--ignore-eos", said)
        long, said = answer("--max-tokens", 300, "--ignore-eos")
        self.assertLess(short, 256)
        self.assertGreaterEqual(long, 299)
        self.assertNotIn("short trace", said)

    def interrupted_trace(self, prompt, output, seconds):
        """What a trace says that is interrupted so long after it has begun to catch interrupts."""
        child = subprocess.Popen([PROGRAM, "trace", str(DEMO), "-p", prompt, "--raw", "--ignore-eos", "--max-tokens",
                                  "1000", "--ctx", "1024", "-o", str(output)], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, env=harness.environment())
        end = time.monotonic() + 60
        while time.monotonic() < end and child.poll() is None:
            with open("/proc/%d/status" % child.pid) as status:
                caught = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status.read()).group(1), 16)
            if caught & 1 << (signal.SIGINT - 1):
                break
            time.sleep(0.005)
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        err = child.communicate(timeout=60)[1].decode()
        self.assertEqual(child.returncode, 130, err)
        return err

    def test_an_interrupted_trace_says_that_it_is_cut_short(self):
        trace = self.write("cut.trace", "an older one")
        said = self.interrupted_trace("x", trace, 0.1)
        self.assertRegex(said, r"interrupted: the trace in \S*cut\.trace is cut short")
        self.good(run("simulate", trace, "--json")).json()

    def test_a_trace_that_is_interrupted_in_the_prompt_leaves_the_older_one(self):
        trace = self.write("old.trace", "an older one")
        said = self.interrupted_trace("An expert is one of many. " * 100, trace, 0)
        self.assertRegex(said, r"interrupted before the answer: no trace is written to \S*old\.trace")
        self.assertEqual(trace.read_text(), "an older one")

    def test_named_sizes_come_rising_and_once_and_within_the_model(self):
        head = "# freetoken-trace 1\n# layers 1 experts 4 top_k 1 tokens 3 prompt_tokens 1\n"
        trace, chart = self.write("a.trace", head + "0 0 1\n0 1 2\n0 2 1\n"), self.path("a.svg")
        r = self.good(run("simulate", trace, "--slots", "2,1,4,2", "--json", "--svg", chart))
        for rows in r.json()["policies"].values():
            self.assertEqual([row["slots"] for row in rows], [1, 2, 4])
        self.assertIn("a.svg", r.err)
        places = [float(x) for x in re.findall(r'<circle cx="([0-9.e+-]+)"', chart.read_text())]
        self.assertTrue(places and min(places) >= 0 and max(places) <= 960, places)
        self.refused(run("simulate", trace, "--slots", "1,5"), "--slots 5", "4 experts in all")

    def test_a_trace_that_was_cut(self):
        head = "# freetoken-trace 1\n# layers 1 experts 4 top_k 1 tokens 3 prompt_tokens 1\n"
        none_left = self.write("none.trace", head + "0 0 1\n")
        self.refused(run("simulate", none_left), "none.trace", "rows are missing", "3 tokens")
        one_left = self.write("one.trace", head + "0 0 1\n0 1 2\n")
        r = self.good(run("simulate", one_left))
        self.assertIn("rows are missing", r.err)
        self.assertIn("1 of the answer are counted", r.text)
        no_answer = self.write("prompt.trace", "# freetoken-trace 1\n# layers 1 experts 4 top_k 1 tokens 1 prompt_tokens 1\n0 0 1\n")
        self.refused(run("simulate", no_answer), "prompt.trace", "no token of an answer")

    def test_a_trace_that_is_none_and_a_chart_that_has_no_place(self):
        self.refused(run("simulate", MODEL), "model.gguf")
        trace = self.write("b.trace", "# freetoken-trace 1\n# layers 1 experts 2 top_k 1 tokens 2 prompt_tokens 1\n0 0 1\n0 1 5\n")
        self.refused(run("simulate", trace), "b.trace", "4")
        good = self.write("c.trace", "# freetoken-trace 1\n# layers 1 experts 2 top_k 1 tokens 2 prompt_tokens 1\n0 0 1\n0 1 0\n")
        self.refused(run("simulate", good, "--svg", self.path("none/c.svg")), "c.svg")


if __name__ == "__main__":
    harness.main()
