"""serve: start, answers over HTTP in whole and as streams, keys, limits, many at once, stop."""
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import harness
import serving
from harness import DEMO, ask, run
from serving import CHAT, TEXT

QUESTION = {"messages": [{"role": "user", "content": "What is a router?"}], "max_tokens": 16, "temperature": 0}
LONG = {"prompt": "A story", "max_tokens": 900, "ignore_eos": True, "temperature": 1.2}


def events(stream):
    """The parsed events of a stream, without [DONE]"""
    return [json.loads(data) for data in stream if data != "[DONE]"]


class Refusals(harness.Case):
    def serve(self, text, *flags):
        return run("serve", "--config", self.write("refused.yaml", text), *flags, limit=30)

    def test_what_cannot_work_is_said_before_the_model_is_read(self):
        head = "model: {path: %s}\n" % json.dumps(str(DEMO))
        for text, words in (
            (head + "server: {prot: 8080}\n", ("prot", "port")),
            (head + "server: {port: 99999}\n", ("port", "99999")),
            (head + "server: {host: 0.0.0.0}\n", ("0.0.0.0", "key")),
            (head + "server: {api_keys_file: /nowhere/keys}\n", ("/nowhere/keys",)),
            (head + "server: {host: no-such-host.invalid}\n", ("no-such-host.invalid",)),
            (head + 'server: {host: ""}\n', ("server.host", "no address")),
            (head + "server: {host: 256.1.1.1}\n", ("256.1.1.1", "no address")),
            (head + 'server: {host: "[a,b]"}\n', ("[a,b]", "no address")),
            (head + "server: {cors_origins: {a: b}}\n", ("cors_origins", "list")),
            (head + 'server: {cors_origins: ["{a: b}"]}\n', ("cors_origins", "{a: b}", "origin")),
            (head + "kv_cache: {park_dir: /proc}\n", ("park_dir", "/proc")),
            (head + "model: {}\n", ("model",)),
            ("server: {port: 0}\n", ("model",)),
            ("model: {path: /nowhere/x.gguf}\n", ("/nowhere/x.gguf",)),
            (head.replace("}", ", keep_fp16_layers: [rooter]}"), ("rooter", "router")),
        ):
            with self.subTest(text=text):
                self.refused(self.serve(text), *words)
        self.refused(self.serve(head, "--profile", "fastest"), "fastest", "chat")

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused(run("serve", DEMO, "--port", port, limit=60), port, "--port")

    def test_flags_of_other_programs(self):
        for flags, line in (
            (("-c", 777, "-np", 3, "-ngl", 99, "--jinja"), "max_context: 777"),
            (("--max-model-len", "1k", "--max-num-seqs", 3), "batch_size: 3"),
            (("--alias", "abc"), 'served_model_name: "abc"'),
            (("-ctk", "q8_0"), "quant_k: q8_0"),
            (("--profile", "long"), "max_context: 1024  # --profile long asks for 32768"),
        ):
            with self.subTest(flags=flags):
                self.assertIn(line, self.good(run("serve", "-m", DEMO, *flags, "--print-config")).text)
        for model in ((), ("no.gguf",)):
            r = self.good(run("serve", *model, "--profile", "long", "--print-config"))
            self.assertIn("max_context: 32768", r.text)
        r = self.good(run("serve", DEMO, "--print-config", env={"OLLAMA_CONTEXT_LENGTH": "777"}))
        self.assertIn("max_context: 777", r.text)
        self.assertIn("OLLAMA_CONTEXT_LENGTH", r.err)
        r = self.good(
            run("serve", DEMO, "--print-config", "--embeddings", "-v", "--timeout", 60, "--no-context-shift")
        )
        self.assertIn("auto_evict: false  # --set", r.text)
        for flag in ("--embeddings", "-v", "--timeout"):
            self.assertIn(f"[flags] {flag} changes nothing: ", r.err)
        for flags, remedy in (
            (("--override-kv", "a=int:4"), "docs/settings.md"),
            (("--ssl-key-file", "k.pem"), "deploy/README.md"),
            (("--log-file", "x.log"), "2> FILE"),
            (("--reasoning-format", "none"), "reasoning_format: none"),
            (("--reasoning-budget", 512), "--think off"),
        ):
            with self.subTest(flags=flags):
                self.refused(run("serve", DEMO, *flags), flags[0], remedy)


class Answers(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        options = {"server": {"cors_origins": ["http://app.example"], "max_body_mib": 1}}
        cls.server = serving.Server(cls.folder, options)
        cls.server.wait_ready()

    @classmethod
    def tearDownClass(cls):
        rc = cls.server.stop()
        super().tearDownClass()
        if rc != 0:
            raise AssertionError("the server ended with %s" % rc)

    def test_start_lines(self):
        log = self.server.log
        for line in ("[load] model loaded: " + DEMO.name, "[mem] CUDA context: 0.0GB", "[mem] active experts: ",
                     "[mem] KV cache: f16, max context: 1024", "[serve] listening on 127.0.0.1:%d" % self.server.port):
            self.assertIn(line, log)
        for line in log.splitlines():
            self.assertRegex(line, r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] \[\w+\] ")

    def test_generate_is_what_run_says(self):
        body = {"prompt": "What is a router?", "max_tokens": 16, "temperature": 0, "repetition_penalty": 1.0}
        whole = self.server.post("/generate", body)
        self.assertEqual(whole.status, 200, str(whole))
        flags = ("--json", "--temp", 0, "--repeat-penalty", 1, "--max-tokens", 16)
        self.assertEqual(whole.json()["text"], self.good(ask(body["prompt"], *flags)).json()["text"])
        for name in ("queue_ms", "prompt_ms", "predicted_ms", "prompt_n", "predicted_n"):
            self.assertIsInstance(whole.json()["timings"][name], (int, float), name)
        stream = self.server.stream("/generate", body)
        got = events(stream)
        self.assertEqual("".join(e["text"] for e in got), whole.json()["text"])
        self.assertIn(got[-1]["finish_reason"], ("stop", "length"))
        self.assertEqual(stream.headers["x-accel-buffering"], "no")
        self.assertTrue(stream.headers["content-type"].startswith("text/event-stream"))

    def test_every_dialect_says_the_same(self):
        want = self.server.post(CHAT, QUESTION).json()["choices"][0]["message"]["content"]
        claude = self.server.post("/v1/messages", {"model": "x", **QUESTION}).json()
        self.assertEqual(claude["content"][0]["text"], want)
        ollama = {"model": "local-moe", "messages": QUESTION["messages"], "stream": False,
                  "options": {"num_predict": 16, "temperature": 0}}
        self.assertEqual(self.server.post("/api/chat", ollama).json()["message"]["content"], want)
        stream = self.server.stream(CHAT, QUESTION)
        self.assertEqual(stream.rest(), (want, True))

    def test_ctl(self):
        where = ("--server", "http://127.0.0.1:%d" % self.server.port)
        self.assertEqual(self.good(run("ctl", "health", *where)).json()["status"], "ok")
        self.assertIn("running", self.good(run("ctl", "stats", *where)).json())
        self.assertIn("pages", self.good(run("ctl", "cache", *where)).json())
        self.refused(run("ctl", "healthy", *where), "healthy", "stats")
        self.refused(run("ctl", "health", "--server", "http://127.0.0.1:1"), "127.0.0.1:1")

    def test_embeddings(self):
        vectors = [row["embedding"] for row in
                   self.server.post("/v1/embeddings", {"input": ["a b c", "d e f", "a b c"]}).json()["data"]]
        self.assertEqual(vectors[0], vectors[2])
        self.assertNotEqual(vectors[0], vectors[1])
        self.assertAlmostEqual(sum(x * x for x in vectors[0]), 1, places=4)
        ollama = self.server.post("/api/embed", {"model": "local-moe", "input": "a b c"}).json()
        self.assertEqual(ollama["embeddings"][0], vectors[0])
        self.assertEqual(self.server.post("/v1/embeddings", {}).status, 400)
        lane = {"X-FreeToken-Lane": "batch", "X-Request-Id": "vectors"}
        body = self.server.post("/v1/embeddings", {"input": ["a b c", "d"]}, headers=lane).json()
        self.assertEqual(body["timings"]["prompt_n"], body["usage"]["prompt_tokens"])
        row = self.server.get("/v1/requests").json()["requests"][-1]
        self.assertEqual((row["path"], row["lane"], row["x_request_id"], row["status"]), ("/v1/embeddings", "batch", "vectors", 200))
        self.assertEqual(row["prompt_tokens"], body["usage"]["prompt_tokens"])

    def test_lists_of_models(self):
        self.assertEqual(self.server.get("/v1/models").json()["data"][0]["id"], "local-moe")
        self.assertEqual(self.server.get("/v1/models/local-moe").json()["id"], "local-moe")
        self.assertEqual(self.server.get("/v1/models/other").status, 404)
        self.assertEqual(self.server.get("/api/tags").json()["models"][0]["name"].partition(":")[0], "local-moe")
        self.assertEqual(self.server.post("/api/show", {"model": "other"}).status, 404)
        self.assertIn("version", self.server.get("/api/version").json())

    def test_texts_and_ids(self):
        text = "Expert cache, 专家缓存 🙂"
        ids = self.server.post("/tokenize", {"content": text}).json()["tokens"]
        self.assertEqual(self.server.post("/detokenize", {"tokens": ids}).json()["content"], text)
        prompt = self.server.post("/apply-template", {"messages": QUESTION["messages"]}).json()["prompt"]
        self.assertIn("What is a router?", prompt)
        rendered = self.server.post(CHAT + "/render", QUESTION).json()["token_ids"]
        self.assertEqual(self.server.post("/detokenize", {"tokens": rendered}).json()["content"], prompt)
        counted = self.server.post("/v1/messages/count_tokens", {"model": "x", "messages": QUESTION["messages"]}).json()
        self.assertEqual(counted["input_tokens"], len(rendered))
        two = self.server.post(TEXT + "/render", {"prompt": ["a b", "c"]}).json()
        self.assertEqual([len(p["token_ids"]) > 0 for p in two], [True, True])

    def test_refusals(self):
        for method, path, body, status in (
            ("GET", "/nothing", None, 404),
            ("GET", "/generate", None, 405),
            ("POST", "/generate", {}, 400),
            ("POST", "/generate", b"{", 400),
            ("POST", "/generate", {"prompt": "x", "lane": "fast"}, 400),
            ("POST", "/v1/rerank", {"query": "x"}, 400),
            ("POST", CHAT, {"messages": [{"role": "user", "content": "word " * 5000}]}, 400),
            ("POST", CHAT, b"[" * (2 << 20), 413),
        ):
            with self.subTest(path=path, status=status):
                try:
                    reply = serving.call(self.server.port, method, path, body)
                except OSError:  # the answer came before the body was sent
                    self.assertEqual(status, 413)
                    continue
                self.assertEqual(reply.status, status, str(reply))
                self.assertIn("error", reply.json())
        lane = self.server.post("/generate", {"prompt": "x"}, headers={"X-FreeToken-Lane": "fast"})
        self.assertEqual(lane.status, 400)
        self.assertIn("X-FreeToken-Lane", str(lane))

    def test_headers(self):
        reply = self.server.post("/generate", {"prompt": "x", "max_tokens": 1},
                                 headers={"X-Request-Id": "mine-1", "Origin": "http://app.example"})
        self.assertEqual(reply.headers["x-request-id"], "mine-1")
        self.assertEqual(reply.headers["access-control-allow-origin"], "http://app.example")
        other = self.server.get("/health", headers={"Origin": "http://evil.example"})
        self.assertNotIn("access-control-allow-origin", other.headers)

    def test_names_that_a_web_page_may_have(self):
        for host, status in (("127.0.0.1:%d" % self.server.port, 200), ("localhost", 200), ("evil.example", 403)):
            reply = self.server.get("/v1/models", headers={"Host": host})
            self.assertEqual(reply.status, status, host)
        self.assertIn("server.host_names", str(reply))
        self.assertEqual(self.server.get("/health", headers={"Host": "evil.example"}).status, 200)

    def test_many_streams_are_each_what_they_are_alone(self):
        def body(i):
            return {"prompt": "Story %d" % i, "max_tokens": 4 + i % 7, "temperature": 0.9 if i % 2 else 0, "seed": i}

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            got = list(pool.map(lambda i: self.server.stream(TEXT, body(i)).rest(), range(24)))
        for i, (text, done) in enumerate(got):
            self.assertEqual((text, done), (self.server.post(TEXT, body(i)).json()["choices"][0]["text"], True), i)
        self.assertTrue(self.server.wait_idle())

    def test_a_client_that_vanishes_frees_its_slot(self):
        stream = self.server.stream(TEXT, LONG)
        stream.first()
        self.assertEqual(self.server.stats()["running"], 1)
        stream.vanish()
        self.assertTrue(self.server.wait_idle(10))
        self.assertIn("cancelled", json.dumps(self.server.get("/v1/requests").json()))

    def test_books_hold_figures_and_no_content(self):
        before, lines = self.server.metric("freetoken_generated_tokens_total"), len(self.server.log.splitlines())
        self.server.post("/generate", {"prompt": "a secret 秘密", "max_tokens": 5, "ignore_eos": True})
        self.assertEqual(self.server.metric("freetoken_generated_tokens_total"), before + 5)
        time.sleep(0.2)
        new = self.server.log.splitlines()[lines:]
        self.assertEqual(len(new), 1, new)
        for word in ("queue", "prompt", "decode", "cached", "expert hits", "swap in"):
            self.assertIn(word, new[0])
        rows = self.server.get("/v1/requests").json()["requests"]
        self.assertIn("queue_ms", rows[-1])
        self.assertNotIn("secret", json.dumps(rows) + self.server.log)

    def test_hundreds_of_idle_connections(self):
        held = []
        try:
            for _ in range(300):
                held.append(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20))
                held[-1].request("GET", "/health")
            for connection in held:
                self.assertEqual(connection.getresponse().status, 200)
            self.assertEqual(self.server.post("/generate", {"prompt": "x", "max_tokens": 2}).status, 200)
        finally:
            for connection in held:
                connection.close()


class Keys(harness.Case):
    def test_keys_are_needed_and_read_again(self):
        keys = self.write("keys", "first-key\n")
        with serving.Server(self.folder, {"server": {"api_keys_file": str(keys)}}) as server:
            def use(key):
                return server.get("/v1/models", headers={"Authorization": "Bearer " + key}).status

            self.assertEqual((use("first-key"), use("second-key"), use("first-ke")), (200, 401, 401))
            self.assertEqual(server.get("/v1/models", headers={"x-api-key": "first-key"}).status, 200)
            self.assertEqual(server.post("/v1/messages", {}).json()["error"]["type"], "authentication_error")
            keys.write_text("second-key\n")
            server.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 10
            while use("second-key") != 200 and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual((use("first-key"), use("second-key")), (401, 200))
            self.assertNotIn("first-key", server.log)


class Bodies(harness.Case):
    def test_they_share_the_memory_that_there_is_for_them(self):
        with serving.Server(self.folder, {"server": {"requests_mib": 1}}) as server:
            self.assertIn("planned", server.log)
            large = server.post("/v1/messages", {"messages": [{"role": "user", "content": "ab1 " * 60000}]})
            self.assertEqual((large.status, large.json()["error"]["type"]), (413, "request_too_large"), str(large))
            # whichever of the two comes first has the room, so the slow one begins early, and again where it was late
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
                    slow.sendall(b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"[" * 900000)
                    time.sleep(0.2)
                    reply = server.post("/api/chat", b" " * 300000)  # no chat, but that is seen once it has come
                if reply.status != 400:
                    break
            self.assertEqual(reply.status, 503, str(reply))
            self.assertIn("retry-after", reply.headers)
            self.assertIsInstance(reply.json()["error"], str)
            self.assertEqual(server.post("/generate", {"prompt": "x", "max_tokens": 1}).status, 200)


class Started(harness.Case):
    """Servers that are started in other ways than those of the other tests"""

    def started(self, *args, **more):
        port = serving.free_port()
        process = subprocess.Popen([harness.PROGRAM, "serve", str(DEMO), "--port", str(port), *args], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, **{"env": harness.environment(), **more})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + serving.START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            try:
                if serving.call(port, "GET", "/health", timeout=5).status == 200:
                    return port, process
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError("the server did not start")

    def test_a_context_that_the_model_has_not(self):
        # a variable for the whole machine is cut; who asks for this model's is told
        log = self.path("variable.log")
        with open(log, "wb") as stderr:
            port, _ = self.started(stderr=stderr, env=harness.environment({"OLLAMA_CONTEXT_LENGTH": "4096"}))
        self.assertEqual(serving.call(port, "GET", "/v1/models").json()["data"][0]["max_model_len"], 1024)
        self.assertIn("[kv] OLLAMA_CONTEXT_LENGTH asks for a context of 4096 tokens, but", log.read_text())
        for flags in (("-c", 2048), ("--ctx", 2048), ("--set", "kv_cache.max_context=2048")):
            r = run("serve", DEMO, *flags, "--port", serving.free_port())
            self.refused(r, "a context of 2048 tokens is asked for", "made for 1024", "Choose 1024 or less by --ctx")
            self.assertNotIn("Shorten", r.err)
            self.assertNotIn("needed", r.err)

    def test_a_log_that_nobody_reads_stops_nothing(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(writer, True)
        port, process = self.started(stderr=writer)
        os.close(writer)
        for _ in range(3):
            self.assertEqual(serving.call(port, "POST", "/generate", {"prompt": "x", "max_tokens": 1}).status, 200)
        self.assertEqual(serving.call(port, "GET", "/health").status, 200)
        process.terminate()
        self.assertEqual(process.wait(30), 0)

    def test_a_profile_takes_the_context_that_the_model_has(self):
        log = self.path("profile.log")
        with open(log, "wb") as stderr:
            self.started("--profile", "long", stderr=stderr)
        said = log.read_text()
        self.assertIn("--profile long asks for a context of 32768 tokens, but the model was made for 1024", said)
        self.assertIn("max context: 1024", said)
        printed = self.path("printed.yaml")
        printed.write_bytes(self.good(run("serve", DEMO, "--profile", "long", "--print-config")).out)
        self.good(run("run", "--config", printed, "-p", "hi", "-n", 1))
        self.started("--config", printed, stderr=subprocess.DEVNULL)

    def test_a_model_file_that_is_cut_short(self):
        model = self.write("cut.gguf", DEMO.read_bytes())
        too_small = ("--ram", 0.001, "--ctx", 1024, "--set", "inference.batch_size=8", "--set", "server.requests_mib=1")
        least = re.search(r"([0-9.]+) GiB of RAM are needed", run("serve", model, *too_small).err)
        options = {"model": {"path": str(model)}, "memory": {"ram_budget": float(least[1]) + 0.001}, "server": {"requests_mib": 1}}
        with serving.Server(self.folder, options) as server:
            self.assertRegex(server.log, r"on the drive: \d+ of")
            os.truncate(model, model.stat().st_size // 2)
            for _ in range(2):
                broken = server.post("/generate", {"prompt": "What is a router?", "max_tokens": 60, "ignore_eos": True})
                self.assertEqual(broken.status, 500, str(broken))
            health = server.get("/health")
            self.assertEqual((health.status, health.json()["status"]), (503, "failed"))
            time.sleep(0.2)
            causes = [line for line in server.log.splitlines() if "cannot be computed" in line]
            self.assertEqual(len(causes), 1, causes)
            self.assertIn("cut.gguf", causes[0])


class Stopping(harness.Case):
    def test_what_runs_is_ended_in_order(self):
        options = {"server": {"drain_timeout": 1}, "inference": {"batch_size": 2, "interactive_slots": 1}}
        with serving.Server(self.folder, options) as server:
            stream = server.stream(TEXT, {**LONG, "n": 100})
            stream.first()
            server.terminate()
            time.sleep(0.2)
            health = server.get("/health")
            self.assertEqual((health.status, health.json()["status"]), (503, "draining"))
            late = server.post("/generate", {"prompt": "x"})
            self.assertEqual(late.status, 503)
            self.assertIn("retry-after", late.headers)
            rest = list(stream)
            self.assertTrue(rest[-1] == "[DONE]" or "error" in json.loads(rest[-1]), rest[-1:])
            self.assertEqual(server.process.wait(30), 0)

    def test_an_idle_server_ends_at_once(self):
        with serving.Server(self.folder) as server:
            start = time.monotonic()
            server.process.send_signal(signal.SIGINT)
            self.assertEqual(server.process.wait(20), 0)
            self.assertLess(time.monotonic() - start, 15)
            self.assertIn("[serve] stopping: no request is under way", server.log)
            self.assertTrue(server.log.endswith("[serve] stopped\n"), server.log[-300:])


if __name__ == "__main__":
    harness.main()
