"""`serve` under load: many streams at once, idle connections, slow readers, clients that vanish, memory."""
import concurrent.futures
import json
import resource
import socket
import threading

import harness
import serving
from serving import TEXT, text_of

STREAMS, IDLE, SLOW = 200, 1000, 50
TOKENS = "vllm:generation_tokens_total"
BATCH = {"X-FreeToken-Lane": "batch"}


def body(i):
    return {"prompt": "Story %d about %s" % (i, ("experts", "caches", "routers", "专家")[i % 4]), "max_tokens": 4 + i * 7 % 23,
            "temperature": 0.9 if i % 2 else 0, "seed": 1000 + i}


LONG = {"prompt": "A very long story", "max_tokens": 950, "temperature": 1.2, "seed": 9, "ignore_eos": True}


def raw_request(request, headers=""):
    data = json.dumps(request).encode()
    return (b"POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (TEXT.encode(), headers.encode(), len(data))) + data


class Load(serving.ServedCase):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
        super().setUpClass()

    def sockets(self, n):
        opened = []
        self.addCleanup(lambda: [s.close() for s in opened])
        for _ in range(n):
            opened.append(socket.create_connection(("127.0.0.1", self.server.port), timeout=30))
        return opened

    def test_many_streams_at_once_are_each_as_alone(self):
        start = threading.Barrier(STREAMS)

        def one(i):
            start.wait(60)
            stream = self.server.stream(TEXT, body(i), timeout=300)
            try:
                return stream.rest()
            finally:
                stream.close()

        with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
            got = list(pool.map(one, range(STREAMS)))
        for i, (text, done) in enumerate(got):
            self.assertTrue(done, i)
            self.assertEqual(text, text_of(self.server.post(TEXT, body(i)).json()), i)
        self.assertTrue(self.server.wait_idle())

    def test_idle_connections_and_slow_readers_hold_nobody_up(self):
        want = text_of(self.server.post(TEXT, body(1)).json())
        idle = self.sockets(IDLE)
        for s in idle:
            s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        for s in idle:
            self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 200"))
        slow = self.sockets(SLOW)
        for i, s in enumerate(slow):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(raw_request({**LONG, "seed": i, "stream": True}, "X-FreeToken-Lane: batch\r\n"))
        for _ in range(10):
            self.assertEqual(text_of(self.server.post(TEXT, body(1)).json()), want)
        for s in slow:
            s.close()
        self.assertTrue(self.server.wait_idle())
        idle[0].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")  # still open
        self.assertTrue(idle[0].recv(4096).startswith(b"HTTP/1.1 200"))

    def test_a_client_that_vanishes_frees_its_place(self):
        before = self.server.metric(TOKENS)
        streams = [self.server.stream(TEXT, {**LONG, "seed": i}) for i in range(8)]
        for stream in streams:
            stream.first()
        waiting = self.sockets(16)
        for i, s in enumerate(waiting):
            s.sendall(raw_request({**LONG, "seed": 100 + i}))
        for s in waiting:
            s.close()
        for stream in streams:
            stream.vanish()
        self.assertTrue(self.server.wait_idle())
        # 24 answers of 950 tokens were asked for; what ran on to its end would show
        self.assertLess(self.server.metric(TOKENS) - before, 24 * 950 / 4)
        self.assertEqual(self.server.post(TEXT, body(0)).status, 200)

    def test_memory_stays_flat(self):
        def some(begin, end):
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for reply in pool.map(lambda i: self.server.post(TEXT, {**body(i), "prompt": "%d: " % i + "token " * 60,
                                                                       "max_tokens": 2}), range(begin, end)):
                    self.assertEqual(reply.status, 200, str(reply))

        some(0, 300)  # fills every page of the cache and every bounded list
        before = self.server.resident_bytes()
        some(300, 900)
        self.assertLess(self.server.resident_bytes() - before, 12 << 20)


if __name__ == "__main__":
    harness.main()
