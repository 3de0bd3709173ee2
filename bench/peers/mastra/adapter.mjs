// Mastra's `Agent`. One definition serves any number of runs.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import * as z from "zod";
import { inc, plans } from "../../src/fake.ts";
import { model } from "../ai-sdk-model.mjs";

const instructions = "You are a bench.";
const incTool = createTool({
  id: "inc",
  description: "n + 1",
  inputSchema: z.object({ n: z.number() }),
  execute: async (args) => inc(args),
});

function agentOf(plan, extra, id = "bench") {
  return new Agent({ id, name: id, description: id, instructions, model: model(plan), ...extra });
}

function runs(agent) {
  return async () => (await agent.generate("go", { maxSteps: 2_000 })).text;
}

export function subject(plan, { withTool = true } = {}) {
  return runs(agentOf(plan, withTool ? { tools: { inc: incTool } } : {}));
}

/** Its own way: `agents` become tools called agent-<key>, which take a prompt. */
export function team(size, turns) {
  const agents = {};
  for (let n = 0; n < size; n++) {
    agents[`sub${n}`] = agentOf(plans.turns(turns), { tools: { inc: incTool } }, `sub${n}`);
  }
  const plan = plans.team(size, (n) => ({ name: `agent-sub${n}`, args: { prompt: "go" } }));
  return runs(agentOf(plan, { agents }));
}

export function stream(deltas) {
  const agent = new Agent({ id: "b", name: "b", instructions, model: model(plans.answer, deltas) });
  return async () => {
    let seen = 0;
    const { textStream } = await agent.stream("go");
    for await (const text of textStream) seen += text.length;
    return seen;
  };
}
