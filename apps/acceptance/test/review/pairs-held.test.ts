import { MemoryHistory, Summarization } from "@ravi/context";
import { HookEvent, HookManager } from "@ravi/hooks";
import { type AgentResult, defineTool, Priority, SessionId, type Supervision } from "@ravi/kernel";
import { cache, MiddlewarePipeline } from "@ravi/middleware";
import { OrchestratorAgent, type SubAgentConfig } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { MemorySessionStore, SessionAgent } from "@ravi/session";
import { SpawnTracker } from "@ravi/supervision";
import { type Answer, scriptedModel, type VirtualClock, virtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";

// Pairs of items that nobody had tried together, and that held.

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
