"""plan, doctor, ps: sums, the smallest budget, a server instead of a file, the machine's profile, a program that runs."""
import http.server
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import threading
import time

import harness
import serving
from harness import DEMO, SMALL, run

GIB = 1 << 30
MODEL = SMALL / "qwen3moe-q4km/model.gguf"


class Ranges(http.server.BaseHTTPRequestHandler):
    """Serves one file by ranges and counts its bytes."""

    path_of, sent = None, 0

    def do_GET(self):
        size = os.path.getsize(self.path_of)
        first, _, last = self.headers.get("Range", "bytes=0-").partition("=")[2].partition("-")
        begin, end = int(first), min(size - 1, int(last or size - 1))
        self.send_response(206)
        self.send_header("Content-Length", str(end - begin + 1))
        self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, end, size))
        self.end_headers()
        with open(self.path_of, "rb") as f:
            f.seek(begin)
            type(self).sent += self.wfile.write(f.read(end - begin + 1))

    def log_message(self, *args):
        pass


class WithProfile(harness.Case):
    """All tests of a class share one profile of the machine, which is not the user's."""

    def run(self, result=None):
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder)
        return super().run(result)


class Plan(WithProfile):
    def plan(self, *flags, model=DEMO, codes=(0,)):
        r = run("plan", model, *flags, "--json")
        self.assertIn(r.rc, codes, str(r))
        return r.json()

    def check_sums(self, p):
        for tier in ("vram", "ram", "drive"):
            self.assertEqual(sum(i["bytes"] for i in p["items"] if i["tier"] == tier), p["total"][tier])
        e = p["experts"]
        self.assertGreaterEqual(e["vram_slots"] + e["ram_slots"] + e["on_drive"], e["count"])
        if p["fits"]:
            self.assertLessEqual(p["total"]["ram"], p["budget"]["ram"])

    def test_all_in_ram(self):
        p = self.plan("--ram", 4)
        self.check_sums(p)
        self.assertTrue(p["fits"])
        self.assertEqual(p["experts"]["on_drive"], 0)
        self.assertIn(p["limit"], ("ram", "cpu"))
        for key in ("decode_per_second", "prefill_per_second", "ttft_ms"):
            self.assertGreater(p["predicted"][key], 0)
        text = self.good(run("plan", DEMO, "--ram", 4)).text
        self.assertIn("tok/s", text)
        self.assertNotIn("\x1b", text)

    def test_the_smallest_budget(self):
        least = self.plan("--ram", 4)["minimum"]["ram"]
        enough = self.plan("--ram", "%.6f" % (least / GIB + 1e-6))
        self.check_sums(enough)
        self.assertTrue(enough["fits"])
        less = self.plan("--ram", "%.6f" % (least / GIB * 0.99), codes=(1,))
        self.check_sums(less)
        self.assertFalse(less["fits"])
        self.assertTrue(less["short"] and less["advice"])

    def test_a_refusal_measures_nothing(self):
        empty = self.path("no-cache")
        r = run("plan", DEMO, "--ram", 0.01, "--json", env={"XDG_CACHE_HOME": str(empty)})
        self.assertEqual(r.rc, 1, str(r))
        self.assertFalse(empty.exists())

    def test_a_budget_that_plan_accepts_is_one_that_runs(self):
        ram = "%.4f" % (self.plan("--ram", 4, "--ctx", 256)["minimum"]["ram"] / GIB + 0.0001)
        flags = ("-p", "Hello", "--max-tokens", 4, "--seed", 1, "--temp", 0, "--ctx", 256)
        small = self.good(run("run", DEMO, *flags, "--ram", ram)).text
        self.assertEqual(small, self.good(run("run", DEMO, *flags, "--ram", 4)).text)
        self.refused(run("run", DEMO, *flags, "--ram", "%.4f" % (float(ram) / 2)), "ram")

    def test_first_tokens_that_fill_the_context_are_refused_by_the_plan_too(self):
        keep = ("--ctx", 4, "--set", "kv_cache.auto_evict=true")
        for words in (("plan", DEMO), ("run", DEMO, "-p", "hi")):
            self.refused(run(*words, *keep), "kv_cache.sink_tokens is 4", "fills the context of 4 tokens")
        self.good(run("plan", DEMO, *keep, "--set", "kv_cache.sink_tokens=3"))

    def test_a_plan_for_a_server_is_the_servers(self):
        flags = ("--ctx", 256, "--set", "server.requests_mib=20")
        one, four = (self.plan("--ram", 4, *flags, *more) for more in ((), ("--for", "serve")))
        self.assertEqual(four["kv_cache"]["bytes"], 4 * one["kv_cache"]["bytes"])
        self.assertEqual([i["bytes"] for i in four["items"] if i["name"] == "requests"], [20 << 20])
        batch = self.plan("--ram", 4, *flags, "--for", "batch")
        self.assertEqual(batch["minimum"]["ram"], four["minimum"]["ram"] - (20 << 20))
        self.assertLess(one["minimum"]["ram"], batch["minimum"]["ram"])
        enough, less = ("%.6f" % (four["minimum"]["ram"] / GIB + d) for d in (1e-6, -1e-4))
        self.assertTrue(self.plan("--ram", enough, *flags, "--for", "serve")["fits"])
        self.assertFalse(self.plan("--ram", less, *flags, "--for", "serve", codes=(1,))["fits"])
        r = run("serve", DEMO, "--ram", less, *flags, "--port", serving.free_port())
        self.refused(r, "4 sequences at once", "server.requests_mib", "--parallel 1")
        with serving.Server(self.folder, {"kv_cache": {"max_context": 256}, "server": {"requests_mib": 20},
                                          "inference": {"batch_size": 4}}, ("--ram", enough)) as server:
            self.assertEqual(server.get("/health").status, 200)
        # the remedy works
        needs = float(r.err.split("--parallel 1, which needs ")[1].split()[0])
        self.assertTrue(self.plan("--ram", needs, *flags, "--for", "serve", "--parallel", 1)["fits"])
        lines = self.path("in.jsonl")
        lines.write_text("")
        less = "%.6f" % (batch["minimum"]["ram"] / GIB - 1e-4)
        self.refused(run("batch", lines, "-o", self.path("out.jsonl"), "--model", DEMO, "--ctx", 256, "--ram", less),
                     "4 sequences at once", "--parallel 1")

    def test_the_smallest_budget_of_a_server_is_the_same_from_every_side(self):
        """Where server.requests_mib is auto, the room for requests grows with the budget: no part of an answer may
        count it at another budget than the one that it names."""
        least = {}
        for asked in (("--ram", 0.01), ("--ram", 4), ()):
            p = self.plan("--for", "serve", *asked, codes=(0, 1))
            least[str(asked)] = (p["minimum"]["ram"], p["resident"]["ram"])
        self.assertEqual(len(set(least.values())), 1, least)
        advice = " ".join(self.plan("--for", "serve", "--ram", 0.01, codes=(1,))["advice"])
        for before, more in (("Allow ", ()), ("--parallel 1 needs ", ("--parallel", 1))):
            ram = advice.split(before)[1].split()[0]
            self.assertTrue(self.plan("--for", "serve", "--ram", ram, *more)["fits"], ram)
        r = run("serve", DEMO, "--ram", 0.01, "--port", serving.free_port())
        for form in (r"([0-9.]+) GiB of RAM are needed at least", r"\(--ram\) to ([0-9.]+)"):
            ram = re.search(form, r.err).group(1)
            self.assertTrue(self.plan("--for", "serve", "--ram", ram)["fits"], r.err)
        with serving.Server(self.folder, {"inference": {"batch_size": 4}}, ("--ram", ram)) as server:
            self.assertEqual(server.get("/health").status, 200)

    def test_a_card(self):
        p = self.plan("--ram", 4, "--vram", 6)
        self.check_sums(p)
        self.assertTrue(0 < p["total"]["vram"] <= 6 * GIB)
        self.assertGreaterEqual(p["predicted"]["prefill_per_second"], p["predicted"]["decode_per_second"])
        text = self.good(run("plan", DEMO, "--ram", 4, "--vram", 6)).text
        self.assertIn("GPU context, beside the budget", text)
        self.assertIn("prompts at least", text)

    def test_threads_change_what_is_predicted(self):
        cores = run("doctor", "--json").json()["profile"]["physical_cores"]
        one, all_of_them = (self.plan("--ram", 4, "--threads", n) for n in (1, cores))
        if cores > 1:
            self.assertLess(one["predicted"]["decode_per_second"], all_of_them["predicted"]["decode_per_second"])
            self.assertLess(one["predicted"]["prefill_per_second"], all_of_them["predicted"]["prefill_per_second"])
            self.assertTrue([n for n in one["notes"] if "--threads %d" % cores in n], one["notes"])
        self.assertFalse([n for n in all_of_them["notes"] if "--threads" in n], all_of_them["notes"])
        many = self.plan("--ram", 4, "--ctx", 128, "--threads", 1024)
        if cores < 512:
            self.assertTrue([n for n in many["notes"] if "1024 threads" in n], many["notes"])

    def test_what_is_said_of_a_prediction(self):
        least = self.plan("--ram", 4)["minimum"]["ram"]
        text = self.good(run("plan", DEMO, "--ram", "%.6f" % (1.2 * least / GIB))).text
        self.assertIn("That supposes a model whose choices are as uneven", text)
        self.assertIn("https://", self.good(run("plan", "--help")).text)
        r = run("plan", DEMO, "--ram", "%.6f" % (least / GIB * 0.9))
        self.assertIn("If all that is not enough", r.text)

    def test_a_shared_file_of_settings(self):
        """Sequences of a server count where a server is planned for, and are said where nothing is named."""
        flags = ("--ram", 4, "--ctx", 256, "--set", "inference.batch_size=4")
        one, said = self.plan(*flags, "--for", "run"), self.plan(*flags)
        self.assertEqual(said["kv_cache"]["bytes"], 4 * one["kv_cache"]["bytes"])
        self.assertTrue([n for n in said["notes"] if "--for run" in n], said["notes"])
        self.assertFalse([n for n in one["notes"] if "--for run" in n], one["notes"])

    def test_more_ram_than_there_is(self):
        self.assertTrue([n for n in self.plan("--ram", 100000)["notes"] if "more than this machine's" in n])
        self.assertFalse([n for n in self.plan()["notes"] if "more than this machine's" in n])

    def test_contexts_that_fit_have_a_rate_where_the_asked_one_does_not(self):
        self.plan("--ram", 4)  # the machine's rates are known from here on
        rows = self.plan("--ram", 4, "--ctx", 100000, codes=(1,))["contexts"]
        self.assertTrue(rows and all(row["fits"] and row["decode_per_second"] > 0 for row in rows), rows)

    def test_contexts(self):
        one, two = (self.plan("--ram", 4, "--ctx", n)["kv_cache"]["bytes"] for n in (128, 256))
        self.assertEqual(two, 2 * one)
        # no budget makes up for a context that the model has not
        for ram in (0.01, 4):
            r = run("plan", DEMO, "--ctx", 100000, "--ram", ram)
            self.assertEqual(r.rc, 1, str(r))
            self.assertIn("made for 1024", r.text)
            self.assertNotIn("smallest budget that works", r.text)
            self.assertNotIn("Allow ", r.text)
            self.assertIsNone(self.plan("--ctx", 100000, "--ram", ram, codes=(1,))["minimum"]["ram"])
        self.assertIn("smallest budget that works", run("plan", DEMO, "--ram", 0.01).text)

    def test_a_server_instead_of_a_file(self):
        handler = type("Handler", (Ranges,), {"path_of": DEMO, "sent": 0})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d/model.gguf" % server.server_port
        try:
            self.assertEqual(self.plan("--ram", 4, model=url)["total"], self.plan("--ram", 4)["total"])
        finally:
            server.shutdown()
            server.server_close()
        self.refused(run("plan", url), "127.0.0.1")

    def test_settings(self):
        config = self.write("config.yaml", "model:\n  path: %s\nmemory:\n  ram_budget: 3\n" % MODEL)
        self.assertEqual(self.plan("--config", config, model="--json")["budget"]["ram"], 3 * GIB)
        for flags, words in ((("--ram", 0), ("ram", "0")), (("--ram", "x"), ("ram", "x")),
                             (("--set", "memory.expert_policy=clock"), ("expert_policy", "clock", "lru")),
                             (("--set", "memory.swap_dir=/no/such/folder"), ("swap_dir", "/no/such/folder")),
                             (("--set", "memory.swap_dir=%s" % MODEL), ("swap_dir", "folder"))):
            with self.subTest(flags=flags):
                self.refused(run("plan", MODEL, *flags), *words)
        r = run("plan", MODEL, "--set", "memory.cpu_offload=false", "--json")
        self.assertEqual(r.rc, 1, str(r))
        self.assertIn("cpu_offload", r.json()["short"])
        self.assertNotIn("no room", run("plan", MODEL, "--set", "memory.cpu_offload=false").text)
        r = run("run", MODEL, "-p", "x", "--raw", "--set", "memory.cpu_offload=false")
        self.refused(r, "Set memory.cpu_offload to true")
        self.assertNotIn("--ram", r.err)
        self.refused(run("plan", self.path("missing.gguf")), "missing.gguf")


class Doctor(WithProfile):
    def test_the_machine(self):
        r = run("doctor", "--json")
        d = r.json()
        self.assertEqual(r.rc, int(any(c["state"] == "problem" for c in d["checks"])), str(r))
        self.assertLessEqual({"cpu", "ram", "drive", "gpu"}, {c["name"] for c in d["checks"]})
        self.assertFalse([c for c in d["checks"] if c["state"] != "ok" and not c["advice"]])
        for key in ("ram_read_gb_per_second", "drive_read_gb_per_second", "drive_latency_us", "physical_cores", "ram_bytes"):
            self.assertGreater(d["profile"][key], 0, key)
        again = run("doctor", "--json")
        self.assertEqual(again.json()["profile"], d["profile"])
        self.assertNotIn("measuring", again.err)

    def test_a_damaged_profile_is_measured_again(self):
        cache = self.path("damaged")
        (cache / "freetoken").mkdir(parents=True)
        (cache / "freetoken/machine-profile.json").write_bytes(b"{\xff")
        d = run("doctor", "--json", env={"XDG_CACHE_HOME": str(cache)}).json()
        self.assertGreater(d["profile"]["ram_read_gb_per_second"], 0)

    def test_a_model(self):
        d = run("doctor", "--model", DEMO, "--json").json()
        self.assertLessEqual({"gguf", "router", "template", "tokenizer"}, {c["name"] for c in d["checks"]})
        self.assertTrue(d["bottleneck"])
        r = run("doctor", "--model", DEMO, "--set", "memory.ram_budget=0.01", "--json")
        self.assertEqual(r.rc, 1, str(r))
        row = [c for c in r.json()["checks"] if c["name"] == "plan"][0]
        self.assertEqual(row["state"], "problem")
        self.assertIn("memory.ram_budget (--ram) to ", row["advice"])
        raw = DEMO.read_bytes()
        for name, content in (("version-1", raw[:4] + b"\1\0\0\0" + raw[8:100000]), ("cut", raw[: len(raw) // 2]),
                              ("foreign", b"hello" * 20)):
            with self.subTest(name=name):
                r = run("doctor", "--model", self.write(name + ".gguf", content))
                self.assertEqual(r.rc, 1, str(r))
                self.assertIn("problem", r.text)
        self.refused(run("doctor", "--model", self.path("missing.gguf")), "missing.gguf")

    def test_a_folder_for_experts(self):
        least = run("plan", DEMO, "--ram", 4, "--json").json()["minimum"]["ram"] / GIB
        config = self.write("config.yaml", "model:\n  path: %s\nmemory:\n  ram_budget: %.6f\n  swap_dir: /dev/shm\n"
                            % (DEMO, 1.2 * least))
        rows = {c["name"]: c for c in run("doctor", "--config", config, "--json").json()["checks"]}
        self.assertIn("GiB free", rows["swap_dir"]["value"])
        self.assertIn("nothing is copied there", rows["swap_dir"]["value"])
        if os.stat("/dev/shm").st_dev != os.stat(DEMO).st_dev:
            self.assertIn("the folder lies in memory", rows["swap_dir"]["value"])
        # the same reason as the one that a start gives, in memory and on the model's own drive
        for folder in ("/dev/shm", DEMO.parent):
            flags = ("--set", "memory.ram_budget=%.6f" % (1.2 * least), "--set", "memory.swap_dir=%s" % folder)
            row = next(c for c in run("doctor", DEMO, *flags, "--json").json()["checks"] if c["name"] == "swap_dir")
            why = row["value"].split("nothing is copied there: ")[1]
            self.assertIn(why, self.good(run("run", DEMO, "-p", "x", "--raw", "--max-tokens", 1, *flags)).err)

    def test_watching_for_less_than_a_minute(self):
        calm, growing = (subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) for text in (
            "import time\nprint(1, flush=True)\ntime.sleep(60)\n",
            "import time\na = []\nprint(1, flush=True)\nfor i in range(3000):\n    a.append(b'x' * (1 << 19))\n"
            "    time.sleep(0.02)\n"))
        try:
            calm.stdout.readline()
            growing.stdout.readline()
            r = run("doctor", "--watch", calm.pid, "--minutes", 0.02)
            self.assertIn("Nothing failed", self.good(r).text)
            r = self.good(run("doctor", "--watch", growing.pid, "--minutes", 0.03))  # there is no first minute
            self.assertIn("Growth of memory was not judged", r.text)
            self.assertIn("Nothing failed", r.text)
            growing.kill()
            growing.wait()
            self.refused(run("doctor", "--watch", growing.pid), growing.pid)
        finally:
            for p in (calm, growing):
                p.kill()
                p.wait()
                p.stdout.close()

    def test_what_does_not_go_with_watching(self):
        me = os.getpid()
        for flags, words in (((DEMO, "--watch", me), ("a model", "--watch")), (("--watch", me, "--json"), ("--json", "--watch")),
                             (("--model", DEMO, "--watch", me), ("--model", "--watch")),
                             (("--minutes", 1), ("--minutes", "--watch")), ((DEMO, "--min-tps", 1), ("--min-tps", "--watch"))):
            with self.subTest(flags=flags):
                self.refused(run("doctor", *flags), *words)

    def test_watching_and_listing_a_program(self):
        self.refused(run("doctor", "--watch", 2**22 - 1), 2**22 - 1)
        self.refused(run("doctor", "--watch", "me"), "me")
        self.assertEqual(run("ps", "--json").json(), [])
        program = subprocess.Popen([harness.PROGRAM, "run", DEMO], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=harness.environment())
        answering = subprocess.Popen([harness.PROGRAM, "bench", DEMO, "--pp", "0", "--tg", "64", "--reps", "1000"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.environment())
        try:
            end = time.monotonic() + 60
            rows = []
            while time.monotonic() < end and not any(r["generating"] for r in rows):
                rows = self.good(run("ps", "--json")).json()
                self.assertIsNone(answering.poll())
                time.sleep(0.2)
            row = next(r for r in rows if r["pid"] == answering.pid)
            self.assertEqual(row["model"], DEMO.name)
            self.assertGreater(row["tokens_per_second"], 0)
            self.assertIn(str(answering.pid), self.good(run("ps")).text)
            r = self.good(run("doctor", "--watch", program.pid, "--minutes", 0.02, "--min-tps", 5))
            self.assertIn("Speed was not judged", r.text)
            r = run("doctor", "--watch", answering.pid, "--minutes", 0.03, "--min-tps", 1e8)
            self.assertEqual(r.rc, 1, str(r))
            self.assertIn("tok/s", r.text)
        finally:
            for p in (program, answering):
                p.kill()
                p.communicate()
        self.assertEqual(run("ps", "--json").json(), [])
        self.assertFalse(list(pathlib.Path(os.environ["XDG_RUNTIME_DIR"]).glob("freetoken/*.json")))

    def test_a_runtime_folder_that_is_another_s_is_left_alone(self):
        target = self.folder / "target"
        target.mkdir(mode=0o755)
        (target / "package.json").write_text("{}")
        (target / "1.json").write_text("{}")
        runtime = self.folder / "runtime"
        runtime.mkdir()
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        (runtime / "freetoken").symlink_to(target)
        self.refused(run("ps"), runtime / "freetoken", "no folder of yours")
        r = self.good(harness.ask("hi", "--max-tokens", 1))
        self.assertEqual(r.err.count("no status file"), 1, str(r))
        self.assertIn("no folder of yours", r.err)
        self.assertEqual(target.stat().st_mode & 0o777, 0o755)
        self.assertEqual({p.name for p in target.iterdir()}, {"package.json", "1.json"})
        (runtime / "freetoken").unlink()
        (runtime / "freetoken").mkdir(mode=0o755)
        if os.geteuid() == 0:
            os.chown(runtime / "freetoken", 65534, 65534)
            self.refused(run("ps"), "no folder of yours")
            self.assertIn("no folder of yours", self.good(harness.ask("hi", "--max-tokens", 1)).err)
            self.assertEqual((runtime / "freetoken").stat().st_mode & 0o777, 0o755)
            os.chown(runtime / "freetoken", 0, 0)
        self.good(harness.ask("hi", "--max-tokens", 1))
        self.assertEqual((runtime / "freetoken").stat().st_mode & 0o777, 0o700)

    def test_where_descriptors_run_out_the_folder_is_not_blamed(self):
        for limit in range(4, 12):
            words = ("prlimit", "--nofile=%d:%d" % (limit, limit), harness.PROGRAM, "run", DEMO, "-p", "hi", "--max-tokens", "1")
            said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr
            self.assertNotIn("no folder of yours", said)
            if "no status file" in said:
                self.assertIn("Too many open files", said)

    def test_ps_removes_only_what_programs_left(self):
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder / "left")
        runtime = self.folder / "left/freetoken"
        runtime.mkdir(parents=True)
        running = "%d.json.new" % os.getpid()
        for name in ("package.json", "1.json", "1x.json", "-1.json", ".json", "4194303.json.new", "x.json.new", running):
            (runtime / name).write_text("{}")
        (runtime / "2.json").symlink_to(runtime / "package.json")
        (runtime / "3.json").mkdir()
        self.assertEqual(self.good(run("ps", "--json")).json(), [])
        self.assertEqual({p.name for p in runtime.iterdir()},
                         {"package.json", "1x.json", "-1.json", ".json", "2.json", "3.json", "x.json.new", running})

    def test_a_status_that_cannot_be_written_leaves_nothing(self):
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder / "full")

        def no_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        done = subprocess.run([harness.PROGRAM, "run", str(DEMO), "-p", "hi", "--max-tokens", "1"], preexec_fn=no_files,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.environment(), timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"no status file", done.stderr)
        self.assertIn(b"File too large", done.stderr)
        self.assertEqual(list((self.folder / "full/freetoken").iterdir()), [])

    def test_ps_waits_for_no_pipe_and_believes_no_odd_number(self):
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder / "odd")
        runtime = self.folder / "odd/freetoken"
        runtime.mkdir(parents=True)
        os.mkfifo(runtime / "1.json")
        (runtime / "2.json").symlink_to("/dev/zero")
        self.assertEqual(self.good(run("ps", "--json", limit=20)).json(), [])
        me = os.getpid()
        start = int(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        good = {"pid": me, "process_start": start, "started": 5, "model": "m", "generating": True,
                "tokens_per_second": 2.5}
        for name in ("ram_budget", "ram_planned", "ram_margin", "experts", "ram_slots", "on_drive",
                     "prompt_tokens", "generated_tokens"):
            good[name] = 1

        def rows(**changes):
            (runtime / ("%d.json" % me)).write_text(json.dumps({**good, **changes}))
            return self.good(run("ps", "--json", limit=20)).json()

        self.assertEqual([r["tokens_per_second"] for r in rows()], [2.5])
        self.assertEqual([r["seconds"] for r in rows(started=2**63 - 1)], [0])
        for changes in ({"tokens_per_second": 1e300}, {"tokens_per_second": -5}, {"started": 1e300}, {"started": -5},
                        {"started": 2**63}, {"pid": me + 1}, {"experts": 2.5}, {"ram_budget": -1}):
            self.assertEqual(rows(**changes), [], changes)
        rows()
        os.truncate(runtime / ("%d.json" % me), 10**9)
        self.assertEqual(self.good(run("ps", "--json", limit=20)).json(), [])


if __name__ == "__main__":
    harness.main()
