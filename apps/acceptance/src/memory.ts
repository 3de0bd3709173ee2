import assert from "node:assert/strict";
import { AgentId, type Agent, type AgentResult, type LLMClient } from "@ravi/kernel";
import { SlidingWindow } from "@ravi/context";
import { ExecutionTracker } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { agent, run } from "@ravi/sdk";
import { SpawnTracker } from "@ravi/supervision";

// Prints the live heap, in kilobytes, at several points of a long run or of many runs, as JSON:
// node --expose-gc memory.ts turns|children|runs

const done: AgentResult = { status: "completed", output: "", stopReason: "done" };
const model: LLMClient = {
  id: "fake",
  info: { provider: "fake", model: "fake" },
  generate: async () => ({
    message: { role: "assistant", content: "x".repeat(1_000) },
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 10 },
  }),
};
const runtime = new Runtime({
  headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
  compaction: new SlidingWindow({ messages: 50 }),
});

const kilobytes: number[] = [];
function sample(): void {
  globalThis.gc?.();
  kilobytes.push(Math.round(process.memoryUsage().heapUsed / 1024));
}

const talker: Agent = {
  id: AgentId("talker"),
  async run(ctx) {
    for (let turn = 1; turn <= 10_000; turn++) {
      await ctx.remember({ role: "user", content: `${turn} ${"y".repeat(1_000)}` });
      const { message } = await ctx.llm(model, { messages: await ctx.window({ system: "talk" }) });
      await ctx.remember(message);
      if (turn % 2_000 === 0) sample();
    }
    return done;
  },
};

const helper: Agent = {
  id: AgentId("helper"),
  async run(ctx, inbox) {
    await ctx.remember({ role: "user", content: inbox.input });
    await ctx.llm(model, { messages: await ctx.window() });
    return done;
  },
};
const employer: Agent = {
  id: AgentId("employer"),
  async run(ctx) {
    for (let hired = 1; hired <= 1_000; hired++) {
      await ctx.hire({ agent: helper, input: "z".repeat(10_000) + hired });
      if (hired % 200 === 0) sample();
    }
    return done;
  },
};

/** What the sdk makes of each run. Only young collections: what a full one would still free is counted. */
async function manyRuns(): Promise<void> {
  const caller = agent({ name: "caller", model });
  for (let made = 1; made <= 2_000; made++) {
    const { status } = await run(caller, "go", {
      prices: { fake: { input: 1, output: 1 } },
      onEvent: () => {},
    });
    assert.equal(status, "completed");
    if (made % 400 !== 0) continue;
    for (let times = 0; times < 2; times++) globalThis.gc?.({ type: "minor" });
    kilobytes.push(Math.round(process.memoryUsage().heapUsed / 1024));
  }
}

const what = process.argv[2];
if (what === "runs") await manyRuns();
else await runtime.run(what === "turns" ? talker : employer, "go").result;
console.log(JSON.stringify(kilobytes));
