"""A running `freetoken serve` for tests, and a small client for it.

    with serving.Server(folder) as server:
        reply = server.post("/generate", {"prompt": "Hello.", "max_tokens": 4})
"""
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import time

import harness

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
START_SECONDS = 120
OPTIONS = {
    "model": {"path": str(harness.DEMO), "served_model_name": "local-moe"},
    "kv_cache": {"max_context": 1024},
    "inference": {"batch_size": 8, "interactive_slots": 2, "max_tokens": 64},
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Reply:
    """One answer: status, headers by their names in small letters, body"""

    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers}

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return "HTTP %d %s" % (self.status, self.body[:300].decode("utf-8", "replace"))


class Stream:
    """An answer that comes as server-sent events, read one at a time. Raises OSError or HTTPException where it is cut."""

    def __init__(self, port, path, body, headers=None, timeout=120):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.headers = {name.lower(): value for name, value in self.response.getheaders()}

    def __iter__(self):
        """The data of each event, the closing [DONE] included"""
        while line := self.response.readline():
            if line.startswith(b"data:"):
                yield line[5:].strip().decode()

    def first(self):
        return next(iter(self))

    def rest(self):
        """-> (text of all completion events that are left, whether [DONE] came)"""
        text, done = "", False
        for data in self:
            done = data == "[DONE]"
            text += "" if done else text_of(json.loads(data))
        return text, done

    def vanish(self):
        """As a client that is gone: whatever still comes is refused."""
        for s in (self.connection.sock, getattr(self.response.fp, "raw", None) and self.response.fp.raw._sock):
            if s is not None:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()


def text_of(event):
    """Of an event or a whole answer of /v1/completions or /v1/chat/completions"""
    choice = event["choices"][0] if event.get("choices") else {}
    part = choice.get("delta", choice.get("message", choice))
    return part.get("text") or part.get("content") or ""


def call(port, method, path, body=None, headers=None, timeout=120):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        r = connection.getresponse()
        return Reply(r.status, r.getheaders(), r.read())
    finally:
        connection.close()


class Server:
    """options: {section: {key: value}} over OPTIONS; log: everything it wrote"""

    def __init__(self, folder, options=None, flags=(), env=None, port=None):
        self.port = port or free_port()
        sections = {name: dict(keys) for name, keys in OPTIONS.items()}
        for name, keys in {**(options or {}), "server": {"port": self.port, **(options or {}).get("server", {})}}.items():
            sections.setdefault(name, {}).update(keys)
        stem = pathlib.Path(folder) / ("server-%d-%d" % (self.port, time.monotonic_ns()))
        config, self.log_path = stem.with_suffix(".yaml"), stem.with_suffix(".log")
        config.write_text("".join("%s: %s\n" % (name, json.dumps(keys)) for name, keys in sections.items()))
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([harness.PROGRAM, "serve", "--config", str(config), *map(str, flags)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=harness.environment(env))

    def __enter__(self):
        try:
            return self.wait_ready()
        except BaseException:
            self.kill()
            raise

    def __exit__(self, *_):
        self.stop()

    def wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.get("/health", timeout=5).status == 200:
                    return self
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.05)
        raise AssertionError("the server did not start: %s" % self.log[-1500:])

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def get(self, path, **more):
        return call(self.port, "GET", path, **more)

    def post(self, path, body, **more):
        return call(self.port, "POST", path, body, **more)

    def stream(self, path, body, headers=None, timeout=120):
        return Stream(self.port, path, {**body, "stream": True}, headers, timeout)

    def stats(self):
        return self.get("/v1/stats").json()

    def metrics(self):
        """{name with its labels: value}"""
        samples = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                samples[name] = float(value)
        return samples

    def metric(self, name):
        """The sum over the label sets of one name"""
        found = [value for sample, value in self.metrics().items() if sample.partition("{")[0] == name]
        if not found:
            raise AssertionError("/metrics has no %s" % name)
        return sum(found)

    def wait_idle(self, seconds=30):
        """Whether nothing runs or waits any more"""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            stats = self.stats()
            if stats["running"] == 0 and stats["waiting"] == 0:
                return True
            time.sleep(0.05)
        return False

    def resident_bytes(self):
        for line in pathlib.Path("/proc/%d/status" % self.process.pid).read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the server has ended")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self):
        """-> exit status of an orderly end; what does not end in time is killed"""
        if self.process.poll() is None:
            self.terminate()
            try:
                return self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode


class ServedCase(harness.Case):
    """A case with a server of its own, which is ready when the first test begins: cls.server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(cls.folder).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        super().tearDownClass()
