"""pull from a server that no one here wrote: nginx with the tree of a hub, whose connections are cut and which is busy."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import harness
import proxies
import pull_test
import serving
from harness import DEMO, SMALL

SPLIT = sorted((SMALL / "mixtral-q8-split").glob("*.gguf"))
KIB_PER_SECOND = 2048  # of each connection

CONFIG = """
{user}
daemon off;
worker_processes 2;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    {temporary}
    default_type application/octet-stream;
    absolute_redirect off;
    log_format parts '$request_uri $status "$http_range" $body_bytes_sent';
    access_log {folder}/access.log parts;
    server {{
        listen 127.0.0.1:{port};
        location /api/models/ {{
            default_type application/json;
            if (-f {folder}/busy) {{ return 503; }}
            rewrite ^/api/models/([^/]+/[^/]+)/tree/main$ /list/$1.json last;
        }}
        location /list/ {{ internal; root {folder}; }}
        # as a hub does: the file's address leads to the place that has its bytes
        location ~ ^/([^/]+/[^/]+)/resolve/main/(.+)$ {{ return 302 /bytes/$1/$2; }}
        location /bytes/ {{ root {folder}; limit_rate {rate}k; }}
        location /plain/ {{ alias {folder}/bytes/; max_ranges 0; }}
    }}
}}
"""


class HubOfNginx:
    """files: {"OWNER/REPO": {name: bytes}}"""

    def __init__(self, folder, files):
        self.folder, self.port = folder, serving.free_port()
        folder.mkdir()
        for name, contents in files.items():
            rows = [{"type": "file", "path": path, "size": len(content), "oid": "0" * 40,
                     "lfs": {"oid": pull_test.digest(content), "size": len(content)}} for path, content in contents.items()]
            self.put("list/%s.json" % name, json.dumps(rows).encode())
            for path, content in contents.items():
                self.put("bytes/%s/%s" % (name, path), content)
        temporary = "".join("%s_temp_path %s/%s; " % (kind, folder, kind)
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.geteuid() == 0 else ""  # the test's folder is its user's alone
        self.put("nginx.conf", CONFIG.format(user=user, folder=folder, port=self.port, rate=KIB_PER_SECOND,
                                             temporary=temporary).encode())
        command = [proxies.program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        self.url = "http://127.0.0.1:%d" % self.port
        self.wait_ready()

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def wait_ready(self):
        end = time.monotonic() + 20
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if serving.call(self.port, "GET", "/nothing", timeout=5).status == 404:
                    return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise AssertionError("nginx did not start: %s" % (self.folder / "error.log").read_text()[-1500:])

    def workers(self):
        """Process ids of those that hold the connections; children of the one that was started"""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except (OSError, IndexError):
                    continue
                if parent == self.process.pid:
                    found.append(int(entry.name))
        return found

    def cut_connections(self):
        """All of them at once, in the middle of what they send; new ones are taken by new workers."""
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)

    def parts(self):
        """[(status, Range, bytes sent)] of files, as nginx logs them"""
        lines = re.findall(r'^/bytes/\S+ (\d+) "([^"]*)" (\d+)$', (self.folder / "access.log").read_text(), re.M)
        return [(int(status), asked, int(sent)) for status, asked, sent in lines]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def written(content):
    """How much of a file is there, whose room was taken at once: bytes that are not 0"""
    return len(content) - content.count(0)


class PullFromNginx(harness.Case):
    @classmethod
    def setUpClass(cls):
        proxies.program("nginx")
        super().setUpClass()
        cls.demo = DEMO.read_bytes()
        cls.nginx = HubOfNginx(cls.folder / "nginx", {"o/r": {"demo-Q4_K_M.gguf": cls.demo, "README.md": b"x"},
                                                      "o/split": {p.name: p.read_bytes() for p in SPLIT}})

    @classmethod
    def tearDownClass(cls):
        cls.nginx.stop()
        super().tearDownClass()

    def setUp(self):
        self.home = self.folder / self.id().rsplit(".", 1)[-1]
        self.home.mkdir()
        self.store = self.home / "data/freetoken/models"
        self.env = {"FREETOKEN_HUB": self.nginx.url, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"),
                    "XDG_CACHE_HOME": str(self.home / "cache"), "HF_TOKEN": "", "HF_ENDPOINT": "", "no_proxy": "127.0.0.1"}

    def start(self, *args):
        return subprocess.Popen([harness.PROGRAM, "pull", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=harness.environment(self.env))

    def finish(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err.decode())
        return out.decode(), err.decode()

    def wait_for(self, what, process):
        """Until something is seen; the program that is to bring it about still runs."""
        end = time.monotonic() + 60
        while time.monotonic() < end and not what():
            if process.poll() is not None:
                self.fail("it ended first: %s" % process.stderr.read().decode())
            time.sleep(0.02)

    def test_connections_that_are_cut_cost_little(self):
        part = self.store / "o/r/demo-Q4_K_M.gguf.part"
        pull = self.start("o/r", "--connections", "4")
        for share in (0.2, 0.4, 0.6):
            self.wait_for(lambda: part.exists() and written(part.read_bytes()) > share * written(self.demo), pull)
            self.nginx.cut_connections()
        out, err = self.finish(pull)
        self.assertEqual(out, "model.path: %s\n" % (self.store / "o/r/demo-Q4_K_M.gguf"))
        self.assertIn("SHA-256", err)
        self.assertEqual((self.store / "o/r/demo-Q4_K_M.gguf").read_bytes(), self.demo)
        asked = [(status, asked) for status, asked, _ in self.nginx.parts()]
        self.assertTrue(all(status == 206 and span.startswith("bytes=") for status, span in asked), asked)
        self.assertFalse(part.exists())
        # a killed worker logs nothing: what was sent whole is at most the file and a header
        self.assertLess(sum(sent for _, _, sent in self.nginx.parts()), len(self.demo) * 1.5 + 8_000_000)

    def test_a_busy_server_is_asked_again(self):
        busy = self.nginx.folder / "busy"
        busy.write_bytes(b"")
        log = self.nginx.folder / "access.log"
        before = log.read_text().count(" 503 ")
        pull = self.start("o/split")
        try:
            self.wait_for(lambda: log.read_text().count(" 503 ") > before, pull)
        finally:
            busy.unlink()
        out, err = self.finish(pull)
        self.assertIn("answers 503; asking again", err)
        self.assertEqual(out, "model.path: %s\n" % (self.store / "o/split" / SPLIT[0].name))
        for path in SPLIT:
            self.assertEqual((self.store / "o/split" / path.name).read_bytes(), path.read_bytes())

    def test_a_location_without_ranges(self):
        out, err = self.finish(self.start(self.nginx.url + "/plain/o/r/demo-Q4_K_M.gguf"))
        path = pathlib.Path(out.split(": ", 1)[1].strip())
        self.assertEqual(path.read_bytes(), self.demo)
        self.assertIn("no parts of files", err)


if __name__ == "__main__":
    harness.main()
