// A team: a lead hands tasks to researchers, who work at the same time, under one budget and one headcount.
//
// It needs no key: scripted models stand in for real ones. Their answers depend on what they are really sent.

import assert from "node:assert/strict";
import { agent, run, team, textOf, tool } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const OFFERS = { acme: 5_100, borealis: 5_400, cascade: 4_980 } as const;

const lookUp = tool({
  name: "look_up",
  description: "What a vendor asks, in dollars.",
  input: z.object({ vendor: z.enum(["acme", "borealis", "cascade"]) }),
  idempotent: true,
  execute: ({ vendor }) => `${vendor}: $${OFFERS[vendor]}`,
});

const researcher = agent({
  name: "researcher",
  description: "Finds out what one vendor asks.",
  model: scriptedModel(({ messages }) => {
    const found = messages.find(({ role }) => role === "tool");
    if (found !== undefined) return textOf(found);
    const vendor = /acme|borealis|cascade/.exec(messages.map(textOf).join())?.[0];
    return { toolCalls: [{ name: "look_up", arguments: { vendor } }] };
  }),
  tools: [lookUp],
});

const lead = team({
  name: "lead",
  model: scriptedModel(({ messages }) => {
    const reports = messages.flatMap((message) => (message.role === "tool" ? [textOf(message)] : []));
    if (reports.length === 0) {
      const toolCalls = Object.keys(OFFERS).map((vendor) => ({
        name: "handoff_researcher",
        arguments: { task: `What does ${vendor} ask?` },
      }));
      return { toolCalls };
    }
    const offers = reports.map((report) => /(\w+): \$(\d+)/.exec(report) ?? []);
    const [best] = offers.toSorted(([, , a], [, , b]) => Number(a) - Number(b));
    return `${best?.[1]} is the cheapest, at $${best?.[2]}.`;
  }),
  members: [{ agent: researcher, budget: { turns: 5 } }],
});

const result = await run(lead, "Who is the cheapest?", {
  budget: { usd: 0.05, seconds: 60 },
  tree: { agents: 4, depth: 1 },
  prices: { scripted: { input: 0.25, output: 2 } }, // dollars per million tokens
});

assert.equal(result.output, "cascade is the cheapest, at $4980.");
assert.equal(result.tree.root.children.length, 3);
console.log(result.output);
console.log(String(result.tree));
