import assert from "node:assert/strict";
import { type Agent, AgentId, textOf } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { fakeModel } from "./bench-agent.ts";
import { durable, governedRuntime, LIMITS } from "./configurations.ts";
import { DONE, plans } from "./fake.ts";
import { liveHeap } from "./harness/memory.ts";
import { median } from "./harness/pairs.ts";

// Costs that must not grow: of an agent with the size of its tree, of a turn with the length of its history, and the memory kept
// for runs that wait or have ended.

const model = fakeModel(plans.answer);
const ask = [{ role: "user", content: "go" }] as const;

const helper: Agent = {
  id: AgentId("helper"),
  async run(ctx) {
    const { message } = await ctx.llm(model, { messages: ask });
    return { status: "completed", output: textOf(message), stopReason: "done" };
  },
};

/** A lead that hires `size` helpers at once, so that all of them hold a slot and a ledger at the same time. */
function leadOf(size: number): Agent {
  return {
    id: AgentId("lead"),
    async run(ctx) {
      const hires = Array.from(
        { length: size },
        () => ({ kind: "hire", agent: helper, input: "go" }) as const,
      );
      const outcomes = await ctx.batch(hires);
      const done = outcomes.filter(({ status }) => status === "completed").length;
      return { status: "completed", output: String(done), stopReason: "done" };
    },
  };
}

/** Microseconds per agent in a tree of that size, under one headcount and one ledger. */
export async function tree(size: number): Promise<number> {
  const lead = leadOf(size);
  const runtime = governedRuntime();
  const rounds = Math.max(6, Math.round(20_000 / size));
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const { output } = await runtime.run(lead, "go", LIMITS).result;
    times.push(((performance.now() - start) * 1_000) / size);
    assert.equal(output, String(size));
  }
  // The first half warms up.
  return median(times.slice(rounds >> 1));
}

/** Microseconds per turn on top of that many messages. */
export async function history(messages: number): Promise<number> {
  const turns = 200;
  const times: number[] = [];
  const agent: Agent = {
    id: AgentId("long"),
    async run(ctx) {
      for (let n = 0; n < messages; n++) await ctx.remember({ role: "user", content: `message ${n}` });
      await ctx.llm(model, { messages: await ctx.window() });
      const start = performance.now();
      for (let turn = 0; turn < turns; turn++) {
        const { message } = await ctx.llm(model, { messages: await ctx.window() });
        await ctx.remember(message);
      }
      times.push(((performance.now() - start) * 1_000) / turns);
      return { status: "completed", output: DONE, stopReason: "done" };
    },
  };
  const runtime = governedRuntime();
  for (let round = 0; round < 20; round++)
    assert.equal((await runtime.run(agent, "go", LIMITS).result).output, DONE);
  return median(times.slice(10));
}

const waiter: Agent = {
  id: AgentId("waiter"),
  async run(ctx) {
    const value = await ctx.waitFor("answer");
    assert(typeof value === "string");
    return { status: "completed", output: value, stopReason: "done" };
  },
};

/** Kilobytes of live heap per run that waits for an answer. */
export async function parked(count: number): Promise<number> {
  const runtime = new Runtime();
  const before = await liveHeap();
  const handles = Array.from({ length: count }, () => runtime.run(waiter, "go"));
  const heap = (await liveHeap()) - before;
  for (const { runId } of handles) await runtime.deliver(runId, "answer", DONE);
  for (const { result } of handles) assert.equal((await result).output, DONE);
  return heap / 1_024 / count;
}

/** Kilobytes of live heap that remain per finished run while the runtime lives on. */
export async function finished(count: number): Promise<number> {
  const runtime = new Runtime();
  const run = async (runs: number): Promise<void> => {
    for (let n = 0; n < runs; n++) assert.equal((await runtime.run(helper, "go").result).output, DONE);
  };
  await run(1_000);
  const before = await liveHeap();
  await run(count);
  return ((await liveHeap()) - before) / 1_024 / count;
}

export interface ParkedOnDisk {
  readonly startMs: number;
  readonly listMs: number;
  readonly resumeMs: number;
  readonly kBPerRun: number;
}

/**
 * Runs that wait in a SQLite file while no process holds them. They are started in groups; then 20 of them are resumed, one at a
 * time.
 */
export async function parkedOnDisk(count: number): Promise<ParkedOnDisk> {
  const { runtime, folder, size, close } = durable();
  try {
    const group = 1_000;
    const from = performance.now();
    for (let at = 0; at < count; at += group) {
      const opened = runtime();
      const ids = Array.from({ length: Math.min(group, count - at) }, (_, n) => `parked-${at + n}`);
      const handles = ids.map((runId) => opened.run(waiter, "go", { runId, ...LIMITS }));
      while (handles.some(({ status }) => status !== "suspended")) await new Promise(setImmediate);
      await opened.close();
    }
    const startMs = performance.now() - from;
    const kBPerRun = size() / 1_024 / count;
    const listing = performance.now();
    const again = runtime();
    again.register(waiter);
    assert.equal((await again.list()).length, count, folder);
    const listMs = performance.now() - listing;
    const times: number[] = [];
    for (let n = 0; n < 20; n++) {
      const runId = `parked-${Math.floor((count / 20) * n)}`;
      const start = performance.now();
      await again.deliver(runId, "answer", DONE);
      assert.equal((await again.resume(runId).result).output, DONE);
      times.push(performance.now() - start);
    }
    return { startMs, listMs, resumeMs: median(times), kBPerRun };
  } finally {
    await close();
  }
}
