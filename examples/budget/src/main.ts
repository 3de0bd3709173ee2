// A limit that is enforced, with a soft landing: near it an agent gets one last turn without tools, and returns what it has.
//
// It needs no key: a scripted model stands in for a real one, at a made-up price. Without the limit it would read for ever.

import assert from "node:assert/strict";
import { agent, estimate, run, tool } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const read = tool({
  name: "read",
  description: "Reads one page of the report.",
  input: z.object({ page: z.number().int() }),
  idempotent: true,
  execute: ({ page }) => `Page ${page}. ${"The figures go on. ".repeat(20)}`,
});

const model = scriptedModel(({ messages, tools }) => {
  const pages = messages.filter(({ role }) => role === "tool").length;
  if (tools === undefined) return `I have read ${pages} pages, and not all. So far: the figures go on.`;
  return { toolCalls: [{ name: "read", arguments: { page: pages + 1 } }] };
});

const reader = agent({ name: "reader", model, tools: [read], settings: { maxOutputTokens: 200 } });
const options = {
  budget: { usd: 0.02, turns: 40 },
  prices: { scripted: { input: 3, output: 15 } }, // dollars per million tokens
};

const worst = await estimate(reader, "What does the report say?", options);
console.log(`at most $${worst.usd}, in at most ${worst.calls} model calls`);

const result = await run(reader, "What does the report say?", options);

assert.equal(result.status, "partial"); // never "completed": it was cut off
assert.equal(result.stopReason, "budget");
assert.ok(result.cost !== null && result.cost > 0.01 && result.cost <= 0.02);
console.log(`${result.status} (${result.stopReason}), for $${result.cost.toFixed(4)}: ${result.output}`);
