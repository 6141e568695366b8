// What the tests of all clients share: where the server is, and what they ask of it.
import assert from "node:assert/strict";

export const url = process.env.FREETOKEN_URL;

export const TOWN = {
  type: "object",
  properties: { town: { type: "string", maxLength: 16 }, unit: { enum: ["C", "F"] } },
  required: ["town", "unit"],
  additionalProperties: false,
};
export const SCHEMA = {
  type: "object",
  properties: { name: { type: "string", maxLength: 12 }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
};

// A call of the tool above whose arguments fit.
export function weather(name, args) {
  assert.equal(name, "get_weather");
  assert.deepEqual(Object.keys(args).sort(), ["town", "unit"]);
  assert.ok(args.town.length <= 16 && ["C", "F"].includes(args.unit));
}

// An aborted request leaves nothing running.
export async function stopsRunning() {
  for (let i = 0; i < 200; ++i) {
    const { running, waiting } = await (await fetch(`${url}/v1/stats`)).json();
    if (running === 0 && waiting === 0) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail("the aborted request still runs");
}
