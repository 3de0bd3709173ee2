import assert from "node:assert/strict";
import { agent, run, team, tool } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// A tool. Its arguments have the type of its schema and are validated before `execute` is called.
const price = tool({
  name: "price",
  description: "What a vendor asks for one sensor.",
  input: z.object({ vendor: z.string() }),
  execute: ({ vendor }) => `$${vendor.length}.50`,
});

// Stand-ins, so that this runs without a key. For a real model write model: "openai:gpt-5-mini".
const researcherModel = scriptedModel([
  { toolCalls: [{ name: "price", arguments: { vendor: "Acme" } }] },
  { text: "Acme asks $4.50 a piece." },
]);
const leadModel = scriptedModel([
  { toolCalls: [{ name: "handoff_researcher", arguments: { task: "What does Acme ask?" } }] },
  { text: "Acme: $4.50 a piece." },
]);

const researcher = agent({ name: "researcher", model: researcherModel, tools: [price] });
const lead = team({ name: "lead", model: leadModel, members: [researcher] });

// One budget and one headcount limit the whole tree, however deep it gets.
const result = await run(lead, "What does Acme ask for a sensor?", {
  budget: { usd: 2, tokens: 200_000, turns: 40, seconds: 600 },
  tree: { agents: 8, depth: 3 },
  prices: { scripted: { input: 0.25, output: 2 } },
});

assert.equal(result.status, "completed");
assert.equal(result.output, "Acme: $4.50 a piece.");
console.log(String(result.tree)); // who worked for whom, and what each has spent
