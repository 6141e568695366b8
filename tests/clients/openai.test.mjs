// The official openai package against /v1.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { stopsRunning, TOWN, url } from "./server.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0, timeout: 120_000 });
const messages = [{ role: "user", content: "What is FreeToken?" }];
const greedy = { model: "local-moe", temperature: 0, max_tokens: 32, messages };
const tools = [{ type: "function", function: { name: "get_weather", description: "Weather of a town", parameters: TOWN } }];

test("models", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ["local-moe"]);
  assert.equal((await client.models.retrieve("local-moe")).id, "local-moe");
});

test("chat", async () => {
  const answer = await client.chat.completions.create({ ...greedy, logprobs: true, top_logprobs: 2 });
  const [choice] = answer.choices;
  assert.equal(choice.message.role, "assistant");
  assert.match(choice.finish_reason, /^(stop|length)$/);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  const text = Buffer.concat(choice.logprobs.content.map((t) => Buffer.from(t.bytes ?? []))).toString();
  assert.equal(text, choice.message.content);
  assert.ok(choice.logprobs.content.every((t) => t.logprob <= 0 && t.top_logprobs.length === 2));
});

test("stream", async () => {
  const whole = await client.chat.completions.create(greedy);
  const stream = await client.chat.completions.create({ ...greedy, stream: true, stream_options: { include_usage: true } });
  let text = "", usage, reasons = [];
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.deepEqual(reasons, [whole.choices[0].finish_reason]);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

test("a tool's result", async () => {
  const offered = await client.chat.completions.create({ ...greedy, tools });
  assert.equal(offered.choices[0].message.role, "assistant");
  const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"town": "Bern"}' } };
  const answer = await client.chat.completions.create({ ...greedy, tools, tool_choice: "none", messages: [...messages,
    { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "call_1", content: "21 degrees" }] });
  assert.equal(typeof answer.choices[0].message.content, "string");
});

test("completions", async () => {
  const ask = { model: "local-moe", prompt: ["The expert", "A cache"], max_tokens: 8, temperature: 0 };
  const answer = await client.completions.create(ask);
  assert.deepEqual(answer.choices.map((c) => c.index), [0, 1]);
  const texts = ["", ""];
  for await (const chunk of await client.completions.create({ ...ask, stream: true }))
    for (const choice of chunk.choices) texts[choice.index] += choice.text;
  assert.deepEqual(texts, answer.choices.map((c) => c.text));
});

test("embeddings", async () => {
  // the package asks for base64 unless told otherwise, and decodes it
  const input = ["The expert cache", "A quick answer", "The expert cache"];
  const { data } = await client.embeddings.create({ model: "local-moe", input });
  const plain = await client.embeddings.create({ model: "local-moe", input, encoding_format: "float" });
  assert.deepEqual(data[0].embedding, data[2].embedding);
  assert.notDeepEqual(data[0].embedding, data[1].embedding);
  data[0].embedding.forEach((x, i) => assert.ok(Math.abs(x - plain.data[0].embedding[i]) <= 1e-5));
});

test("responses", async () => {
  const ask = { model: "local-moe", input: "What is FreeToken?", temperature: 0, max_output_tokens: 32 };
  const answer = await client.responses.create(ask);
  const chat = await client.chat.completions.create(greedy);
  assert.equal(answer.output_text, chat.choices[0].message.content);
  let text = "", last;
  for await (const event of await client.responses.create({ ...ask, stream: true })) {
    if (event.type === "response.output_text.delta") text += event.delta;
    last = event;
  }
  assert.equal(text, answer.output_text);
  assert.match(last.type, /^response\.(completed|incomplete)$/);
  const final = await client.responses.stream(ask).finalResponse();
  assert.equal(final.output_text, answer.output_text);
});

test("abort", async () => {
  const control = new AbortController();
  const stream = await client.completions.create(
    { model: "local-moe", prompt: "A long story", max_tokens: 900, stream: true, temperature: 1.2, ignore_eos: true },
    { signal: control.signal });
  let chunks = 0;
  for await (const _ of stream) if (++chunks === 3) control.abort();
  assert.ok(chunks < 900);
  await stopsRunning();
});

test("errors", async () => {
  const fails = (body) => client.chat.completions.create({ ...greedy, ...body });
  await assert.rejects(fails({ temperature: "hot" }), (e) => e instanceof OpenAI.BadRequestError && /temperature/.test(e.message));
  await assert.rejects(fails({ messages: [] }), (e) => e.status === 400 && e.type === "invalid_request_error");
  await assert.rejects(client.models.retrieve("absent"), OpenAI.NotFoundError);
  const image = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }];
  await assert.rejects(fails({ messages: [{ role: "user", content: image }] }), /image/);
});
