"""Two replicas behind the shipped haproxy.cfg and nginx.conf: conversations stick and hit their prefix cache, a replica
that is killed costs only its own answers, one that drains costs none."""
import http.client
import json
import time

import harness
import proxies
import serving
from serving import CHAT, TEXT, Stream, call, text_of

STREAMS = 8


def short(i):
    return {"prompt": "A short answer, number %d" % i, "max_tokens": 4, "temperature": 0}


def long(i):
    """Runs to the end of the demo model's context, so that it is under way for seconds."""
    return {"prompt": "A long story, number %d" % i, "max_tokens": 900, "temperature": 0.9, "seed": i, "ignore_eos": True}


def conversation(i):
    """Its first question, over a hundred tokens long"""
    return [{"role": "user", "content": "Remember number %d: " % i + "the cache keeps experts. " * 15}]


class Behaviour:
    """What both proxies promise. A subclass names the proxy."""

    @classmethod
    def setUpClass(cls):
        proxies.program(cls.program)
        super().setUpClass()
        cls.replicas, cls.proxy = [], None
        try:
            cls.replicas = [serving.Server(cls.folder) for _ in range(2)]
            for replica in cls.replicas:
                replica.wait_ready()
            cls.proxy = cls.kind(cls.folder, cls.replicas)
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        if cls.proxy:
            cls.proxy.stop()
        for replica in cls.replicas:
            replica.kill()
        super().tearDownClass()

    def ask(self, path, body, headers=None):
        """-> (the answer's JSON, the replica that gave it)"""
        reply = call(self.proxy.port, "POST", path, body, headers)
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json(), self.proxy.home(reply.headers)

    def turns(self, messages, headers=None, n=3):
        """Asks on in a conversation -> the replicas that answered; each answer but the first found its beginning cached."""
        homes, before = [], 0
        for _ in range(n):
            answer, home = self.ask(CHAT, {"messages": messages, "max_tokens": 6, "temperature": 0}, headers)
            usage = answer["usage"]
            self.assertGreaterEqual(usage["prompt_tokens_details"]["cached_tokens"], before // 2, usage)
            before = usage["prompt_tokens"]
            messages = messages + [{"role": "assistant", "content": text_of(answer)}, {"role": "user", "content": "And then?"}]
            homes.append(home)
        return homes

    def start_streams(self):
        """{replica: [(number, stream)]}, all of them under way"""
        streams = {replica: [] for replica in self.replicas}
        for i in range(STREAMS):
            stream = Stream(self.proxy.port, TEXT, {**long(i), "stream": True}, {"X-Session-Id": "stream %d" % i})
            self.addCleanup(stream.close)
            self.assertEqual(stream.status, 200)
            stream.begin = text_of(json.loads(stream.first()))
            streams[self.proxy.home(stream.headers)].append((i, stream))
        self.assertTrue(all(streams.values()), "all streams went to one replica")
        return streams

    def whole(self, i, stream):
        """The stream ends, with what the same request gives alone."""
        text, done = stream.rest()
        self.assertTrue(done, "stream %d has no [DONE]" % i)
        alone = self.replicas[1].post(TEXT, long(i))
        self.assertEqual(stream.begin + text, text_of(alone.json()), "stream %d" % i)

    def restart(self, replica):
        """In the same place, until the proxy sends requests there again."""
        index = self.replicas.index(replica)
        self.replicas[index] = fresh = serving.Server(self.folder, port=replica.port)
        fresh.wait_ready()
        self.proxy.homes = {name: fresh if home is replica else home for name, home in self.proxy.homes.items()}
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if fresh in [self.ask(TEXT, short(i), {"X-Session-Id": "stream %d" % i})[1] for i in range(STREAMS)]:
                return
            time.sleep(0.2)
        self.fail("the proxy does not ask the restarted replica")

    def test_conversations_stick_and_hit_the_prefix_cache(self):
        homes = [self.turns(conversation(i), {"X-Session-Id": "name %d" % i}) for i in range(10)]
        for each in homes:
            self.assertEqual(len(set(each)), 1)
        self.assertEqual({each[0] for each in homes}, set(self.replicas))
        self.assertEqual(len(set(self.turns(conversation(99), {"Cookie": "session=one"}))), 1)

    def test_an_answer_comes_while_it_is_computed(self):
        stream = Stream(self.proxy.port, TEXT, {**long(0), "stream": True})
        self.addCleanup(stream.close)
        stream.first()
        # most of 900 tokens are still to be computed when the first is here
        self.assertGreater(sum(replica.stats()["running"] for replica in self.replicas), 0)
        self.assertEqual(stream.headers["content-type"].partition(";")[0], "text/event-stream")
        self.assertTrue(stream.rest()[1])

    def test_a_killed_replica_costs_only_its_own_streams(self):
        streams = self.start_streams()
        dead, alive = self.replicas
        dead.kill()
        lost = 0
        for i, stream in streams[dead]:
            try:
                lost += not stream.rest()[1]
            except (OSError, http.client.HTTPException):
                lost += 1
        self.assertGreater(lost, 0)
        for i in range(STREAMS):
            self.assertIs(self.ask(TEXT, short(i), {"X-Session-Id": "stream %d" % i})[1], alive)
        for i, stream in streams[alive]:
            self.whole(i, stream)
        self.restart(dead)

    def test_a_draining_replica_loses_nothing(self):
        streams = self.start_streams()
        draining, other = self.replicas
        draining.terminate()
        asked = 0
        while draining.process.poll() is None or asked < STREAMS:
            answer, home = self.ask(TEXT, short(asked), {"X-Session-Id": "stream %d" % (asked % STREAMS)})
            if asked:  # the first may have been faster than the signal
                self.assertIs(home, other)
            asked += 1
            self.assertLess(asked, 20000)
        self.assertEqual(draining.process.returncode, 0, draining.log[-1000:])
        for each in streams.values():
            for i, stream in each:
                self.whole(i, stream)
        self.restart(draining)


class Haproxy(Behaviour, harness.Case):
    program, kind = "haproxy", proxies.Haproxy

    def test_the_first_message_names_a_conversation(self):
        system = {"role": "system", "content": "Be brief."}
        forms = (lambda i: conversation(i), lambda i: [system] + conversation(i),
                 lambda i: [{"role": "user", "content": [{"type": "text", "text": conversation(i)[0]["content"]}]}])
        for number, form in enumerate(forms):
            first = set()
            for i in range(6):
                messages = form(20 + 10 * number + i)
                homes = self.turns(messages)
                self.assertEqual(len(set(homes)), 1, messages[:2])
                first.add(homes[0])
            self.assertEqual(first, set(self.replicas))


class Nginx(Behaviour, harness.Case):
    program, kind = "nginx", proxies.Nginx

    def test_a_key_names_its_user(self):
        headers = {"Authorization": "Bearer of-one-user"}
        homes = {self.ask(TEXT, short(i), headers)[1] for i in range(6)}
        self.assertEqual(len(homes), 1)


if __name__ == "__main__":
    harness.main()
