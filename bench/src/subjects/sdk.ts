import { agent, run, type RunOptions, team as makeTeam } from "@ravi/sdk";
import { fakeModel, streamingModel, tools } from "../bench-agent.ts";
import { plans } from "../fake.ts";
import type { Subject } from "../subject.ts";

// What most users write: `run` of the sdk, with limits and prices, and otherwise its defaults.

const MOST_STEPS = 1_000;

/** Made anew for each run, as in the handler of a server. No run reaches these limits. */
const limits = (): RunOptions => ({
  budget: { usd: 1e6, tokens: 1e12, turns: 1e9, toolCalls: 1e9, seconds: 3_600 },
  tree: { agents: 1_000, depth: 8 },
  prices: { fake: { input: 1, output: 4 } },
});

export const subject: Subject["subject"] = (plan, { withTool = true } = {}) => {
  const bench = agent({
    name: "bench",
    model: fakeModel(plan),
    instructions: "You are a bench.",
    tools: withTool ? tools : [],
    maxSteps: MOST_STEPS,
  });
  return async () => text(await run(bench, "go", limits()));
};

export const team: Subject["team"] = (size, turns) => {
  const plan = plans.team(size, (n) => ({ name: `handoff_sub${n}`, args: { task: "go" } }));
  const members = Array.from({ length: size }, (_, n) =>
    agent({
      name: `sub${n}`,
      model: fakeModel(plans.turns(turns)),
      instructions: "You are a bench.",
      tools,
      maxSteps: MOST_STEPS,
    }),
  );
  const lead = makeTeam({
    name: "lead",
    model: fakeModel(plan),
    instructions: "You are a bench.",
    members,
  });
  return async () => text(await run(lead, "go", limits()));
};

export const streamByCallback: Subject["streamByCallback"] = (deltas) => {
  const bench = agent({ name: "bench", model: streamingModel(deltas) });
  return async () => {
    let seen = 0;
    await run(bench, "go", {
      ...limits(),
      onEvent: ({ event }) => {
        if (event.type === "text") seen += event.delta.length;
      },
    });
    return seen;
  };
};

function text({ output }: { readonly output?: unknown }): string {
  return String(output);
}
