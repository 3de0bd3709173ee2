import { InformationAgent, ParallelFlow } from "@ravi/flow";
import { CostTracker, HookEvent, HookManager } from "@ravi/hooks";
import {
  type Agent,
  type AgentResult,
  defineTool,
  Priority,
  ProviderError,
  type RunEvent,
  RunId,
  SessionId,
  type Supervision,
} from "@ravi/kernel";
import { cache, contentFilter, fallback, MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { type Answer, scriptedModel, virtualClock, type VirtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { cutJournal } from "../src/cut-journal.ts";
import { MemoryHistory, Summarization } from "@ravi/context";
import { OrchestratorAgent, type SubAgentConfig } from "@ravi/orchestrator";
import { MemorySessionStore, SessionAgent } from "@ravi/session";

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
  const reopened = (): Runtime => {
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
  const first = reopened();
  const run = first.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 2 } });
  await clock.advance(10);
  await first.close();
  expect((await run.result).status).toBe("suspended");
  expect(told.splice(0)).toEqual([
    ["lead", undefined],
    ["a/1", undefined],
  ]);
  const resumed = reopened().register(lead).resume("r");
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

const usage = { inputTokens: 10, outputTokens: 5 };

const settings = { maxOutputTokens: 20 };

interface Hosted {
  readonly runtime: Runtime;
  readonly asked: string[];
  readonly seats: () => SpawnTracker | undefined;
}

function host(clock: VirtualClock, options: RuntimeOptions = {}): Hosted {
  const asked: string[] = [];
  const hooks = new HookManager();
  hooks.on(HookEvent.APPROVAL_REQUESTED, ({ name }) => void asked.push(name));
  let seats: SpawnTracker | undefined;
  const runtime = new Runtime({
    clock,
    hooks,
    ledger: ({ executionBudget, agentId }) => new ExecutionTracker(executionBudget, { scope: agentId }),
    headcount: ({ spawnBudget, agentId }: Supervision) =>
      (seats = new SpawnTracker(spawnBudget, { rootId: agentId, clock })),
    ...options,
  });
  return { runtime, asked, seats: () => seats };
}

const dangerous = defineTool({
  name: "dangerous",
  description: "",
  input: z.object({}),
  needsApproval: true,
  execute: () => "done",
});

const callIt = { toolCalls: [{ name: "dangerous" }], usage };

it("R8 × R27: a deadline ends the wait for an approval; one that comes later does nothing", async () => {
  const clock = virtualClock();
  const { runtime, asked } = host(clock, { journal: new MemoryJournal() });
  const model = scriptedModel([callIt]);
  const worker = new ReActAgent({ name: "worker", model, tools: [dangerous], settings });
  const run = runtime.run(worker, "x", { runId: "r", executionBudget: { deadlineS: 10 } });
  await clock.advance(10_001);
  expect(await run.result).toMatchObject({ status: "partial", stopReason: "deadline" });
  expect(clock.pending).toBe(0);
  await runtime.deliver("r", asked[0] ?? "", true);
  expect(await runtime.resume("r").result).toMatchObject({ status: "partial", stopReason: "deadline" });
  expect(model.calls).toHaveLength(1);
});

it("R18 × R27: an answer from the cache is given to whoever may spend nothing", async () => {
  const { runtime } = host(virtualClock());
  const middleware = { chat: new MiddlewarePipeline([cache()]) };
  const worker = new ReActAgent({ name: "worker", model: scriptedModel(["once"]), settings, middleware });
  await runtime.run(worker, "x").result;
  const executionBudget = { maxTurns: 0, maxTokens: 0 };
  const again = await runtime.run(worker, "x", { executionBudget }).result;
  expect(again).toMatchObject({ status: "completed", output: "once", usage: { inputTokens: 0 } });
});

describe("R15 × R16: who had to give way", () => {
  const team = (clock: VirtualClock, terms: Partial<SubAgentConfig>, others: readonly string[] = []) => {
    const worker = (name: string, answers: readonly Answer[]): ReActAgent =>
      new ReActAgent({ name, model: scriptedModel(answers, { clock }), settings });
    const names = ["lesser", "urgent", ...others];
    const model = scriptedModel([
      { toolCalls: names.map((name) => ({ name: `handoff_${name}`, arguments: { task: name } })) },
      "end",
    ]);
    const lesser = worker("lesser", [{ text: "at last", delayMs: 50 }]);
    const urgent = worker("urgent", [{ text: "at once", delayMs: 5_000 }]);
    const subAgents: SubAgentConfig[] = [
      { agent: lesser, ...terms },
      { agent: urgent, priority: Priority.HIGH },
      ...others.map((name) => ({ agent: worker(name, ["x"]), onFull: "queue" as const })),
    ];
    const lead = new OrchestratorAgent({
      name: "lead",
      model,
      settings,
      spawnBudget: { maxAgents: 2 },
      subAgents,
    });
    const heard = (): unknown =>
      model.calls.at(-1)?.request.messages.find(({ role }) => role === "tool")?.content;
    return { lead, heard };
  };

  it("× R8: is late by its deadline, also while it is parked", async () => {
    const clock = virtualClock();
    const { lead, heard } = team(clock, { executionBudget: { deadlineS: 1 } });
    const run = host(clock).runtime.run(lead, "x");
    await clock.runAll();
    expect((await run.result).status).toBe("completed");
    expect(heard()).toContain("its time was up");
  });

  it("is not late by the patience of who asked: that time stands still", async () => {
    const clock = virtualClock();
    const { lead, heard } = team(clock, { askTimeoutS: 1 });
    const run = host(clock).runtime.run(lead, "x");
    await clock.runAll();
    expect((await run.result).status).toBe("completed");
    expect(heard()).toBe("at last");
  });

  it("× R9: leaves no seat, place or timer behind when all is cancelled, nor does one who waits in line", async () => {
    const clock = virtualClock();
    const { runtime, seats } = host(clock);
    const { lead } = team(clock, {}, ["queued"]);
    const run = runtime.run(lead, "x");
    await clock.advance(1_000);
    run.cancel("enough");
    const { status, agents } = await run.result;
    expect([status, ...(agents ?? []).map((agent) => agent.status)]).toEqual(Array(5).fill("cancelled"));
    expect(seats()?.snapshot()).toMatchObject({ agents: [], waiting: [] });
    expect(clock.pending).toBe(0);
  });
});

/** Runs until it asks, is closed there, and goes on in another process with the answer. */
async function approvedLater(
  options: RuntimeOptions,
  make: (answers: readonly Answer[]) => ReActAgent | SessionAgent,
): Promise<AgentResult["output"]> {
  const clock = virtualClock();
  const journal = new MemoryJournal();
  const before = host(clock, { ...options, journal });
  const run = before.runtime.run(make([callIt]), "x", { runId: "r", sessionId: "s" });
  while (before.asked.length === 0) await clock.advance(0);
  await before.runtime.close();
  expect((await run.result).status).toBe("suspended");
  const after = host(clock, { ...options, journal, agents: [make([{ text: "end", usage }])] });
  await after.runtime.deliver("r", before.asked[0] ?? "", true);
  const resumed = after.runtime.resume("r");
  await clock.advance(1);
  const { status, usage: used, output } = await resumed.result;
  expect(status).toBe("completed");
  return `${output} ${used.inputTokens}`;
}

it("R24 × R28: a summary that was paid for before the crash is not paid for again", async () => {
  const history = new MemoryHistory();
  const long = Array.from({ length: 10 }, () => ({ role: "user", content: "q".repeat(800) }) as const);
  history.append({ sessionId: SessionId("s"), agentName: "worker" }, long);
  const writer = scriptedModel(() => ({ text: "in short", usage }), { id: "writer" });
  const compaction = new Summarization({ model: writer, keepRecentTokens: 300, triggerTokens: 1_000 });
  const make = (answers: readonly Answer[]): ReActAgent =>
    new ReActAgent({ name: "worker", model: scriptedModel(answers), tools: [dangerous], settings });
  // Two calls of the worker and one of the writer.
  expect(await approvedLater({ history, compaction }, make)).toBe("end 30");
  expect(writer.calls).toHaveLength(1);
});

it("O3 × R24 × R27: a turn of a session waits for an approval over a restart, and is written once", async () => {
  const store = new MemorySessionStore();
  const make = (answers: readonly Answer[]): SessionAgent =>
    new SessionAgent({ name: "chat", model: scriptedModel(answers), tools: [dangerous], store, prompt: "p" });
  expect(await approvedLater({}, make)).toBe("end 20");
  await using reader = new SessionAgent({ name: "chat", model: scriptedModel([]), store, sessionId: "s" });
  const messages = await (await reader.open()).messages();
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
});
