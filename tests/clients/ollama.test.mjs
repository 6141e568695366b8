// The official ollama package against /api.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ollama } from "ollama";
import { stopsRunning, TOWN, url } from "./server.mjs";

const client = new Ollama({ host: url });
const model = "local-moe";
const messages = [{ role: "user", content: "What is FreeToken?" }];
const greedy = { model, messages, options: { temperature: 0, num_predict: 32 } };
const tools = [{ type: "function", function: { name: "get_weather", description: "Weather of a town", parameters: TOWN } }];

test("chat and stream", async () => {
  const whole = await client.chat(greedy);
  assert.equal(whole.message.role, "assistant");
  assert.ok(whole.done && whole.eval_count > 0 && whole.total_duration > 0);
  let text = "", last;
  for await (const part of await client.chat({ ...greedy, stream: true })) {
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.deepEqual([last.done, last.done_reason, last.eval_count], [true, whole.done_reason, whole.eval_count]);
});

test("generate and stream", async () => {
  const ask = { model, prompt: "What is FreeToken?", options: greedy.options };
  const whole = await client.generate(ask);
  let text = "";
  for await (const part of await client.generate({ ...ask, stream: true })) text += part.response;
  assert.equal(text, whole.response);
  assert.equal(text, (await client.chat(greedy)).message.content);
});

test("a tool's result", async () => {
  const offered = await client.chat({ ...greedy, tools });
  assert.equal(offered.message.role, "assistant");
  const call = { function: { name: "get_weather", arguments: { town: "Bern", unit: "C" } } };
  const answer = await client.chat({ ...greedy, tools, messages: [...messages,
    { role: "assistant", content: "", tool_calls: [call] }, { role: "tool", tool_name: "get_weather", content: "21 degrees" }] });
  assert.ok(answer.done);
});

test("embed", async () => {
  const { embeddings } = await client.embed({ model, input: ["The expert cache", "A quick answer", "The expert cache"] });
  assert.equal(embeddings.length, 3);
  assert.deepEqual(embeddings[0], embeddings[2]);
  assert.notDeepEqual(embeddings[0], embeddings[1]);
});

test("list, show, ps, version", async () => {
  const { models } = await client.list();
  assert.deepEqual(models.map((m) => m.model.replace(/:latest$/, "")), [model]);
  const shown = await client.show({ model });
  assert.ok(shown.capabilities.includes("completion"));
  assert.equal(shown.model_info["general.architecture"], "qwen3moe");
  assert.equal((await client.ps()).models.length, 1);
  assert.equal(typeof (await client.version()).version, "string");
});

test("abort", async () => {
  const stream = await client.chat({ ...greedy, stream: true, options: { num_predict: 900, temperature: 1.2 } });
  await assert.rejects(async () => {
    for await (const _ of stream) stream.abort();
  }, { name: "AbortError" });
  await stopsRunning();
});

test("errors", async () => {
  await assert.rejects(client.chat({ ...greedy, model: "no-such-model" }), (e) => e.status_code === 404 && /no-such-model/.test(e.message));
  await assert.rejects(client.chat({ ...greedy, options: { temperature: "hot" } }), (e) => e.status_code === 400 && /temperature/.test(e.message));
  await assert.rejects(client.generate({ model, prompt: "x", images: ["AAAA"] }), /image/);
});
