import { describe, expect, test } from "vitest";
import {
  type Agent,
  defineTool,
  type FunctionContext,
  type HistoryProvider,
  type Journal,
  type JournalEntry,
  type Pipeline,
  type RunContext,
  type Tool,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal, Runtime, type RuntimeOptions, SqliteJournal } from "@ravi/runtime";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { agent, ask, done, turns, until } from "./support/helpers.ts";

/** A tool whose calls end when the test says so. */
function slow(name: string): { readonly tool: Tool; readonly calls: PromiseWithResolvers<string>[] } {
  const calls: PromiseWithResolvers<string>[] = [];
  const tool = defineTool({
    name,
    description: "",
    input: z.object({}),
    execute: () => {
      const call = Promise.withResolvers<string>();
      calls.push(call);
      return call.promise;
    },
  });
  return { tool, calls };
}

const call = (ctx: RunContext, tool: Tool) => ctx.tool({ id: "c", name: tool.name, arguments: "{}" }, tool);

/** A journal that waits before it writes an entry. */
function slowJournal(kept: MemoryJournal, wait: (entry: JournalEntry) => Promise<void>): Journal {
  return {
    claim: (runId, owner, ttlMs) => kept.claim(runId, owner, ttlMs),
    release: (runId, epoch) => kept.release(runId, epoch),
    load: (runId) => kept.load(runId),
    async append(runId, epoch, entries) {
      for (const entry of entries) await wait(entry);
      return kept.append(runId, epoch, entries);
    },
    post: (runId, item) => kept.post(runId, item),
    items: (runId, after) => kept.items(runId, after),
    list: () => kept.list(),
    delete: (runId) => kept.delete(runId),
    close: () => kept.close(),
  };
}

function setUp(agents: readonly Agent[], more: RuntimeOptions = {}) {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const runtime = () => new Runtime({ journal, clock, agents, ...more });
  return { clock, runtime };
}

describe("close with graceMs", () => {
  test("lets the call under way end, begins no other, and the resumed run makes neither again", async () => {
    const [first, second] = [slow("first"), slow("second")];
    const payer = agent("payer", async (ctx) => {
      await call(ctx, first.tool);
      return done(String((await call(ctx, second.tool)).content));
    });
    const { clock, runtime } = setUp([payer]);
    const before = runtime();
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => first.calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    await clock.advance(1_000);
    first.calls[0]?.resolve("paid");
    await closing;
    expect(await result).toMatchObject({ status: "suspended", error: { code: "SUSPENDED" } });
    expect(second.calls).toEqual([]);
    const resumed = runtime().resume("r");
    await until(() => second.calls.length === 1);
    second.calls[0]?.resolve("paid too");
    expect(await resumed.result).toMatchObject({ status: "completed", output: "paid too", inDoubt: [] });
    expect(first.calls).toHaveLength(1);
  });

  test("waits for the calls of all agents of the tree, and for no hire", async () => {
    const { tool, calls } = slow("pay");
    const worker = agent("worker", async (ctx) => {
      await call(ctx, tool);
      return done(String((await call(ctx, tool)).content));
    });
    const lead = agent("lead", async (ctx) => {
      const leaf = { kind: "hire", agent: worker, input: "" } as const;
      const outcomes = await ctx.batch([leaf, leaf]);
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const { clock, runtime } = setUp([lead, worker]);
    const before = runtime();
    const { result } = before.run(lead, "", { runId: "r" });
    await until(() => calls.length === 2);
    const closing = before.close({ graceMs: 20_000 });
    calls[0]?.resolve("paid");
    await clock.advance(1_000);
    // The first worker does not go on while the second one is waited for.
    expect(calls).toHaveLength(2);
    calls[1]?.resolve("paid");
    await closing;
    expect((await result).status).toBe("suspended");
    const resumed = runtime().resume("r");
    await until(() => calls.length === 4);
    for (const each of calls) each.resolve("paid");
    expect(await resumed.result).toMatchObject({ output: "completed completed", inDoubt: [] });
  });

  test("cuts off what takes longer", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const { clock, runtime } = setUp([payer]);
    const before = runtime();
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    await clock.advance(20_100);
    await closing;
    expect((await result).status).toBe("suspended");
    expect(await runtime().resume("r").result).toMatchObject({
      status: "suspended",
      error: { code: "NEEDS_DECISION" },
    });
  });

  test("lets a run complete whose last call ends meanwhile, and pays for that call once", async () => {
    const answer = Promise.withResolvers<string>();
    const model = scriptedModel(() => answer.promise);
    const writer = agent("writer", async (ctx) => {
      await ctx.llm(model, ask("write"));
      return done("written");
    });
    const { clock, runtime } = setUp([writer]);
    const before = runtime();
    const { result } = before.run(writer, "", { runId: "r" });
    await until(() => model.calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    answer.resolve("text");
    await closing;
    expect(await result).toMatchObject({ status: "completed", output: "written" });
    expect(clock.pending).toBe(0);
  });

  test.each(["when it was closed", "with its last call"])(
    "gives a run that has ended %s the same time to keep its history",
    async (when) => {
      const answer = Promise.withResolvers<string>();
      const model = scriptedModel(() => answer.promise);
      const writer = agent("writer", async (ctx) => {
        await ctx.llm(model, ask("write"));
        ctx.remember({ role: "assistant", content: "written" });
        return done("written");
      });
      const kept = Promise.withResolvers<void>();
      let isKeeping = false;
      const history: HistoryProvider = {
        load: () => ({ messages: [], head: 0 }),
        append: () => ((isKeeping = true), kept.promise),
        clear() {},
      };
      const { clock, runtime } = setUp([writer], { history });
      const before = runtime();
      const { result } = before.run(writer, "", { runId: "r" });
      await until(() => model.calls.length === 1);
      if (when === "when it was closed") {
        answer.resolve("text");
        await until(() => isKeeping);
      }
      const closing = before.close({ graceMs: 20_000 });
      answer.resolve("text");
      await until(() => isKeeping);
      for (let s = 0; s < 10; s++) {
        await clock.advance(1_000);
        await turns();
      }
      kept.resolve();
      await closing;
      expect(await result).toMatchObject({ status: "completed", output: "written" });
      expect(clock.pending).toBe(0);
    },
  );

  test("cuts off also a history that takes longer", async () => {
    const writer = agent("writer", async (ctx) => {
      ctx.remember({ role: "assistant", content: "written" });
      return done("written");
    });
    let isKeeping = false;
    const history: HistoryProvider = {
      load: () => ({ messages: [], head: 0 }),
      append: () => ((isKeeping = true), new Promise(() => {})),
      clear() {},
    };
    const { clock, runtime } = setUp([writer], { history });
    const before = runtime();
    const { result } = before.run(writer, "", { runId: "r" });
    const failed = result.catch((error: unknown) => error);
    await until(() => isKeeping);
    const closing = before.close({ graceMs: 20_000 });
    await clock.advance(22_000);
    await closing;
    expect(await failed).toMatchObject({ code: "JOURNAL_FAILED" });
    expect(clock.pending).toBe(0);
  });

  test("does not wait for a run that only waits for somebody", async () => {
    const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("word"))));
    const { clock, runtime } = setUp([waiting]);
    const before = runtime();
    const handle = before.run(waiting, "", { runId: "r" });
    await until(() => handle.status === "suspended");
    await before.close({ graceMs: 20_000 });
    expect((await handle.result).status).toBe("suspended");
    expect(clock.pending).toBe(0);
  });

  test("is over at once if it is closed again without it", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const { clock, runtime } = setUp([payer]);
    const before = runtime();
    const { result } = before.run(payer, "");
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    const again = before.close();
    await clock.advance(100);
    await again;
    await closing;
    expect((await result).status).toBe("suspended");
    expect(clock.pending).toBe(0);
  });

  test("makes no call of an agent that crashes meanwhile and would be restarted", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => {
      await call(ctx, tool);
      if (calls.length === 1) throw new RangeError("no");
      return done(String((await call(ctx, tool)).content));
    });
    const restart = { shouldRetry: () => true, delayMs: () => 1_000, reset: () => {} };
    const { clock, runtime } = setUp([payer], { restart });
    const before = runtime();
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    calls[0]?.resolve("paid");
    await clock.advance(5_000);
    await closing;
    expect((await result).status).toBe("suspended");
    expect([calls.length, clock.pending]).toEqual([1, 0]);
  });

  test("ends the wait for a restart", async () => {
    const crashing = agent("crashing", async (ctx) => {
      await ctx.uuid();
      throw new RangeError("no");
    });
    const crashed = Promise.withResolvers<void>();
    const shouldRetry = () => (crashed.resolve(), true);
    const restart = { shouldRetry, delayMs: () => 60_000, reset: () => {} };
    const { clock, runtime } = setUp([crashing], { restart });
    const before = runtime();
    const { result } = before.run(crashing, "", { runId: "r" });
    await crashed.promise;
    await clock.advance(0);
    await before.close({ graceMs: 20_000 });
    expect((await result).status).toBe("suspended");
    expect(clock.pending).toBe(0);
  });

  test("with SQLite waits until what a call came to is on the disk", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => {
      await call(ctx, tool);
      return done(String((await call(ctx, tool)).content));
    });
    await using journal = SqliteJournal.open(temporaryDirectory());
    const before = new Runtime({ journal, agents: [payer] });
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 60_000 });
    calls[0]?.resolve("paid");
    await closing;
    expect((await result).status).toBe("suspended");
    const resumed = new Runtime({ journal, agents: [payer] }).resume("r");
    await until(() => calls.length === 2);
    calls[1]?.resolve("paid");
    expect(await resumed.result).toMatchObject({ status: "completed", inDoubt: [] });
  });

  test("waits for a call whose beginning is being written", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => {
      await call(ctx, tool);
      return done(String((await call(ctx, tool)).content));
    });
    const kept = new MemoryJournal();
    const written = Promise.withResolvers<void>();
    const beginnings: string[] = [];
    const journal = slowJournal(kept, async ({ phase, key }) => {
      if (phase !== "begin" || !key.startsWith("tool:")) return;
      beginnings.push(key);
      await written.promise;
    });
    const clock = virtualClock();
    const before = new Runtime({ journal, clock, agents: [payer] });
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => beginnings.length === 1);
    const closing = before.close({ graceMs: 60_000 });
    await turns();
    written.resolve();
    await until(() => calls.length === 1);
    await clock.advance(30_000);
    calls[0]?.resolve("paid");
    await closing;
    expect((await result).status).toBe("suspended");
    expect(beginnings).toHaveLength(1);
    const resumed = new Runtime({ journal: kept, agents: [payer] }).resume("r");
    await until(() => calls.length === 2);
    calls[1]?.resolve("paid");
    expect(await resumed.result).toMatchObject({ status: "completed", inDoubt: [] });
  });

  test("begins no call that was admitted meanwhile", async () => {
    const [long, asked] = [slow("long"), slow("asked")];
    const admitted = Promise.withResolvers<void>();
    const gate: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: ({ tool }) => (tool.name === "asked" ? admitted.promise : undefined),
      run: async (_, core) => core(),
    };
    const worker = (name: string, { tool }: { readonly tool: Tool }): Agent => ({
      ...agent(name, async (ctx) => done(String((await call(ctx, tool)).content))),
      pipelines: { function: gate },
    });
    const workers = [worker("one", long), worker("other", asked)];
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch(
        workers.map((each) => ({ kind: "hire", agent: each, input: "" }) as const),
      );
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const { clock, runtime } = setUp([lead, ...workers]);
    const before = runtime();
    const { result } = before.run(lead, "", { runId: "r" });
    await until(() => long.calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    admitted.resolve();
    await turns();
    expect(asked.calls).toEqual([]);
    long.calls[0]?.resolve("paid");
    await clock.advance(100);
    await closing;
    expect((await result).status).toBe("suspended");
    const resumed = runtime().resume("r");
    await until(() => asked.calls.length === 1);
    asked.calls[0]?.resolve("paid too");
    expect(await resumed.result).toMatchObject({ output: "completed completed", inDoubt: [] });
    expect(long.calls).toHaveLength(1);
  });

  test("refuses to wait for both the runs and their calls", async () => {
    await expect(new Runtime().close({ drain: true, graceMs: 1 })).rejects.toThrow(
      /graceMs is 1; expected 0 with drain/,
    );
  });

  test.each([-1, 0.5, "1s", NaN])("refuses %o", async (graceMs) => {
    await expect(new Runtime().close({ graceMs: graceMs as never })).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: "close options.graceMs",
    });
  });
});
