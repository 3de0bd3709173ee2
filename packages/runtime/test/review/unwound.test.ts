import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  defineTool,
  type Journal,
  type JournalEntry,
  type NeedsDecisionError,
  type Reservation,
  type RunId,
  type Spend,
} from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { type Decision, MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done, FakeHeadcount, FakeLedger, turns, until, within } from "./helpers.ts";

/** A lead with two workers, each of which pays once. The first time they hang until the gate opens. */
function payers() {
  const begun: Record<string, number> = { a: 0, b: 0 };
  const gate = { current: Promise.withResolvers<string>() };
  const worker = (name: string): Agent =>
    agent(name, async (ctx) => {
      const pay = defineTool({
        name: "pay",
        description: "",
        input: z.object({}),
        async execute() {
          begun[name] = (begun[name] ?? 0) + 1;
          return gate.current.promise;
        },
      });
      const { content } = await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay);
      return done(String(content));
    });
  const lead = agent("lead", async (ctx) => {
    const workers = ["a", "b"].map((name) => ({ kind: "hire", agent: worker(name), input: "x" }) as const);
    const outcomes = await ctx.batch(workers);
    return done(outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : "?")).join(" "));
  });
  return { begun, gate, lead };
}

async function closed(runtime: Runtime, clock: ReturnType<typeof virtualClock>): Promise<void> {
  const closing = runtime.close();
  await clock.advance(1_000);
  await closing;
}

async function inDoubt() {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const { begun, gate, lead } = payers();
  const first = new Runtime({ journal, clock });
  const run = first.run(lead, "", { runId: "r" });
  await until(() => begun["a"] === 1 && begun["b"] === 1);
  await closed(first, clock);
  expect(await run.result).toMatchObject({ status: "suspended" });
  gate.current = Promise.withResolvers();
  gate.current.resolve("paid");
  const resume = (decisions?: Readonly<Record<string, Decision>>) =>
    new Runtime({ journal, clock, agents: [lead] }).resume("r", { decisions }).result;
  return { begun, resume };
}

const A = "r/hire:a#1:tool:pay#1";
const B = "r/hire:b#1:tool:pay#1";

describe("T5: several calls that are in doubt", () => {
  test("T5: all of them are asked about together, and nothing is made before all of them are decided on", async () => {
    const { begun, resume } = await inDoubt();
    const asked = await resume();
    expect(asked).toMatchObject({
      status: "suspended",
      error: { code: "NEEDS_DECISION", key: "tool:pay#1" },
    });
    expect((asked.error as NeedsDecisionError).pending).toEqual([A, B]);
    expect(asked.error?.message).toContain(`{ "${A}": "retry" | "skip" | "fail", "${B}": `);
    // One after the other leads nowhere, but nothing is paid for it either.
    for (const [decided, open] of [
      [A, B],
      [B, A],
      [A, B],
    ] as const) {
      const again = await resume({ [decided]: "retry" });
      expect(again.status).toBe("suspended");
      expect((again.error as NeedsDecisionError).pending).toEqual([open]);
    }
    expect(begun).toEqual({ a: 1, b: 1 });
    expect(await resume({ [A]: "retry", [B]: "skip" })).toMatchObject({
      status: "completed",
      output: expect.stringMatching(/^paid error: pay was interrupted by a crash/),
    });
    expect(begun).toEqual({ a: 2, b: 1 });
  });

  test("T5: a call of somebody whose hire is over is not asked about", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let begun = 0;
    const stuck = defineTool({
      name: "stuck",
      description: "",
      input: z.object({}),
      execute: () => {
        begun++;
        return new Promise<never>(() => {});
      },
    });
    const worker = agent("worker", async (ctx) => {
      await ctx.tool({ id: "c", name: "stuck", arguments: "{}" }, stuck);
      return done("never");
    });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: worker, input: "", timeoutS: 1 });
      return done(`${status} ${String(await ctx.waitFor("go"))}`);
    });
    const first = new Runtime({ journal, clock });
    const run = first.run(lead, "", { runId: "r" });
    await until(() => begun === 1);
    await clock.advance(2_000);
    await turns();
    await closed(first, clock);
    expect(await run.result).toMatchObject({ status: "suspended" });
    const second = new Runtime({ journal, clock, agents: [lead] });
    await second.deliver("r", "go", "on");
    expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "partial on" });
    expect(begun).toBe(1);
  });
});

describe("T4: a runtime that is closed while somebody who was hired works", () => {
  test("T4: waits for what is under way, and it is on record", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const headcount = new FakeHeadcount();
    const ledger = new FakeLedger();
    const { begun, gate, lead } = payers();
    const ports = { journal, clock, headcount: () => headcount, ledger: () => new FakeLedger() };
    const first = new Runtime({ ...ports, ledger: () => ledger });
    const run = first.run(lead, "", { runId: "r" });
    await until(() => begun["a"] === 1 && begun["b"] === 1);
    const closing = first.close();
    expect(await within(closing)).toBe("pending");
    gate.current.resolve("paid");
    await closing;
    expect(await run.result).toMatchObject({ status: "suspended" });
    expect([...headcount.holders].filter((id) => id.startsWith("a") || id.startsWith("b"))).toEqual([]);
    expect(ledger.used).toMatchObject({ toolCalls: 2 });
    const again = await new Runtime({ ...ports, agents: [lead] }).resume("r").result;
    expect(again).toMatchObject({ status: "completed", output: "paid paid", inDoubt: [] });
    expect(begun).toEqual({ a: 1, b: 1 });
  });

  test("T4: whoever does not stop is given up after the grace", async () => {
    const clock = virtualClock();
    const { begun, lead } = payers();
    const runtime = new Runtime({ journal: new MemoryJournal(), clock });
    const run = runtime.run(lead, "");
    await until(() => begun["a"] === 1 && begun["b"] === 1);
    const closing = runtime.close();
    expect(await within(closing)).toBe("pending");
    await clock.advance(60);
    expect(await within(closing)).toBeUndefined();
    expect(await run.result).toMatchObject({ status: "suspended" });
  });

  test("T4: on a clock without timers nobody waits for who does not stop, and the result calls all of them suspended", async () => {
    const { begun, lead } = payers();
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: { now: () => 0 } });
    const run = runtime.run(lead, "");
    await until(() => begun["a"] === 1 && begun["b"] === 1);
    await runtime.close();
    const { status, agents = [] } = await run.result;
    expect([status, ...agents.map((each) => each.status)]).toEqual(Array(4).fill("suspended"));
  });
});

test("R18: a deaf tool that begins after its agent has stopped is counted, and leaves no reservation", async () => {
  const clock = virtualClock({ now: 0 });
  const memory = new MemoryJournal({ clock });
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, {
    async append(runId: RunId, epoch: number, entries: readonly JournalEntry[]) {
      memory.append(runId, epoch, entries);
      if (!entries.some(({ key, phase }) => key.startsWith("tool:") && phase === "begin")) return;
      asked.resolve();
      await answered.promise;
    },
  });
  let isCalled = false;
  const tool = defineTool({
    name: "note",
    description: "",
    input: z.object({}),
    execute: () => ((isCalled = true), new Promise<never>(() => {})),
  });
  const quick = agent("quick", async (ctx) => {
    ctx.tool({ id: "1", name: "note", arguments: "{}" }, tool).catch(() => {});
    const { promise, reject } = Promise.withResolvers<never>();
    ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
    return promise;
  });
  const deaf = agent("deaf", () => new Promise<never>(() => {}));
  const lead = agent("lead", async (ctx) => {
    await ctx.batch([
      { kind: "hire", agent: quick, input: "" },
      { kind: "hire", agent: deaf, input: "" },
    ]);
    return done("");
  });
  let open = 0;
  class OpenLedger extends FakeLedger {
    override reserve(estimate: Partial<Spend>): Reservation {
      const reservation = super.reserve(estimate);
      open++;
      return { ...reservation, settle: (actual) => (open--, reservation.settle(actual)) };
    }
    override child(): OpenLedger {
      return this;
    }
  }
  const runtime = new Runtime({ journal, clock, ledger: () => new OpenLedger() });
  const { result } = runtime.run(lead, "");
  await asked.promise;
  const closing = runtime.close();
  await turns();
  answered.resolve();
  await turns();
  expect({ isCalled, open }).toEqual({ isCalled: true, open: 0 });
  await clock.advance(2_000);
  await closing;
  const { status, agents = [] } = await result;
  const calls = agents.map(({ agentId, toolCalls }) => [agentId, toolCalls]);
  expect([status, ...calls]).toEqual(["suspended", ["lead", 0], ["quick/1", 1], ["deaf/2", 0]]);
});
