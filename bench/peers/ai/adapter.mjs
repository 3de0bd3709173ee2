// The AI SDK's `ToolLoopAgent`. One definition serves any number of runs.
import { isStepCount, tool, ToolLoopAgent } from "ai";
import * as z from "zod";
import { inc, plans } from "../../src/fake.ts";
import { model } from "../ai-sdk-model.mjs";

const stopWhen = isStepCount(2_000);
const instructions = "You are a bench.";
const incTool = tool({
  description: "n + 1",
  inputSchema: z.object({ n: z.number() }),
  execute: async (args) => inc(args),
});

function loop(plan, tools) {
  const agent = new ToolLoopAgent({ model: model(plan), instructions, tools, stopWhen });
  return async () => (await agent.generate({ prompt: "go" })).text;
}

export function subject(plan, { withTool = true } = {}) {
  return loop(plan, withTool ? { inc: incTool } : undefined);
}

/** As its documentation shows sub-agents: a tool whose `execute` calls another agent. */
export function team(size, turns) {
  const tools = {};
  for (let n = 0; n < size; n++) {
    const execute = loop(plans.turns(turns), { inc: incTool });
    tools[`sub${n}`] = tool({ description: "sub", inputSchema: z.object({ input: z.string() }), execute });
  }
  return loop(
    plans.team(size, (n) => ({ name: `sub${n}`, args: { input: "go" } })),
    tools,
  );
}

export function stream(deltas) {
  const agent = new ToolLoopAgent({ model: model(plans.answer, deltas), stopWhen });
  return async () => {
    let seen = 0;
    const { textStream } = await agent.stream({ prompt: "go" });
    for await (const text of textStream) seen += text.length;
    return seen;
  };
}
