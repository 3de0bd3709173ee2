import { InformationAgent, ParallelFlow } from "@ravi/flow";
import { CostTracker, HookEvent, HookManager } from "@ravi/hooks";
import { type Agent, defineTool, ProviderError, type RunEvent, RunId, type Supervision } from "@ravi/kernel";
import { cache, contentFilter, fallback, MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { cutJournal } from "../../src/cut-journal.ts";

// Two behaviours at once: each holds by itself, and must hold beside the other.

describe("J3 × R21: a guard that stops a streamed answer is told of once", () => {
  it.each(["the evil word in the middle", "the last word is evil"])("%s", async (text) => {
    const trips: object[] = [];
    const hooks = new HookManager();
    hooks.on(HookEvent.GUARDRAIL_TRIP, ({ layer, reason }) => void trips.push({ layer, reason }));
    const middleware = { chat: new MiddlewarePipeline([contentFilter({ blocked: ["evil"] })]) };
    const model = scriptedModel([text], { chunkSize: 3 });
    const worker = new ReActAgent({ name: "worker", model, hooks, middleware });
    let shown = "";
    const onEvent = ({ event }: RunEvent): void => void (event.type === "text" && (shown += event.delta));
    const { status } = await new Runtime().run(worker, "x", { onEvent }).result;
    expect(status).toBe("failed");
    expect(shown).not.toContain("evil");
    expect(trips).toEqual([{ layer: "contentFilter", reason: expect.any(String) }]);
  });
});

describe("R26: an observer counts the calls that went out, as the run's own account does", () => {
  const noop = defineTool({ name: "noop", description: "", input: z.object({}), execute: () => "ok" });
  const watched = async (agent: Agent): Promise<readonly (number | undefined)[]> => {
    const runtime = new Runtime({
      ledger: ({ executionBudget, agentId }) => new ExecutionTracker(executionBudget, { scope: agentId }),
    });
    const run = runtime.run(agent, "x", { executionBudget: { maxTurns: 2 } });
    const seen = new InformationAgent().watch(run);
    const { agents } = await run.result;
    return [(await seen).total.calls, agents?.[0]?.modelCalls];
  };

  it("× R18: one that the budget has refused is none", async () => {
    const model = scriptedModel([{ toolCalls: [{ name: "noop" }] }, "landed"]);
    expect(await watched(new ReActAgent({ name: "worker", model, tools: [noop] }))).toEqual([2, 2]);
    expect(model.calls).toHaveLength(2);
  });

  it("× R27: one that a cache has answered is none", async () => {
    const middleware = { chat: new MiddlewarePipeline([cache()]) };
    const worker = new ReActAgent({ name: "worker", model: scriptedModel(["once"]), middleware });
    expect(await watched(worker)).toEqual([1, 1]);
    expect(await watched(worker)).toEqual([0, 0]);
  });
});

it("R15 × R21 × R24: who still waited for a seat at the crash begins for the first time afterwards", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const told: unknown[] = [];
  const host = (): Runtime => {
    const hooks = new HookManager();
    hooks.on(HookEvent.RUN_START, ({ agentId, replayed }) => void told.push([agentId, replayed]));
    const headcount = ({ spawnBudget, agentId }: Supervision): SpawnTracker =>
      new SpawnTracker(spawnBudget, { rootId: agentId, clock });
    return new Runtime({ journal, clock, hooks, headcount });
  };
  const worker = (name: string): Agent => {
    const model = scriptedModel(() => ({ text: name, delayMs: 1_000 }), { clock });
    return new ReActAgent({ name, model });
  };
  const branches = ["a", "b"].map((name) => ({ agent: worker(name), onFull: "queue" as const }));
  const lead = new ParallelFlow({ name: "lead", branches });
  const first = host();
  const run = first.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 2 } });
  await clock.advance(10);
  await first.close();
  expect((await run.result).status).toBe("suspended");
  expect(told.splice(0)).toEqual([
    ["lead", undefined],
    ["a/1", undefined],
  ]);
  const resumed = host().register(lead).resume("r");
  await clock.runAll();
  expect((await resumed.result).status).toBe("completed");
  expect(told).toEqual([
    ["lead", true],
    ["a/1", true],
    ["b/2", undefined],
  ]);
});

it("R22 × R27: what another model answered is priced, and listed, as that one's", async () => {
  const overloaded = new ProviderError({ kind: "OVERLOADED", message: "busy", status: 529 });
  const large = scriptedModel([overloaded], { info: { model: "large" } });
  const usage = { inputTokens: 1_000_000, outputTokens: 0 };
  const small = scriptedModel([{ text: "answer", usage }], { info: { model: "small" } });
  const hooks = new HookManager();
  const prices = { large: { input: 100, output: 100 }, small: { input: 1, output: 1 } };
  const costs = new CostTracker({ meter: new ModelMeter({ prices }) });
  costs.attachTo(hooks);
  const told: string[] = [];
  hooks.on(HookEvent.LLM_START, ({ model }) => void told.push(`start ${model}`));
  hooks.on(HookEvent.LLM_END, ({ model }) => void told.push(`end ${model}`));
  const middleware = { chat: new MiddlewarePipeline([fallback({ models: [small] })]) };
  const worker = new ReActAgent({ name: "worker", model: large, hooks, middleware });
  const journal = new MemoryJournal();
  await new Runtime({ journal }).run(worker, "x", { runId: "r" }).result;
  expect(told.splice(0)).toEqual(["start large", "end small"]);
  const records = journal.load(RunId("r"));
  const killed = cutJournal("r", records.slice(0, -1));
  const resumed = await new Runtime({ journal: killed, agents: [worker] }).resume("r").result;
  expect(resumed.output).toBe("answer");
  expect(told).toEqual(["start large", "end small"]);
  expect(costs.report()).toMatchObject({ total: { costUsd: 1 }, models: [{ model: "small" }] });
});
