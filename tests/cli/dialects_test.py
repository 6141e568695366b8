"""serve: what official clients read: events of each dialect, functions there and back, forms of answers."""
import json

import harness
import serving
from serving import CHAT

ASK = [{"role": "user", "content": "What is the weather in Bern?"}]
SCHEMA = {"type": "object", "properties": {"town": {"type": "string", "maxLength": 16}, "unit": {"enum": ["C", "F"]}},
          "required": ["town", "unit"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a town", "parameters": SCHEMA}}


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

    def test_results_of_functions_are_read(self):
        call = {"id": "call_1", "type": "function",
                "function": {"name": "get_weather", "arguments": '{"town": "Bern", "unit": "C"}'}}
        messages = ASK + [{"role": "assistant", "content": None, "tool_calls": [call]},
                          {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"}]
        prompt = self.post("/apply-template", {"messages": messages, "tools": [WEATHER]})["prompt"]
        for text in ("get_weather", "Weather of a town", "21 degrees", '"town":"Bern"'):
            self.assertIn(text, prompt)
        self.post(CHAT, {"messages": messages, "tools": [WEATHER], "max_tokens": 4})


if __name__ == "__main__":
    harness.main()
