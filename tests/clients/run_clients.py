"""Clients that no one here wrote, against a running server: the official packages of three dialects, curl, promtool.

The npm packages are those of package-lock.json: npm ci --prefix tests/clients --ignore-scripts
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import harness  # noqa: E402
import proxies  # noqa: E402
import serving  # noqa: E402

NODE = 20
SEED = {"prompt": "请用一句话解释什么是MoE模型", "max_tokens": 24}


def node():
    """The path of Node with the packages of this folder, or the test is skipped."""
    path = shutil.which("node")
    said = subprocess.run([path, "--version"], stdout=subprocess.PIPE).stdout.decode() if path else ""
    version = re.match(r"v(\d+)", said)
    if not version or int(version[1]) < NODE:
        raise unittest.SkipTest("needs Node %d" % NODE)
    if not (HERE / "node_modules/.package-lock.json").exists():
        raise unittest.SkipTest("needs the npm packages of tests/clients")
    return path


class Client(serving.ServedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.url = "http://127.0.0.1:%d" % cls.server.port


class Packages(Client):
    def cases(self, file):
        """Runs the tests of one file -> [(name, whether it passed, what was said of it)]"""
        env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        done = subprocess.run([node(), "--test-reporter=tap", str(HERE / file)], env={**env, "FREETOKEN_URL": self.url}, cwd=HERE,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        said = done.stdout.decode("utf-8", "replace")
        found = re.findall(r"^(ok|not ok) \d+ - (.*)\n((?:  .*\n)*)", said, re.M)
        self.assertTrue(found, said)
        self.assertEqual(done.returncode, 0 if all(word == "ok" for word, _, _ in found) else 1, said)
        return [(name, word == "ok", text) for word, name, text in found]

    def check(self, file, at_least):
        found = self.cases(file)
        self.assertGreaterEqual(len(found), at_least)
        for name, passed, text in found:
            with self.subTest(file=file, case=name):
                self.assertTrue(passed, text)
        self.assertTrue(self.server.wait_idle())

    def test_openai(self):
        self.check("openai.test.mjs", 9)

    def test_anthropic(self):
        self.check("anthropic.test.mjs", 7)

    def test_ollama(self):
        self.check("ollama.test.mjs", 7)

    def test_answers_that_have_to_fit(self):
        self.check("constrained.test.mjs", 4)


class Curl(Client):
    def curl(self, path, body=None, *flags):
        """-> (status, body)"""
        command = [proxies.program("curl"), "-sS", "--noproxy", "*", "-w", "\n%{http_code}", *flags, self.url + path]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
        done = subprocess.run(command, input=json.dumps(body).encode() if body is not None else b"", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        text, _, status = done.stdout.decode().rpartition("\n")
        return int(status), text

    def test_generate(self):
        status, text = self.curl("/generate", SEED)
        answer = json.loads(text)
        self.assertEqual(status, 200, text)
        self.assertTrue(answer["text"])
        self.assertLessEqual(answer["timings"]["predicted_n"], 24)

    def test_stream(self):
        body = {**SEED, "temperature": 0}
        status, text = self.curl("/generate", {**body, "stream": True}, "-N")
        self.assertEqual(status, 200)
        events = [json.loads(l[6:]) for l in text.splitlines() if l.startswith("data: {")]
        whole = json.loads(self.curl("/generate", body)[1])
        self.assertEqual("".join(e.get("text", "") for e in events), whole["text"])
        self.assertEqual(events[-1]["finish_reason"], whole["finish_reason"])
        self.assertGreater(len(events), 2)

    def test_tokens_and_template(self):
        ids = json.loads(self.curl("/tokenize", {"content": "Expert cache, 专家缓存 🙂"})[1])["tokens"]
        self.assertEqual(json.loads(self.curl("/detokenize", {"tokens": ids})[1])["content"], "Expert cache, 专家缓存 🙂")
        prompt = json.loads(self.curl("/apply-template", {"messages": [{"role": "user", "content": "Hello"}]})[1])["prompt"]
        self.assertRegex(prompt, r"(?s).+Hello.+")

    def test_health_statistics_and_requests(self):
        self.assertEqual([self.curl(path)[0] for path in ("/health", "/health/live", "/v1/stats", "/v1/requests", "/metrics")],
                         [200] * 5)
        self.assertEqual(self.curl("/health", None, "-I")[0], 200)

    def test_refusals(self):
        status, text = self.curl("/generate", {"prompt": "x", "max_tokens": "many"})
        self.assertEqual(status, 400)
        self.assertIn("max_tokens", str(json.loads(text)["error"]))
        self.assertEqual(self.curl("/nothing")[0], 404)


class Metrics(Client):
    def test_promtool(self):
        """Its only complaint is the colon in names that were chosen by others, which is for recording rules."""
        promtool = proxies.program("promtool")
        self.server.post("/generate", SEED)
        text = self.server.get("/metrics").body
        done = subprocess.run([promtool, "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = [l for l in done.stdout.decode().splitlines() if l.strip()]
        self.assertIn(done.returncode, (0, 3), said)  # 3: parsed, with complaints
        self.assertEqual([l for l in said if not re.match(r"vllm:\w+ metric names should not contain ':'", l)], [])

    def test_promtool_finds_faults(self):
        promtool = proxies.program("promtool")
        text = self.server.get("/metrics").body + b"no value\n"
        done = subprocess.run([promtool, "check", "metrics"], input=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    harness.main()
