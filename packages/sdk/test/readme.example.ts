import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  type LLMClient,
  type ModelRequest,
  type ModelResponse,
  resume,
  run,
  team,
  tool,
} from "@ravi/sdk";

const lookUp = tool({
  name: "look_up",
  description: "What a vendor asks, in dollars.",
  input: { type: "object", properties: { vendor: { type: "string" } } }, // with zod: z.object({ vendor: z.string() })
  idempotent: true,
  execute: (args) => `offer on record for ${JSON.stringify(args)}: $4980`,
});

const researcher = agent({
  name: "researcher",
  description: "Finds out what a vendor asks.",
  model: pretend(researcherSays), // for a real model change only this: "openai:gpt-5-mini", "anthropic:claude-…"
  tools: [lookUp],
});

const lead = team({
  name: "lead",
  model: pretend(leadSays),
  instructions: "Compare the vendors. Ask a researcher about each of them.",
  members: [researcher],
});

const journal = await mkdtemp(join(tmpdir(), "ravi-")); // in your own program: ".ravi"
const result = await run(lead, "Compare the three vendors", {
  budget: { usd: 2, tokens: 200_000, turns: 40, seconds: 600 },
  tree: { agents: 8, depth: 3 },
  journal,
  prices: { pretend: { input: 0.25, output: 2 } }, // built in for well-known models
  validator: () => [], // validates raw JSON Schemas; zod schemas validate themselves
});

assert.equal(result.status, "completed"); // or "partial" | "failed" | "cancelled" | "suspended"
assert.equal(result.output, "All three ask for $4980.");
assert.ok(result.cost !== null && result.cost < 2);
assert.equal(result.limits.budget.turns, 40);
assert.equal(result.tree.root.children.length, 3); // who spent what, down to each call; String(result.tree) prints it

// `resume` continues a killed or suspended run from its journal. For a finished run it returns the result again, at no cost.
const again = await resume(result.runId, { agents: lead, journal });
assert.equal(again.output, result.output);
await rm(journal, { recursive: true });

function leadSays({ messages }: ModelRequest): ModelResponse["message"] {
  const reports = messages.filter(({ role }) => role === "tool").length;
  if (reports > 0) return { role: "assistant", content: "All three ask for $4980." };
  const toolCalls = ["acme", "borealis", "cascade"].map((vendor, at) => ({
    id: `call_${at}`,
    name: "handoff_researcher",
    arguments: JSON.stringify({ task: `What does ${vendor} ask?` }),
  }));
  return { role: "assistant", content: "", toolCalls };
}

function researcherSays({ messages }: ModelRequest): ModelResponse["message"] {
  const last = messages.at(-1);
  if (last?.role === "tool") return { role: "assistant", content: last.content };
  const call = { id: "call_0", name: "look_up", arguments: '{"vendor":"acme"}' };
  return { role: "assistant", content: "", toolCalls: [call] };
}

/** Stands in for a real model, so that this runs without a key. */
function pretend(says: (request: ModelRequest) => ModelResponse["message"]): LLMClient {
  return {
    id: "pretend",
    info: { provider: "pretend", model: "pretend" },
    async generate(request) {
      const message = says(request);
      const finishReason = message.toolCalls === undefined ? "stop" : "toolCalls";
      return { message, finishReason, usage: { inputTokens: 100, outputTokens: 20 } };
    },
  };
}
