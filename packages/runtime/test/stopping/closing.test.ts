import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type AbortSignalLike,
  type Agent,
  cancellationOf,
  defineTool,
  type Journal,
  type JournalEntry,
  type Lease,
  type LLMClient,
  type ModelResponse,
  type Reservation,
  type RunId,
  type Spend,
} from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import {
  agent,
  ask,
  closed,
  done,
  FakeHeadcount,
  FakeLedger,
  turns,
  until,
  within,
} from "../support/helpers.ts";

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

describe("closing", () => {
  const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("never"))));

  test("T4: a runtime that is closed right after run() does not wait for it for ever", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ journal: new MemoryJournal(), clock });
    const run = runtime.run(waits, "");
    const closing = runtime.close();
    await clock.advance(1_000);
    expect(await within(closing)).toBeUndefined();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
  });

  test("T4: a runtime that is closed while a crashed run waits for its next go suspends it", async () => {
    const clock = virtualClock();
    let goes = 0;
    const shaky = agent("shaky", async (ctx) => {
      if (goes++ === 0) throw new TypeError("oops");
      return done(String(await ctx.waitFor("never")));
    });
    const restart = { shouldRetry: () => true, delayMs: () => 1_000, reset: () => {} };
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, restart });
    const run = runtime.run(shaky, "");
    await until(() => goes === 1);
    await turns();
    const closing = runtime.close();
    await clock.advance(5_000);
    expect(await within(closing)).toBeUndefined();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
  });

  test("T4: nor does closing wait for the time of that next go to come", async () => {
    const clock = virtualClock();
    const shaky = agent("shaky", async () => {
      throw new TypeError("oops");
    });
    const restart = { shouldRetry: () => true, delayMs: () => 60_000, reset: () => {} };
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, restart });
    const run = runtime.run(shaky, "");
    await turns();
    expect(await within(runtime.close())).toBeUndefined();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
  });

  test("T4: nor if it is closed while the agents below the crashed one are being stopped", async () => {
    const closing: Promise<void>[] = [];
    const child = agent("child", async (ctx) => {
      ctx.signal.addEventListener("abort", () => void closing.push(runtime.close()));
      return done(String(await ctx.waitFor("never")));
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.spawn(child, { input: "" });
      throw new TypeError("oops");
    });
    const restart = { shouldRetry: () => true, delayMs: () => 60_000, reset: () => {} };
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock(), restart });
    const run = runtime.run(lead, "");
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
    expect(closing).toHaveLength(1);
    expect(await within(Promise.all(closing))).toEqual([undefined]);
  });

  test("T4: a run whose journal takes nothing more is not started again: every go would end at its first entry", async () => {
    const journal = new MemoryJournal();
    const fault = new Error("the disk is full");
    let goes = 0;
    const restart = { shouldRetry: () => true, delayMs: () => 0, reset: () => {} };
    const lead = agent("lead", async (ctx) => {
      goes++;
      journal.append = () => {
        throw fault;
      };
      await ctx.now();
      return done("");
    });
    const run = new Runtime({ journal, restart }).run(lead, "");
    await expect(within(run.result)).rejects.toBe(fault);
    expect(goes).toBe(1);
  });

  test("T4: closing leaves no model call under way: it is waited for, or aborted", async () => {
    const clock = virtualClock();
    let aborted = false;
    let asked = false;
    const slow: LLMClient = {
      id: "slow",
      info: { provider: "x", model: "slow" },
      generate: (_, options) =>
        new Promise<ModelResponse>((_resolve, reject) => {
          asked = true;
          options?.signal?.addEventListener("abort", () => {
            aborted = true;
            reject(options.signal?.reason as Error);
          });
        }),
    };
    const caller = agent("caller", async (ctx) => {
      await ctx.llm(slow, ask("x"));
      return done("");
    });
    const runtime = new Runtime({ journal: new MemoryJournal(), clock });
    runtime.run(caller, "");
    await until(() => asked);
    const closing = runtime.close();
    await clock.advance(100);
    await closing;
    expect(aborted).toBe(true);
  });

  test("R15: one who is parked and gets a seat while the run is being suspended pays for nothing more", async () => {
    const clock = virtualClock();
    const headcount = new FakeHeadcount();
    let paid = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "x", model: "m" },
      generate: async () => {
        paid++;
        return { message: { role: "assistant", content: "x" }, finishReason: "stop" };
      },
    };
    const child = agent("child", async (ctx) => {
      await ctx.llm(model, ask("1"));
      headcount.pause(ctx.agentId);
      await ctx.llm(model, ask("2"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "" });
      return done("");
    });
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, headcount: () => headcount });
    runtime.run(lead, "");
    await until(() => headcount.paused.size === 1);
    await turns();
    const closing = runtime.close();
    // As when a sister that is unwound gives her seat back.
    headcount.unpause("child/1");
    await clock.advance(100);
    await closing;
    expect(paid).toBe(1);
  });
});

test("R24: the result of a run that was suspended by a close says why, as one that waits for a decision does", async () => {
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const { result } = runtime.run(waiting, "");
  await runtime.close();
  expect(await result).toMatchObject({
    status: "suspended",
    error: { code: "SUSPENDED", message: "suspended: the runtime was closed" },
  });
});

test.each(["through its handle", "by another process", "by its deadline"] as const)(
  "T4: a run that was stopped %s ends so, although its runtime is closed before it has stopped",
  async (how) => {
    const clock = virtualClock();
    const journal = new MemoryJournal({ clock });
    const gate = Promise.withResolvers<string>();
    let begun = false;
    const deaf = defineTool({
      name: "deaf",
      description: "",
      input: z.object({}),
      execute: () => {
        begun = true;
        return gate.promise;
      },
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.tool({ id: "c", name: "deaf", arguments: "{}" }, deaf);
      return done("");
    });
    const runtime = new Runtime({ journal, clock });
    const executionBudget = how === "by its deadline" ? { deadlineS: 1 } : {};
    const run = runtime.run(lead, "", { runId: "r", executionBudget });
    await until(() => begun);
    if (how === "through its handle") run.cancel("enough");
    else if (how === "by another process") await new Runtime({ journal, clock }).cancel("r", "enough");
    else await clock.advance(1_000);
    await turns();
    const closing = runtime.close();
    gate.resolve("late");
    await clock.advance(100);
    await closing;
    expect((await run.result).status).toBe(how === "by its deadline" ? "partial" : "cancelled");
  },
);

test("R24: whoever closes a runtime can say why, and the results of its runs repeat it", async () => {
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  for (const journal of [new MemoryJournal(), undefined]) {
    const runtime = new Runtime({ journal });
    const { result } = runtime.run(waiting, "");
    await runtime.close({ reason: "the machine is being updated" });
    expect((await result).error?.message).toMatch(/^(suspended|cancelled): the machine is being updated$/);
  }
});

test("T5: a call that closing aborted is made again on resume, whatever error its client threw", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  let asked = 0;
  const model: LLMClient = {
    id: "m",
    info: { provider: "x", model: "m" },
    generate: (_, options) =>
      new Promise((resolve, reject) => {
        if (++asked === 2) resolve({ message: { role: "assistant", content: "x" }, finishReason: "stop" });
        options?.signal?.addEventListener("abort", () => reject(new Error("Request was aborted.")));
      }),
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("x"));
    return done("answered");
  });
  const first = new Runtime({ journal, clock });
  first.run(lead, "", { runId: "q" });
  await until(() => asked === 1);
  await closed(first, clock);
  const resumed = new Runtime({ journal, clock, agents: [lead] }).resume("q");
  await clock.advance(1_000);
  expect(await within(resumed.result)).toMatchObject({ status: "completed", output: "answered" });
});

test("T5: a tool that closing aborted has not failed: it is in doubt", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  let executed = 0;
  const tool = defineTool({
    name: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: (_, { signal }) =>
      new Promise((resolve, reject) => {
        if (++executed === 2) resolve("done");
        signal.addEventListener("abort", () => reject(new Error("socket closed")));
      }),
  });
  const lead = agent("lead", async (ctx) =>
    done(String((await ctx.tool({ id: "c", name: "slow", arguments: "{}" }, tool)).content)),
  );
  const first = new Runtime({ journal, clock });
  first.run(lead, "", { runId: "q" });
  await until(() => executed === 1);
  await closed(first, clock);
  const resumed = new Runtime({ journal, clock, agents: [lead] }).resume("q");
  await clock.advance(1_000);
  expect(await within(resumed.result)).toMatchObject({ status: "completed", output: "done" });
});

test("R15: a hire that waits for its seat when the runtime is closed waits for it again on resume", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  let queued = false;
  const full = Object.assign(new FakeHeadcount(), {
    acquire: (_: unknown, __: unknown, options?: { readonly signal?: AbortSignalLike | undefined }) =>
      new Promise<Lease>((_resolve, reject) => {
        const { signal } = options ?? {};
        queued = true;
        signal?.addEventListener("abort", () => reject(cancellationOf(signal)));
      }),
  });
  const child = agent("child", async () => done("hired"));
  const lead = agent("lead", async (ctx) =>
    done((await ctx.hire({ agent: child, input: "", onFull: "queue" })).status),
  );
  const first = new Runtime({ journal, clock, headcount: () => full });
  first.run(lead, "", { runId: "q" });
  await until(() => queued);
  await closed(first, clock);
  const second = new Runtime({ journal, clock, agents: [lead], headcount: () => new FakeHeadcount() });
  expect(await within(second.resume("q").result)).toMatchObject({ output: "completed" });
});
