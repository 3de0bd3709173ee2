import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loopbackOpenAI, readBill, record, replay, scriptedModel } from "@ravi/testing";

// A model without a network: it answers from a script and records its requests.
const model = scriptedModel([
  { toolCalls: [{ name: "search", arguments: { query: "weather in Oslo" } }] },
  "It rains in Oslo.",
]);
const request = { messages: [{ role: "user", content: "How is the weather in Oslo?" }] } as const;
const first = await model.generate(request);
assert.equal(first.finishReason, "toolCalls");
assert.equal(first.message.toolCalls?.[0]?.arguments, '{"query":"weather in Oslo"}');
assert.deepEqual(model.calls[0]?.request, request);

// A script behind real HTTP. Each call is written to a bill on disk before its answer is sent.
const billFile = join(tmpdir(), `ravi-bill-${process.pid}.jsonl`);
const server = await loopbackOpenAI({
  script: [
    { when: /weather/, answer: { text: "It rains in Oslo.", usage: { inputTokens: 20, outputTokens: 5 } } },
  ],
  prices: { input: 0.25, output: 2 },
  billFile,
});
const response = await fetch(`${server.url}/chat/completions`, {
  method: "POST",
  headers: { authorization: "Bearer any-key-will-do" },
  body: JSON.stringify({ model: "small", ...request }),
});
assert.equal(response.status, 200);
assert.equal(readBill(billFile).costUsd, 0.000015);
await server.close();
await rm(billFile);

// A cassette: record the calls of a real model once, then replay them without it.
const cassette = join(tmpdir(), `ravi-cassette-${process.pid}.jsonl`);
const live = record(scriptedModel(["It rains."]), cassette);
const heard = await live.generate(request);
const replayed = replay(cassette);
assert.deepEqual(await replayed.generate(request), heard);
replayed.assertAllUsed();
await assert.rejects(
  replayed.generate({ messages: [{ role: "user", content: "And in Rome?" }] }),
  /\+And in Rome\?/,
);
await rm(cassette);
