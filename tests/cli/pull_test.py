"""pull, list, rm and names of models, against a server of this test that has the shape of a hub, and misbehaves."""
import hashlib
import http.server
import json
import os
import pathlib
import pty
import re
import signal
import socketserver
import subprocess
import threading
import time
import urllib.parse

import harness
import serving
from harness import DEMO, SMALL, run

MODEL = SMALL / "qwen3moe-q4km/model.gguf"
SPLIT = sorted((SMALL / "mixtral-q8-split").glob("*.gguf"))
DENSE = SMALL / "llama-f32/model.gguf"


class Hub:
    """Files by repository, and what goes wrong with them."""

    def __init__(self):
        self.files = {}      # "OWNER/REPO" -> {path: bytes}
        self.manifests = {}  # "OWNER/NAME/TAG" -> blob
        self.lies = {}       # path -> digest that is told
        self.cut = 0         # bytes after which a connection ends; 0: never
        self.ranges = True
        self.token = None    # that is needed
        self.status = None   # of every answer
        self.failing = 0     # so many requests are not answered well, by turns in two ways
        self.tree = None     # in place of the list
        self.pause = 0       # seconds before each file's bytes
        self.gate = None     # an event that bytes from 8 MB on wait for
        self.sent, self.seen = 0, []  # bytes of files; (path, Authorization)
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                hub.answer(self)

            def log_message(self, *args):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *args):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        path = urllib.parse.unquote(urllib.parse.urlsplit(request.path).path)
        given = request.headers.get("Authorization")
        self.seen.append((path, given))
        if self.failing > 0:
            self.failing -= 1
            if self.failing % 2:
                return self.text(request, 503, b"")
            request.close_connection = True
            return None
        if self.status:
            return self.text(request, self.status, b"")
        if self.token and given != "Bearer " + self.token:
            return self.text(request, 401, b"")
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"] and parts[4:5] == ["tree"]:
            return self.list(request, "/".join(parts[2:4]))
        if parts[2:3] == ["resolve"] and "/".join(parts[:2]) in self.files:
            return self.file(request, self.files["/".join(parts[:2])].get("/".join(parts[4:])))
        if parts[0] == "v2" and parts[3] == "manifests":
            blob = self.manifests.get("/".join(parts[1:3] + parts[4:]))
            return self.text(request, 404, b"") if blob is None else self.text(request, 200, manifest(blob))
        if parts[0] == "v2" and parts[3] == "blobs":
            blobs = {"sha256:" + digest(b): b for b in self.manifests.values()}
            return self.file(request, blobs.get(parts[4]))
        if parts[0] == "plain":
            return self.file(request, self.files["plain"].get(parts[1]))
        return self.text(request, 404, b"")

    def list(self, request, name):
        if self.tree is not None:
            return self.text(request, 200, self.tree)
        if name not in self.files:
            return self.text(request, 404, b"")
        rows = [{"type": "file", "path": p, "size": len(b), "oid": "0" * 40,
                 "lfs": {"oid": self.lies.get(p, digest(b)), "size": len(b), "pointerSize": 130}}
                for p, b in self.files[name].items()]
        return self.text(request, 200, json.dumps(rows).encode())

    def text(self, request, status, body):
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def file(self, request, content):
        if content is None:
            return self.text(request, 404, b"")
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", "")) if self.ranges else None
        begin, end = (int(wanted[1]), min(int(wanted[2]), len(content) - 1)) if wanted else (0, len(content) - 1)
        request.send_response(206 if wanted else 200)
        request.send_header("Content-Length", str(end - begin + 1))
        request.send_header("ETag", '"%s"' % digest(content)[:16])
        if wanted:
            request.send_header("Content-Range", "bytes %d-%d/%d" % (begin, end, len(content)))
        request.end_headers()
        body = content[begin : end + 1]
        if self.pause and len(body) > 1:
            time.sleep(self.pause)
        if self.gate and begin > 8_000_000:
            self.gate.wait(60)
        if self.cut and len(body) > self.cut and begin > 0:
            body = body[: self.cut]
        self.sent += request.wfile.write(body)
        request.wfile.flush()
        request.close_connection = True


def digest(content):
    return hashlib.sha256(content).hexdigest()


def manifest(blob):
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + digest(blob), "size": len(blob)},
              {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64, "size": 5}]
    return json.dumps({"schemaVersion": 2, "layers": layers}).encode()


class Case(harness.Case):
    """A hub, and a home of its own for each test."""

    def setUp(self):
        self.hub = Hub()
        self.demo = DEMO.read_bytes()
        self.home = self.folder / self.id().rsplit(".", 1)[-1]
        self.home.mkdir()
        self.store = self.home / "data/freetoken/models"
        self.env = {"FREETOKEN_HUB": self.hub.url, "FREETOKEN_OLLAMA": self.hub.url, "HOME": str(self.home),
                    "XDG_DATA_HOME": str(self.home / "data"), "XDG_CACHE_HOME": str(self.home / "cache"),
                    "OLLAMA_MODELS": str(self.home / "ollama"), "no_proxy": "127.0.0.1"}
        for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE"):
            self.env[name] = ""

    def tearDown(self):
        self.hub.close()

    def run_at_home(self, *args, **more):
        return run(*args, env={**self.env, **more})

    def pull(self, *args, **more):
        return self.run_at_home("pull", *args, **more)

    def path_of(self, r):
        """The line to paste, which is the last and only one."""
        self.good(r)
        lines = r.text.splitlines()
        self.assertEqual(len(lines), 1, r.text)
        self.assertTrue(lines[0].startswith("model.path: "), r.text)
        return pathlib.Path(lines[0].split(": ", 1)[1])

    def names(self):
        return [m["name"] for m in self.good(self.run_at_home("list", "--json")).json()]

    def assert_nothing_there(self):
        found = [str(p) for p in self.store.rglob("*.gguf")] if self.store.exists() else []
        self.assertEqual(found, [])


class Pull(Case):
    def test_a_model_of_a_repository(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo, "demo-Q8_0.gguf": b"GGUF" + bytes(100), "README.md": b"x"}
        path = self.path_of(self.pull("o/r"))
        self.assertEqual(path, self.store / "o/r/demo-Q4_K_M.gguf")
        self.assertEqual(path.read_bytes(), self.demo)
        self.assertEqual([p.name for p in path.parent.iterdir()], [path.name])
        config = self.write("pasted.yaml", "model.path: %s\n" % path)
        self.good(self.run_at_home("run", "--config", config, "-p", "Hello", "--max-tokens", 2, "--ctx", 128))
        again = self.pull("o/r", "--quant", "q4_k_m")
        self.assertEqual(self.path_of(again), path)
        self.assertIn("already", again.err)

    def test_connections_that_break_cost_little(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.cut = 1_000_000
        path = self.path_of(self.pull("o/r", "--retries", 9))
        self.assertEqual(path.read_bytes(), self.demo)
        self.assertLess(self.hub.sent, len(self.demo) * 1.5 + 8_000_000)

    def test_a_download_that_was_killed_goes_on(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.pause = 0.4
        for lines, end in ((2, signal.SIGKILL), (3, signal.SIGINT)):
            done = subprocess.Popen([harness.PROGRAM, "pull", "o/r", "--connections", "1"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=harness.environment(self.env))
            self.wait_for_journal(lines)
            done.send_signal(end)
            err = done.communicate(timeout=60)[1].decode()
            self.assertEqual(done.returncode, -signal.SIGKILL if end == signal.SIGKILL else 130, err)
            self.assert_nothing_there()
        self.assertIn("freetoken pull o/r", err)
        listed = self.good(self.run_at_home("list", "--json")).json()
        self.assertEqual([m["complete"] for m in listed], [False])
        self.assertGreater(listed[0]["done_bytes"], 0)
        self.refused(self.run_at_home("show", "demo-Q4_K_M"), "not finished", "freetoken pull o/r")
        self.hub.pause, before = 0, self.hub.sent
        self.assertEqual(self.path_of(self.pull("o/r")).read_bytes(), self.demo)
        self.assertLess(self.hub.sent - before, len(self.demo) + 3_000_000)

    def wait_for_journal(self, lines):
        journal = self.store / "o/r/demo-Q4_K_M.gguf.part.ranges"
        for _ in range(600):
            if journal.exists() and len(journal.read_text().splitlines()) >= lines:
                return
            time.sleep(0.05)
        self.fail("no chunk came within 30 s")

    def test_two_at_once(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.gate = threading.Event()
        first = subprocess.Popen([harness.PROGRAM, "pull", "o/r"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=harness.environment(self.env))
        self.wait_for_journal(1)
        second = self.pull("o/r")
        self.hub.gate.set()
        out = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 0, out[1].decode())
        self.refused(second, "another freetoken is downloading")
        self.assertEqual((self.store / "o/r/demo-Q4_K_M.gguf").read_bytes(), self.demo)

    def test_a_server_without_ranges(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.ranges = False
        r = self.pull("o/r")
        self.assertEqual(self.path_of(r).read_bytes(), self.demo)
        self.assertIn("no parts", r.err)

    def test_a_wrong_digest(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.lies["demo-Q4_K_M.gguf"] = "0" * 64
        self.refused(self.pull("o/r"), "SHA-256", "demo-Q4_K_M.gguf")
        self.assert_nothing_there()
        self.assertEqual(self.names(), [])

    def test_a_split_model(self):
        n = len(SPLIT)
        parts = {"Q4_K_M/m-Q4_K_M-%05d-of-%05d.gguf" % (i + 1, n): p.read_bytes() for i, p in enumerate(SPLIT)}
        self.hub.files["o/r"] = {"Q8_0/m-Q8_0.gguf": self.demo, **parts}
        path = self.path_of(self.pull("o/r"))
        self.assertEqual(path.name, "m-Q4_K_M-00001-of-%05d.gguf" % n)
        self.good(self.run_at_home("show", "m-q4_k_m"))
        self.assertEqual(self.names(), ["o/r/Q4_K_M/m-Q4_K_M"])
        self.hub.files["plain"] = {pathlib.Path(name).name: content for name, content in parts.items()}
        self.path_of(self.pull(self.hub.url + "/plain/" + path.name))
        last = "Q4_K_M/m-Q4_K_M-%05d-of-%05d.gguf" % (n, n)
        del self.hub.files["o/r"][last]
        self.refused(self.pull("o/r"), last)

    def test_the_choice(self):
        self.hub.files["o/r"] = {"a-Q4_K_M.gguf": self.demo, "a-Q5_K_M.gguf": self.demo, "b-Q5_K_M.gguf": self.demo}
        self.refused(self.pull("o/r", "--quant", "q3_k_m"), "no Q3_K_M", "Q4_K_M", "--quant")
        self.refused(self.pull("o/r", "--quant", "q5_k_m"), "--file", "b-Q5_K_M.gguf")
        self.assertEqual(self.path_of(self.pull("o/r", "--file", "b-Q5_K_M.gguf")).name, "b-Q5_K_M.gguf")
        self.assertEqual(self.path_of(self.pull("o/r:q4_k_m")).name, "a-Q4_K_M.gguf")
        self.hub.files["o/s"] = {"model.safetensors": b"x" * 100}
        self.refused(self.pull("o/s"), "no GGUF")
        self.refused(self.pull(), "OWNER/REPO")
        self.refused(self.pull("elephant"), "OWNER/REPO")
        self.refused(self.pull("ollama:m", "--quant", "q8_0"), "--quant")

    def test_addresses_and_ollama(self):
        self.hub.files["plain"] = {"m.gguf": self.demo, "page.gguf": b"<!DOCTYPE html><html>" + bytes(500)}
        self.assertEqual(self.path_of(self.pull(self.hub.url + "/plain/m.gguf?download=true")).read_bytes(), self.demo)
        self.refused(self.pull(self.hub.url + "/plain/page.gguf"), "HTML")
        self.hub.files["o/r"] = {"x-Q4_K_M.gguf": self.demo}
        r = self.pull(self.hub.url + "/o/r/resolve/main/x-Q4_K_M.gguf")
        self.assertEqual(self.path_of(r), self.store / "o/r/x-Q4_K_M.gguf")
        self.assertIn("SHA-256", r.err)
        self.hub.manifests["library/tiny/1b"] = self.demo
        self.assertEqual(self.path_of(self.pull("ollama:tiny:1b")), self.store / "ollama/library/tiny/1b.gguf")
        self.assertIn("tiny:1b", self.names())
        self.refused(self.pull("ollama:tiny"), "404")

    def test_a_gated_repository(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.token = "hf_abc"
        self.refused(self.pull("o/r"), "401", "HF_TOKEN")
        r = self.pull("o/r", HF_TOKEN="hf_wrong")
        self.refused(r, "401", "HF_TOKEN")
        self.assertNotIn("hf_wrong", r.err)
        self.path_of(self.pull("o/r", HF_TOKEN="hf_abc"))
        self.hub.seen.clear()
        self.hub.token = None
        self.hub.files["plain"] = {"m.gguf": self.demo}
        other = Hub()
        other.files["plain"] = {"m.gguf": self.demo}
        try:
            self.path_of(self.pull(other.url + "/plain/m.gguf", HF_TOKEN="hf_abc"))
            self.assertEqual({given for _, given in other.seen}, {None})
        finally:
            other.close()
        self.refused(self.pull("o/r", HF_TOKEN="hf_abc", FREETOKEN_HUB="http://hub.invalid"), "HF_TOKEN", "not encrypted")

    def test_a_server_that_refuses(self):
        for status, word in ((403, "HF_TOKEN"), (404, "check the name"), (429, "too many requests"), (500, "later")):
            with self.subTest(status=status):
                self.hub.status = status
                self.refused(self.pull("o/r", "--retries", 0), status, word, self.hub.url)
        # where nobody listens the address is wrong, and it is not asked again
        self.refused(self.pull("o/r", "--retries", 100, FREETOKEN_HUB="http://127.0.0.1:1"), "127.0.0.1:1")
        self.refused(self.pull("o/r", FREETOKEN_HUB="hub"), "FREETOKEN_HUB")

    def test_what_is_asked_first_is_asked_again(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.manifests["library/tiny/1b"] = self.demo
        for source in ("o/r", "ollama:tiny:1b"):
            with self.subTest(source=source):
                self.hub.failing = 2
                r = self.pull(source)
                self.path_of(r)
                self.assertIn("503; asking again", r.err)
        self.hub.seen.clear()
        self.hub.status = 404
        self.refused(self.pull("o/r"), "404")
        self.assertEqual(len(self.hub.seen), 1)

    def test_a_hostile_server(self):
        def entry(path, size=100, oid="0" * 64):
            return {"type": "file", "path": path, "size": size, "lfs": {"oid": oid, "size": size}}

        for name, tree in (("outside", [entry("../../x-Q4_K_M.gguf")]), ("absolute", [entry("/tmp/x-Q4_K_M.gguf")]),
                           ("control", [entry("x\n-Q4_K_M.gguf")]), ("size", [entry("x.gguf", 1 << 62)]),
                           ("digest", [entry("x.gguf", oid="x")]), ("object", {}), ("number", [7])):
            with self.subTest(name=name):
                self.hub.tree = json.dumps(tree).encode()
                self.refused(self.pull("o/r"), "the server's list")
        self.hub.tree = json.dumps([entry("x-Q4_K_M.gguf"), entry("x-Q4_K_M.gguf", 101)]).encode()
        self.refused(self.pull("o/r"), "the server's list", "x-Q4_K_M.gguf twice")
        for name, tree in (("deep", b"[" * 1_000_000), ("large", b"[" + b"1," * 5_000_000 + b"1]"), ("empty", b"")):
            with self.subTest(name=name):
                self.hub.tree = tree
                self.refused(self.pull("o/r"))
        self.assertFalse(self.store.exists())

    def test_a_file_that_is_listed_twice_is_one_file(self):
        row = {"type": "file", "path": "demo-Q4_K_M.gguf", "size": len(self.demo),
               "lfs": {"oid": digest(self.demo), "size": len(self.demo)}}
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.hub.tree = json.dumps([row, row]).encode()
        self.assertEqual(self.path_of(self.pull("o/r")).read_bytes(), self.demo)

    def test_a_pipe_in_the_place_of_the_journal_is_not_waited_for(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        path = self.store / "o/r/demo-Q4_K_M.gguf"
        path.parent.mkdir(parents=True)
        os.mkfifo(str(path) + ".part.ranges")
        self.refused(self.pull("o/r"), "part.ranges: this is no regular file")

    def test_what_does_not_fit(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        before = self.hub.sent
        self.refused(self.pull("o/r", "--set", "memory.ram_budget=0.01"), "does not fit", "--force")
        self.assertLess(self.hub.sent - before, 9_000_000)
        self.assertFalse(self.store.exists())
        self.path_of(self.pull("o/r", "--set", "memory.ram_budget=0.01", "--force"))

    def test_warnings_without_a_question(self):
        self.hub.files["o/r"] = {"dense-Q8_0.gguf": DENSE.read_bytes()}
        r = self.pull("o/r")
        self.path_of(r)
        self.assertRegex(r.err, r"(?m)^\[warn\].*dense")

    def test_a_question_at_a_terminal(self):
        self.hub.files["o/r"] = {"dense-Q8_0.gguf": DENSE.read_bytes()}
        for answer, status in ((b"n\n", 1), (b"\n", 1), (b"y\n", 0)):
            with self.subTest(answer=answer):
                ours, theirs = pty.openpty()
                os.write(ours, answer)
                done = subprocess.run([harness.PROGRAM, "pull", "o/r"], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
                                      env=harness.environment(self.env), timeout=60)
                os.close(theirs)
                os.close(ours)
                self.assertEqual(done.returncode, status)
                self.assertEqual((self.store / "o/r/dense-Q8_0.gguf").exists(), status == 0)

    def test_a_proxy(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        self.path_of(self.pull("o/r", FREETOKEN_HUB="http://hub.invalid", http_proxy=self.hub.url))

    def test_a_list_that_lies_about_a_size(self):
        self.hub.tree = json.dumps([{"type": "file", "path": "x-Q4_K_M.gguf", "size": 1 << 43}]).encode()
        self.hub.files["o/r"] = {"x-Q4_K_M.gguf": self.demo}
        self.refused(self.pull("o/r"), "the list says", 1 << 43)
        self.assertFalse(self.store.exists())

    def test_the_store_is_a_setting(self):
        self.hub.files["o/r"] = {"demo-Q4_K_M.gguf": self.demo}
        other = self.home / "my models"
        r = self.good(self.pull("o/r", "--set", "model.store=%s" % other))
        self.assertEqual(r.text, 'model.path: "%s"\n' % (other / "o/r/demo-Q4_K_M.gguf"))
        self.assertEqual(self.names(), [])
        env = {"FREETOKEN_MODEL_STORE": str(other)}
        self.assertEqual(len(self.good(self.run_at_home("list", "--json", **env)).json()), 1)
        self.good(self.run_at_home("show", "demo-q4_k_m", **env))
        config = self.write("store.yaml", "model:\n  store: %s\n" % other)
        self.good(self.run_at_home("plan", "demo-q4_k_m", "--config", config, "--ram", 4, "--ctx", 128))


class Names(Case):
    def put(self, path, content=None):
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if content is not None else MODEL.read_bytes())
        return path

    def test_models_of_other_programs(self):
        content = MODEL.read_bytes()
        self.put("ollama/manifests/registry.ollama.ai/library/tiny/1b", manifest(content))
        blob = self.put("ollama/blobs/sha256-" + digest(content))
        self.put(".lmstudio/models/o/r/lm-Q4_K_M.gguf")
        self.put("cache/llama.cpp/o_r_cpp-Q4_K_M.gguf")
        linked = self.put("cache/huggingface/hub/models--o--r/blobs/" + digest(content))
        self.put("cache/huggingface/hub/models--o--r/refs/main", b"rev")
        snapshot = self.home / "cache/huggingface/hub/models--o--r/snapshots/rev"
        snapshot.mkdir(parents=True)
        os.symlink(linked, snapshot / "hf-Q4_K_M.gguf")
        listed = {m["name"]: m for m in self.good(self.run_at_home("list", "--json")).json()}
        self.assertEqual(sorted(listed), ["huggingface:o/r/hf-Q4_K_M", "llama.cpp:o_r_cpp-Q4_K_M",
                                          "lm-studio:o/r/lm-Q4_K_M", "ollama:tiny:1b"])
        self.assertEqual(listed["ollama:tiny:1b"]["path"], str(blob))
        self.assertGreater(listed["ollama:tiny:1b"]["experts"]["count"], 0)
        text = self.good(self.run_at_home("list")).text
        for name in listed:
            self.assertIn(name, text)
        for word in ("ollama:tiny:1b", "tiny:1b", "lm-q4_k_m", "hf-Q4_K_M.gguf", "o_r_cpp-Q4_K_M"):
            with self.subTest(word=word):
                self.good(self.run_at_home("show", word, "--json"))
        for word in ("tiny:1b", "lm-q4_k_m"):
            self.refused(self.run_at_home("rm", word), "belongs to")
        self.assertTrue(blob.exists())

    def test_a_server_has_the_name_of_the_list(self):
        content = DEMO.read_bytes()
        self.put("ollama/manifests/registry.ollama.ai/library/demo/28m", manifest(content))
        self.put("ollama/blobs/sha256-" + digest(content), content)
        self.put(".lmstudio/models/pub/Demo-GGUF/lm-Q4_K_M.gguf", content)
        self.assertIn("demo:28m: ", self.good(self.run_at_home("plan", "demo:28m", "--ctx", 128)).text.splitlines()[0])
        question = {"messages": [{"role": "user", "content": "Hi"}], "stream": False, "options": {"num_predict": 1}}
        for word, name, others in (
                ("demo:28m", "demo:28m", ["ollama:demo:28m"]),
                ("lm-studio:pub/Demo-GGUF/lm-Q4_K_M", "pub/Demo-GGUF/lm-Q4_K_M", ["lm-studio:pub/Demo-GGUF/lm-Q4_K_M"])):
            options = {"model": {"path": word, "served_model_name": None}, "kv_cache": {"max_context": 128}}
            with self.subTest(word=word), serving.Server(self.folder, options, env=self.env) as server:
                self.assertEqual(server.get("/v1/models").json()["data"][0]["id"], name)
                self.assertEqual(server.get("/api/tags").json()["models"][0]["name"], name)
                for asked in [name, name + ":latest", *others]:
                    reply = server.post("/api/chat", {"model": asked, **question})
                    self.assertEqual(reply.status, 200, "%s: %s" % (asked, reply))
                self.assertEqual(server.post("/api/chat", {"model": "demo:7b", **question}).status, 404)
                self.assertIn("model loaded: %s, " % name, server.log)
                self.assertIn(name, self.good(self.run_at_home("ps")).text)
                self.assertNotIn("sha256-", server.log)

    def test_every_command_takes_a_name(self):
        path = self.put("data/freetoken/models/o/r/demo-Q4_K_M.gguf", DEMO.read_bytes())
        self.good(self.run_at_home("run", "demo-q4_k_m", "-p", "Hello", "--max-tokens", 2, "--ctx", 128))
        for command in (("show", "o/r"), ("plan", "o/r", "--ram", 4, "--ctx", 128), ("tokenize", "o/r"), ("detokenize", "o/r"),
                        ("render", "o/r"), ("run", "--set", "model.path=o/r", "-p", "Hi", "--max-tokens", 1, "--ctx", 128)):
            with self.subTest(command=command[0]):
                self.good(self.run_at_home(*command))
        for command in ("run", "show", "tokenize", "bench"):
            with self.subTest(command=command):
                self.refused(self.run_at_home(command, "demo-q4_k_s"), "demo-q4_k_s", "Did you mean demo-Q4_K_M?")
        self.assertTrue(path.exists())

    def test_a_file_comes_before_a_name(self):
        self.put("data/freetoken/models/o/r/m.gguf")
        (self.home / "m").write_bytes(b"no model")
        done = subprocess.run([harness.PROGRAM, "show", "m"], cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=harness.environment(self.env))
        self.assertEqual(done.returncode, 2, done.stderr.decode())

    def test_a_modelfile_takes_a_file_or_a_name(self):
        self.put("data/freetoken/models/o/r/demo-Q4_K_M.gguf", DEMO.read_bytes())
        for name in ("o/r", "demo-q4_k_m", "hf.co/o/r:Q4_K_M", "./demo.gguf"):
            with self.subTest(name=name):
                modelfile = self.put("Modelfile", b"# ours\nFROM %s\n" % name.encode())
                self.put("demo.gguf", DEMO.read_bytes())
                # the model is found, and what is wrong comes after it
                self.refused(self.run_at_home("serve", "--modelfile", modelfile, "--host", "0.0.0.0"), "0.0.0.0", "key")
        modelfile = self.put("Modelfile", b"FROM qwen3:30b-a3b\n")
        self.refused(self.run_at_home("serve", "--modelfile", modelfile), "Modelfile line 1", "qwen3:30b-a3b", "freetoken pull")

    def test_a_folder_of_safetensors(self):
        folder = self.put("trained/model.safetensors", b"x").parent
        for command in (("run", "-p", "x"), ("show",), ("tokenize",), ("serve",)):
            with self.subTest(command=command[0]):
                self.refused(self.run_at_home(command[0], folder, *command[1:]), "trained", "safetensors", "freetoken pull")

    def test_rm(self):
        kept = self.put("data/freetoken/models/o/r/kept-Q8_0.gguf")
        gone = self.put("data/freetoken/models/o/r/gone-Q4_K_M.gguf")
        self.refused(self.run_at_home("rm"), "NAME")
        self.refused(self.run_at_home("rm", "o/r"), "2 models")
        self.refused(self.run_at_home("rm", "elephant"), "elephant")
        self.refused(self.run_at_home("rm", self.put("elsewhere.gguf")), "elsewhere.gguf")
        self.assertIn("gone", self.good(self.run_at_home("rm", "gone-q4_k_m")).text)
        self.assertFalse(gone.exists())
        self.good(self.run_at_home("rm", kept))
        self.assertEqual(self.names(), [])
        self.assertEqual(list((self.home / "data/freetoken/models").iterdir()), [])

    def test_settings_in_force(self):
        for command in ("pull", "list", "rm"):
            text = self.good(self.run_at_home(command, "--set", "model.store=/somewhere", "--print-config")).text
            self.assertIn('store: "/somewhere"  # --set', text)

    def test_an_empty_store(self):
        self.assertIn("freetoken pull", self.good(self.run_at_home("list")).text)
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    harness.main()
