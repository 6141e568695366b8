// The official @anthropic-ai/sdk package against /v1/messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { stopsRunning, TOWN, url } from "./server.mjs";

const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0, timeout: 120_000 });
const messages = [{ role: "user", content: "What is FreeToken?" }];
const greedy = { model: "local-moe", temperature: 0, max_tokens: 32, messages };
const tools = [{ name: "get_weather", description: "Weather of a town", input_schema: TOWN }];
const text = (message) => message.content.map((block) => block.text ?? "").join("");

test("message", async () => {
  const answer = await client.messages.create({ ...greedy, system: [{ type: "text", text: "Be brief." }] });
  assert.equal(answer.type, "message");
  assert.match(answer.stop_reason, /^(end_turn|max_tokens)$/);
  assert.ok(text(answer).length > 0 && answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0);
});

test("stream", async () => {
  const whole = await client.messages.create(greedy);
  let pieces = "";
  const stream = client.messages.stream(greedy).on("text", (piece) => (pieces += piece));
  const final = await stream.finalMessage();
  assert.equal(pieces, text(whole));
  assert.deepEqual(final.content, whole.content);
  assert.deepEqual([final.stop_reason, final.usage.output_tokens], [whole.stop_reason, whole.usage.output_tokens]);
});

test("a tool's result", async () => {
  const answer = await client.messages.create({ ...greedy, tools, tool_choice: { type: "none" }, messages: [...messages,
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: { town: "Bern" } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "21 degrees" }] }] });
  assert.ok(answer.content.every((block) => block.type === "text"));
});

test("count_tokens", async () => {
  const { input_tokens } = await client.messages.countTokens({ model: "local-moe", messages });
  const { usage } = await client.messages.create(greedy);
  assert.equal(input_tokens, usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0));
  const more = await client.messages.countTokens({ model: "local-moe", messages, tools, system: "Be brief." });
  assert.ok(more.input_tokens > input_tokens + 5);
});

test("beta messages, as coding assistants send them", async () => {
  const answer = await client.beta.messages.create({ ...greedy, system: [
    { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] });
  assert.ok(text(answer).length > 0);
});

test("abort", async () => {
  const stream = client.messages.stream({ ...greedy, max_tokens: 900, temperature: 1 });
  const ended = assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  stream.once("text", () => stream.abort());
  await ended;
  await stopsRunning();
});

test("errors", async () => {
  const fails = (body) => client.messages.create({ ...greedy, ...body });
  await assert.rejects(fails({ temperature: "hot" }),
    (e) => e instanceof Anthropic.BadRequestError && e.error.error.type === "invalid_request_error" && /temperature/.test(e.message));
  await assert.rejects(fails({ messages: [{ role: "king", content: "x" }] }), Anthropic.BadRequestError);
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  await assert.rejects(fails({ messages: [{ role: "user", content: [image] }] }), /image/);
});
