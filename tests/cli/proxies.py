"""The shipped haproxy.cfg and nginx.conf, moved to the ports and folders of a test, and started."""
import os
import shutil
import socket
import subprocess
import time
import unittest

import serving
from harness import TOP

SYSTEM_PATH = ":/usr/local/sbin:/usr/sbin:/sbin"


def program(name):
    """Its path, or the test is skipped."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + SYSTEM_PATH)
    if not found:
        raise unittest.SkipTest("needs program %s" % name)
    return found


def moved(file, places):
    """The text of a shipped file with each of the shipped places replaced, every one of which must be there"""
    text = (TOP / "deploy" / file).read_text()
    for shipped, ours in places:
        if shipped not in text:
            raise AssertionError("deploy/%s does not say '%s'" % (file, shipped))
        text = text.replace(shipped, ours)
    return text


class Proxy:
    """In front of two replicas, on a free port of its own"""

    def __init__(self, folder, replicas):
        self.folder, self.port = folder / self.file, serving.free_port()
        self.folder.mkdir(exist_ok=True)
        os.chmod(folder, 0o755)  # a proxy of root's works as another user
        self.path = self.folder / self.file
        ports = [replica.port for replica in replicas]
        self.path.write_text(self.text(ports))
        self.homes = dict(zip(self.names(ports), replicas))
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait_ready()

    def wait_ready(self):
        end = time.monotonic() + 20
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise AssertionError("%s did not start: %s" % (self.file, (self.folder / "log").read_text()[-1500:]))

    def home(self, headers):
        """The replica that gave an answer; of several that were asked the last"""
        return self.homes[headers["x-served-by"].rpartition(", ")[2]]

    def ports(self, ports):
        return [("127.0.0.1:8080", "127.0.0.1:%d" % self.port), ("127.0.0.1:8081", "127.0.0.1:%d" % ports[0]),
                ("127.0.0.1:8082", "127.0.0.1:%d" % ports[1])]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Haproxy(Proxy):
    file = "haproxy.cfg"

    def text(self, ports):
        # another user than root stays who he is
        users = [] if os.geteuid() == 0 else [("    user haproxy\n    group haproxy\n", "")]
        return moved(self.file, self.ports(ports) + users)

    def names(self, _):
        return ["a", "b"]

    def command(self, check=False):
        return [program("haproxy"), "-f", str(self.path)] + (["-c"] if check else ["-db"])


class Nginx(Proxy):
    file = "nginx.conf"

    def text(self, ports):
        own = "".join("    %s_temp_path %s/%s;\n" % (kind, self.folder, kind)
                      for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return moved(self.file, self.ports(ports) + [("/var/log/nginx", str(self.folder)), ("/run/nginx.pid", str(self.folder / "pid")),
                                                     ("http {\n", "http {\n" + own)])

    def names(self, ports):
        return ["127.0.0.1:%d" % port for port in ports]

    def command(self, check=False):
        return [program("nginx"), "-p", str(self.folder), "-c", str(self.path)] + (["-t"] if check else ["-g", "daemon off;"])
