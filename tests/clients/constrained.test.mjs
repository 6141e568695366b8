// Answers that have to fit: forced tools and schemas, by the official packages of three dialects.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { SCHEMA, TOWN, url, weather } from "./server.mjs";

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0, timeout: 120_000 });
const anthropic = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0, timeout: 120_000 });
const ollama = new Ollama({ host: url });
const model = "local-moe";
const messages = [{ role: "user", content: "What is FreeToken?" }];
const greedy = { model, temperature: 0, max_tokens: 32, messages };

test("openai tools: a call, its result, the answer", async () => {
  const tools = [{ type: "function", function: { name: "get_weather", description: "Weather of a town", parameters: TOWN } }];
  const ask = { ...greedy, max_tokens: 200, tools, tool_choice: "required" };
  const called = await openai.chat.completions.create(ask);
  assert.equal(called.choices[0].finish_reason, "tool_calls");
  const [call] = called.choices[0].message.tool_calls;
  weather(call.function.name, JSON.parse(call.function.arguments));

  const streamed = await openai.chat.completions.stream(ask).finalMessage();
  assert.deepEqual(streamed.tool_calls.map((c) => [c.function.name, c.function.arguments]),
    called.choices[0].message.tool_calls.map((c) => [c.function.name, c.function.arguments]));

  const result = { role: "tool", tool_call_id: call.id, content: "21 degrees" };
  const answer = await openai.chat.completions.create(
    { ...greedy, tools, tool_choice: "none", messages: [...messages, called.choices[0].message, result] });
  assert.equal(typeof answer.choices[0].message.content, "string");
});

test("openai json_schema", async () => {
  const format = { type: "json_schema", json_schema: { name: "person", strict: true, schema: SCHEMA } };
  for (const seed of [1, 2]) {
    const answer = await openai.chat.completions.parse(
      { ...greedy, max_tokens: 200, temperature: 1.3, seed, response_format: format });
    const person = JSON.parse(answer.choices[0].message.content);
    assert.deepEqual(Object.keys(person).sort(), ["age", "name"]);
    assert.ok(Number.isInteger(person.age) && person.name.length <= 12);
  }
});

test("anthropic tools: a call, its result, the answer", async () => {
  const tools = [{ name: "get_weather", description: "Weather of a town", input_schema: TOWN }];
  const ask = { ...greedy, max_tokens: 200, tools, tool_choice: { type: "any" } };
  const called = await anthropic.messages.create(ask);
  assert.equal(called.stop_reason, "tool_use");
  const use = called.content.find((block) => block.type === "tool_use");
  weather(use.name, use.input);

  const streamed = await anthropic.messages.stream(ask).finalMessage();
  assert.deepEqual(streamed.content.map((b) => [b.type, b.input]), called.content.map((b) => [b.type, b.input]));

  const answer = await anthropic.messages.create({
    ...greedy, tools, tool_choice: { type: "none" },
    messages: [...messages, { role: "assistant", content: called.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "21 degrees" }] }],
  });
  assert.ok(answer.content.every((block) => block.type === "text"));
});

test("ollama json_schema", async () => {
  const answer = await ollama.chat({ model, messages, format: SCHEMA, options: { temperature: 1.2, seed: 3, num_predict: 200 } });
  const person = JSON.parse(answer.message.content);
  assert.deepEqual(Object.keys(person).sort(), ["age", "name"]);
  assert.ok(Number.isInteger(person.age));
});
