"""`batch`: lines in, lines out; bad lines; going on after kill -9; the same answers as `run`."""
import json
import signal
import subprocess
import time

import harness
from harness import DEMO, run

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"


def line(i, url=None, **body):
    """Every fourth is a chat, every third is drawn with its own seed."""
    url = url or (CHAT if i % 4 == 3 else COMPLETIONS)
    fields = {"max_tokens": 4 + i * 5 % 13, "temperature": 0 if i % 3 else 0.9, "seed": 100 + i, "repetition_penalty": 1.0,
              "top_p": 0.95}
    text = "Tell me about experts. (%d)" % i
    fields.update({"messages": [{"role": "user", "content": text}]} if url == CHAT else {"prompt": text})
    fields.update(body)
    return {"custom_id": "line-%d" % i, "method": "POST", "url": url, "body": fields}


def text_of(answer):
    choice = answer["response"]["body"]["choices"][0]
    return choice["text"] if "text" in choice else choice["message"]["content"]


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}, "required": ["a", "b"],
          "additionalProperties": False}


class Batch(harness.Case):
    def test_answers_of_a_form(self):
        schema = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}
        form = {"temperature": 1.4, "max_tokens": 300}
        lines = [line(3, CHAT, response_format=schema, n=2, logprobs=True, **form),
                 line(4, COMPLETIONS, grammar='root ::= "yes" | "no"', **form),
                 line(5, CHAT, response_format={"type": "json_schema", "json_schema": {"schema": {"not": {}}}}),
                 line(6, COMPLETIONS, grammar='root ::= root "a" | "b"'),
                 line(7, CHAT, response_format={"type": "json_object"}, temperature=0)]
        _, got = self.batch(self.lines("form.jsonl", lines), self.path("form-out.jsonl"))
        by_id = {o["custom_id"]: o for o in got}
        for choice in by_id["line-3"]["response"]["body"]["choices"]:
            value = json.loads(choice["message"]["content"])
            self.assertEqual(list(value), ["a", "b"])
            self.assertEqual(choice["finish_reason"], "stop")
        self.assertIn(text_of(by_id["line-4"]), ("yes", "no"))
        for name, word in (("line-5", "not"), ("line-6", "left-recursive")):
            self.assertIn(word, json.dumps(by_id[name]))
            self.assertIn("invalid_request_error", json.dumps(by_id[name]))
        self.assertEqual(text_of(by_id["line-7"])[:1], "{")

    def lines(self, name, lines):
        return self.write(name, "".join((l if isinstance(l, str) else json.dumps(l)) + "\n" for l in lines))

    def batch(self, path, out, *flags, model=DEMO):
        r = run("batch", path, "-o", out, "--model", model, *flags)
        try:
            with open(out, encoding="utf-8") as f:
                return r, [json.loads(l) for l in f]
        except FileNotFoundError:
            return r, []

    def test_lines_equal_single_runs(self):
        lines = [line(i) for i in range(8)]
        r, got = self.batch(self.lines("in.jsonl", lines), self.path("out.jsonl"), "--json")
        self.good(r)
        self.assertEqual(sorted(o["custom_id"] for o in got), sorted(l["custom_id"] for l in lines))
        by_id = {o["custom_id"]: o for o in got}
        for l in lines:
            o, body, chat = by_id[l["custom_id"]], l["body"], l["url"] == CHAT
            self.assertEqual(set(o), {"id", "custom_id", "response", "error"})
            self.assertIsNone(o["error"])
            self.assertEqual(o["response"]["status_code"], 200)
            self.assertEqual(o["response"]["body"]["object"], "chat.completion" if chat else "text_completion")
            usage = o["response"]["body"]["usage"]
            self.assertLessEqual(usage["completion_tokens"], body["max_tokens"])
            self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
            prompt = body["messages"][0]["content"] if chat else body["prompt"]
            alone = self.good(run("run", DEMO, "-p", prompt, "--json", *([] if chat else ["--raw"]), "--temp",
                                  body["temperature"], "--seed", body["seed"], "--repeat-penalty", 1, "--top-p", 0.95,
                                  "--max-tokens", body["max_tokens"])).json()
            self.assertEqual((text_of(o), o["response"]["body"]["choices"][0]["finish_reason"]),
                             (alone["text"], alone["finish_reason"]), l)
        summary = json.loads(r.text.splitlines()[-1])
        self.assertEqual((summary["lines"], summary["failed"]), (8, 0))
        self.assertEqual(summary["memory"]["kv_bytes"], summary["memory"]["kv_bytes_planned"])
        self.assertEqual([summary["memory"][k] for k in ("pages_leaked", "checkpoints_leaked", "parked_files")], [0, 0, 0])

    def test_the_model_may_be_an_argument_and_the_lines_a_stream(self):
        path = self.lines("ways.jsonl", [line(0, seed=1)])
        texts = []
        for i, words in enumerate((("--model", DEMO), ("-m", DEMO, "-c", 512, "-t", 1), (DEMO,))):
            out = self.path("ways-%d.jsonl" % i)
            self.good(run("batch", path, *words, "-o", out))
            texts.append(text_of(json.loads(out.read_text())))
        self.assertEqual(texts, [texts[0]] * 3)
        self.refused(run("batch", "-", "-o", self.path("x"), "-m", DEMO), "/dev/stdin")
        self.refused(run("batch", DEMO, path, "-o", self.path("x")), "file of requests")
        out = self.path("ways-stream.jsonl")
        with open(path) as lines:
            done = subprocess.run([harness.PROGRAM, "batch", "/dev/stdin", "-o", out, "-m", str(DEMO)], stdin=lines,
                                  stderr=subprocess.PIPE, env=harness.environment(), timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(text_of(json.loads(out.read_text())), texts[0])

    def test_choices_stops_and_logprobs(self):
        whole = line(0, COMPLETIONS, temperature=0, max_tokens=24)
        drawn = {"temperature": 1.2, "seed": 5, "max_tokens": 12}
        lines = [whole, line(1, COMPLETIONS, n=3, **drawn), line(2, COMPLETIONS, prompt="Tell me about experts. (1)", **drawn),
                 line(3, COMPLETIONS, prompt=whole["body"]["prompt"], temperature=0, max_tokens=3, logprobs=2),
                 line(4, CHAT, temperature=0, max_tokens=3, logprobs=True, top_logprobs=1)]
        r, got = self.batch(self.lines("more.jsonl", lines), self.path("more-out.jsonl"))
        self.good(r)
        by_id = {o["custom_id"]: o["response"]["body"]["choices"] for o in got}
        self.assertEqual([c["index"] for c in by_id["line-1"]], [0, 1, 2])
        self.assertEqual(by_id["line-1"][0]["text"], by_id["line-2"][0]["text"])  # one alone is the first of several
        self.assertGreater(len({c["text"] for c in by_id["line-1"]}), 1)
        old = by_id["line-3"][0]["logprobs"]
        self.assertEqual([len(old[k]) for k in ("tokens", "token_logprobs", "top_logprobs", "text_offset")], [3] * 4)
        self.assertEqual(old["token_logprobs"], [max(top.values()) for top in old["top_logprobs"]])  # greedy
        self.assertEqual("".join(old["tokens"]), by_id["line-3"][0]["text"])
        for entry in by_id["line-4"][0]["logprobs"]["content"]:
            self.assertEqual(entry["logprob"], entry["top_logprobs"][0]["logprob"])
            self.assertEqual(bytes(entry["bytes"]).decode("utf-8", "replace"), entry["token"])
        text = by_id["line-0"][0]["text"]
        stop = text[7:12]
        r, got = self.batch(self.lines("stop.jsonl", [line(0, COMPLETIONS, temperature=0, max_tokens=24, stop=[stop])]),
                            self.path("stop-out.jsonl"))
        self.good(r)
        choice = got[0]["response"]["body"]["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), (text[:text.index(stop)], "stop"))

    def test_bad_lines_are_named_and_the_rest_goes_on(self):
        lines = [line(0), '{"custom_id": "cut"', "", "[1, 2]", json.dumps({"custom_id": "no-body", "url": COMPLETIONS}),
                 line(1, url="/v1/unheard"), line(2, max_tokens="many"), dict(line(3), custom_id="line-0"),
                 line(4, COMPLETIONS, prompt="x " * 20000), line(5, CHAT, messages=[]), line(6, COMPLETIONS, temperature=-5),
                 line(7, COMPLETIONS, stream=True), "x" * (17 << 20), line(8)]
        path, out = self.lines("bad.jsonl", lines), self.path("bad-out.jsonl")
        r, got = self.batch(path, out)
        self.assertEqual(r.rc, 1, r)
        good = {o["custom_id"]: o for o in got if not o["error"]}
        self.assertEqual(set(good), {"line-0", "line-8"})
        said = {o["id"]: o for o in got if o["error"]}
        for number, word in ((2, "JSON"), (4, "object"), (5, "body"), (6, "unheard"), (7, "max_tokens"), (8, "line 1"),
                             (9, "tokens"), (10, "messages"), (11, "temperature"), (12, "stream"), (13, "16 MiB")):
            o = said["batch_req_%d" % number]
            self.assertIn("line %d: " % number, o["error"]["message"])
            self.assertIn(word, o["error"]["message"])
        for number in (7, 9, 10, 11, 12):
            self.assertEqual(said["batch_req_%d" % number]["response"]["status_code"], 400)
        self.assertEqual(len(got), len(lines) - 1)
        self.assertIn("[stats] 13 lines are done, 11 of them failed; ", r.err)
        r, again = self.batch(path, out)  # nothing is left to do
        self.assertEqual(again, got)
        self.assertIn("[stats] 0 lines are done by this run, 0 of them failed; 13 were there before, 11 of them failed; ",
                      r.err)
        self.assertIn("remove them there, or name another file by -o.", r.err)
        self.assertIn("bad-out.jsonl and are not tried again", r.err)
        lines[5] = line(1)  # one is mended, and its line of the output removed
        self.lines("bad.jsonl", lines)
        self.write("bad-out.jsonl", "".join(json.dumps(o) + "\n" for o in got if o["id"] != "batch_req_6"))
        r, mended = self.batch(path, out)
        self.assertIn("[stats] 1 lines are done by this run, 0 of them failed; 12 were there before, 10 of them failed; ",
                      r.err)
        self.assertIsNone({o["id"]: o for o in mended}["batch_req_6"]["error"])

    def test_goes_on_after_kill(self):
        lines = [line(i, max_tokens=40) for i in range(16)]
        path, out = self.lines("kill.jsonl", lines), self.path("kill-out.jsonl")
        _, whole = self.batch(path, self.path("whole-out.jsonl"))
        self.assertEqual(len(whole), 16)
        live = subprocess.Popen([harness.PROGRAM, "batch", path, "-o", out, "--model", str(DEMO)], env=harness.environment(),
                                stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while live.poll() is None and time.monotonic() < end and count_lines(out) < 3:
            time.sleep(0.005)
        live.send_signal(signal.SIGKILL)
        live.wait()
        kept = count_lines(out)
        self.assertGreaterEqual(kept, 3)
        with open(out, "rb") as f:
            before = f.read()
        with open(out, "wb") as f:  # and the last line half written
            f.write(before[:before.rindex(b"\n") + 1] + b'{"id": "batch_req_9", "cust')
        r, got = self.batch(path, out)
        self.good(r)
        self.assertEqual({o["custom_id"]: text_of(o) for o in got}, {o["custom_id"]: text_of(o) for o in whole})
        self.assertEqual(len(got), 16)

    def test_refusals(self):
        good = self.lines("one.jsonl", [line(0)])
        self.refused(run("batch", self.path("none.jsonl"), "-o", self.path("x"), "--model", DEMO), "none.jsonl")
        self.refused(run("batch", good, "-o", self.path("x"), "--model", self.path("none.gguf")), "none.gguf")
        self.refused(run("batch", good, "-o", self.path("none/x.jsonl"), "--model", DEMO), "x.jsonl")
        self.refused(run("batch", good, "--model", DEMO), "-o")
        self.refused(run("batch", good, "-o", self.path("x")), "model")
        mine = self.write("mine.txt", "my notes\n")
        self.refused(run("batch", good, "-o", mine, "--model", DEMO), "mine.txt")
        with open(mine, encoding="utf-8") as f:
            self.assertEqual(f.read(), "my notes\n")
        self.refused(run("batch", good, "-o", self.path("x"), "--model", DEMO, "--set", "kv_cache.sliding_window=64",
                         "--set", "kv_cache.pool_tokens=128"), "pool_tokens", "128", "640")
        other = self.path("other-out.jsonl")
        self.batch(good, other)
        self.refused(run("batch", self.lines("two.jsonl", [line(1)]), "-o", other, "--model", DEMO), "other-out.jsonl")
        r, got = self.batch(self.lines("empty.jsonl", []), self.path("empty-out.jsonl"))
        self.good(r)
        self.assertEqual(got, [])

    def test_long_answers_are_cut_to_the_context(self):
        path = self.lines("long.jsonl", [line(0, COMPLETIONS, max_tokens=5000, ignore_eos=True)])
        r, got = self.batch(path, self.path("long-out.jsonl"), "--ctx", 256)
        self.good(r)
        body = got[0]["response"]["body"]
        self.assertEqual(body["choices"][0]["finish_reason"], "length")
        self.assertTrue(128 < body["usage"]["total_tokens"] <= 256, body["usage"])

    def test_with_a_window_answers_go_on_beyond_the_context_as_those_of_run(self):
        flags = ("--ctx", 192, "--set", "kv_cache.auto_evict=true", "--set", "kv_cache.sliding_window=64")
        lines = [line(i, COMPLETIONS, max_tokens=(300, 40, 250)[i % 3], ignore_eos=True) for i in range(6)]
        r, got = self.batch(self.lines("far.jsonl", lines), self.path("far-out.jsonl"), "--json", *flags)
        self.good(r)
        self.assertEqual(len(got), 6)
        for o in got:
            body = lines[int(o["custom_id"].split("-")[1])]["body"]
            alone = self.good(run("run", DEMO, "-p", body["prompt"], "--raw", "--json", "--ignore-eos", "--temp",
                                  body["temperature"], "--seed", body["seed"], "--repeat-penalty", 1, "--top-p", 0.95,
                                  "--max-tokens", body["max_tokens"], *flags))
            said = alone.json()
            self.assertEqual(text_of(o), said["text"], body)
            far = body["max_tokens"] > 192
            self.assertEqual(o["response"]["body"].get("truncated", False), far)
            self.assertEqual(said.get("truncated", False), far)
            self.assertEqual("beyond the context of 192 tokens" in alone.err, far, alone)
        self.assertEqual(r.err.count("beyond the context of 192 tokens"), 4, r)
        memory = json.loads(r.text.splitlines()[-1])["memory"]
        self.assertEqual(memory["kv_bytes"], memory["kv_bytes_planned"])
        self.assertEqual(memory["pages_leaked"], 0)

    def test_with_auto_evict_a_long_chat_loses_its_oldest_turns(self):
        history = [{"role": "system", "content": "Be brief."}]
        for i in range(20):
            history += [{"role": "user", "content": "What is expert number %d?" % i},
                        {"role": "assistant", "content": "It is the expert with number %d." % i}]
        history.append({"role": "user", "content": "What is a router?"})
        path = self.lines("turns.jsonl", [line(0, CHAT, messages=history)])
        r, got = self.batch(path, self.path("refused-out.jsonl"), "--ctx", 256)
        self.assertEqual(r.rc, 1)
        self.assertIn("256", got[0]["error"]["message"])
        r, got = self.batch(path, self.path("turns-out.jsonl"), "--ctx", 256, "--set", "kv_cache.auto_evict=true")
        self.good(r)
        body = got[0]["response"]["body"]
        self.assertIs(body["truncated"], True)
        self.assertLessEqual(body["usage"]["prompt_tokens"], 192)
        self.assertRegex(r.err, r"line 1: .*context of 256 tokens.* \d+ oldest turns \(\d+ tokens\)")


def count_lines(path):
    try:
        with open(path, "rb") as f:
            return f.read().count(b"\n")
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    harness.main()
