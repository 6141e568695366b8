"""serve: what official clients read: events of each dialect, functions there and back, forms of answers."""
import json

import harness
import serving
from harness import DEMO
from serving import CHAT

ASK = [{"role": "user", "content": "What is the weather in Bern?"}]
SCHEMA = {"type": "object", "properties": {"town": {"type": "string", "maxLength": 16}, "unit": {"enum": ["C", "F"]}},
          "required": ["town", "unit"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a town", "parameters": SCHEMA}}
CLOCK = {"type": "function", "function": {"name": "get_time"}}
TOOL = {"name": "get_weather", "description": "Weather of a town", "input_schema": SCHEMA}
LENGTH = {"max_tokens": 200, "temperature": 0}


def sse(stream):
    """-> [(event name or "", parsed data)] of a stream, without [DONE]"""
    events, name = [], ""
    while line := stream.response.readline().decode():
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:") and line[5:].strip() != "[DONE]":
            events.append((name, json.loads(line[5:])))
            name = ""
    return events


class Dialects(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = serving.Server(cls.folder).wait_ready()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        super().tearDownClass()

    def post(self, path, body):
        reply = self.server.post(path, body)
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def fits(self, arguments):
        self.assertEqual(set(arguments), {"town", "unit"})
        self.assertIsInstance(arguments["town"], str)
        self.assertIn(arguments["unit"], ("C", "F"))

    def test_anthropic_streams_are_the_whole_message(self):
        body = {"model": "x", "messages": [{"role": "user", "content": "What is a router?"}], "max_tokens": 16,
                "temperature": 0}
        whole = self.post("/v1/messages", body)
        events = sse(self.server.stream("/v1/messages", body))
        names = [name for name, _ in events]
        self.assertEqual(names[:2], ["message_start", "content_block_start"])
        self.assertEqual(names[-3:], ["content_block_stop", "message_delta", "message_stop"])
        text = "".join(data["delta"]["text"] for name, data in events if name == "content_block_delta")
        self.assertEqual(text, whole["content"][0]["text"])
        count = self.post("/v1/messages/count_tokens", body)["input_tokens"]
        usage = whole["usage"]
        self.assertEqual(count, usage["input_tokens"] + usage["cache_read_input_tokens"])
        # the beginning of the stream knows what was read, as its end does; asked twice, most of it was there
        said = [events[0][1]["message"]["usage"], events[-2][1]["usage"]]
        for name in ("input_tokens", "cache_read_input_tokens"):
            self.assertEqual(said[0][name], said[1][name], name)
        self.assertGreater(said[0]["cache_read_input_tokens"], 0)

    def test_responses_streams_are_the_whole_response(self):
        body = {"model": "x", "input": "What is a router?", "max_output_tokens": 16, "temperature": 0}
        whole = self.post("/v1/responses", body)
        events = sse(self.server.stream("/v1/responses", body))
        self.assertEqual([data["sequence_number"] for _, data in events], list(range(len(events))))
        text = "".join(data["delta"] for name, data in events if name == "response.output_text.delta")
        self.assertEqual(text, whole["output"][0]["content"][0]["text"])
        self.assertIn(events[-1][0], ("response.completed", "response.incomplete"))
        self.assertEqual(events[-1][1]["response"]["output"][0]["content"], whole["output"][0]["content"])

    def test_ollama_streams_lines(self):
        body = {"model": "local-moe", "messages": [{"role": "user", "content": "What is a router?"}],
                "options": {"temperature": 0, "num_predict": 16}}
        reply = self.server.post("/api/chat", body)
        self.assertIn("ndjson", reply.headers["content-type"])
        lines = [json.loads(line) for line in reply.body.splitlines()]
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        whole = self.post("/api/chat", {**body, "stream": False})
        self.assertEqual("".join(line["message"]["content"] for line in lines), whole["message"]["content"])
        self.assertEqual(self.post("/api/generate", {"model": "local-moe", "stream": False})["done_reason"], "load")
        self.assertEqual(self.server.post("/api/chat", {**body, "model": "other"}).status, 404)

    def test_what_ollamas_clients_read_of_the_model(self):
        entry = self.server.get("/api/tags").json()["models"][0]
        self.assertEqual(entry["size"], DEMO.stat().st_size)
        self.assertRegex(entry["digest"], r"^[0-9a-f]{64}$")
        self.assertEqual(self.server.get("/api/ps").json()["models"][0]["digest"], entry["digest"])
        version = [int(n) for n in self.server.get("/api/version").json()["version"].split(".")]
        self.assertGreaterEqual(version, [0, 6, 4])

    def test_results_of_functions_are_read(self):
        call = {"id": "call_1", "type": "function",
                "function": {"name": "get_weather", "arguments": '{"town": "Bern", "unit": "C"}'}}
        messages = ASK + [{"role": "assistant", "content": None, "tool_calls": [call]},
                          {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"}]
        prompt = self.post("/apply-template", {"messages": messages, "tools": [WEATHER]})["prompt"]
        for text in ("get_weather", "Weather of a town", "21 degrees", '"town":"Bern"'):
            self.assertIn(text, prompt)
        self.post(CHAT, {"messages": messages, "tools": [WEATHER], "max_tokens": 4})

    def test_a_function_that_has_to_be_called_is(self):
        for choice, name in (("required", None), ({"type": "function", "function": {"name": "get_weather"}}, "get_weather")):
            body = {"messages": ASK, "tools": [CLOCK, WEATHER], "tool_choice": choice, **LENGTH}
            choice = self.post(CHAT, body)["choices"][0]
            self.assertEqual(choice["finish_reason"], "tool_calls")
            function = choice["message"]["tool_calls"][0]["function"]
            self.assertIn(function["name"], [name] if name else ["get_time", "get_weather"])
            if function["name"] == "get_weather":
                self.fits(json.loads(function["arguments"]))
            else:
                self.assertEqual(function["arguments"], "{}")
            built = {"name": "", "arguments": ""}
            for _, data in sse(self.server.stream(CHAT, body)):
                for part in data["choices"][0]["delta"].get("tool_calls", []):
                    for key in built:
                        built[key] += part["function"].get(key, "")
            self.assertEqual(built, function)

    def test_forced_calls_in_other_dialects(self):
        body = {"model": "x", "messages": ASK, "tools": [TOOL], "tool_choice": {"type": "any"}, **LENGTH}
        whole = self.post("/v1/messages", body)
        self.assertEqual((whole["stop_reason"], whole["content"][0]["type"]), ("tool_use", "tool_use"))
        self.fits(whole["content"][0]["input"])
        flat = {"type": "function", **WEATHER["function"]}
        item = self.post("/v1/responses", {"input": "Weather?", "tools": [flat], "tool_choice": "required",
                                           "max_output_tokens": 200, "temperature": 0})["output"][0]
        self.assertEqual((item["type"], item["name"]), ("function_call", "get_weather"))
        self.fits(json.loads(item["arguments"]))

    def test_forms_of_answers_in_other_dialects(self):
        for path, body, text_of in (
                ("/v1/messages", {"messages": ASK, "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}, **LENGTH},
                 lambda o: o["content"][0]["text"]),
                ("/v1/responses", {"input": "Weather?", "text": {"format": {"type": "json_schema", "name": "w", "schema": SCHEMA}},
                                   "max_output_tokens": 200, "temperature": 0}, lambda o: o["output"][0]["content"][0]["text"]),
                ("/api/chat", {"model": "local-moe", "messages": ASK, "format": SCHEMA, "stream": False,
                               "options": {"temperature": 0}}, lambda o: o["message"]["content"])):
            self.fits(json.loads(text_of(self.post(path, body))))


if __name__ == "__main__":
    harness.main()
