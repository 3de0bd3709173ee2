import { describe, expect, test } from "vitest";
import {
  type Agent,
  type Clock,
  type HistoryProvider,
  HistoryRetention,
  type Hooks,
  type RunContext,
  type TimerHandle,
} from "@ravi/kernel";
import { bothHooks } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, done, FakeHeadcount, FakeLedger, until, within } from "../support/helpers.ts";

// The end of an execution is told to its engine by whoever waits for it: whatever the end, nothing stays behind.

/** Counts the timers that are set; `broken` ones cannot be taken off without a complaint. */
function counting(isBroken = false): { readonly clock: Clock; readonly set: Set<object> } {
  const set = new Set<object>();
  const setTimer = (): TimerHandle => {
    const handle: TimerHandle = {
      cancel() {
        set.delete(handle);
        if (isBroken) throw new Error("the timer is broken");
      },
    };
    set.add(handle);
    return handle;
  };
  return { clock: { now: () => 0, setTimer }, set };
}

const waiting = async (ctx: RunContext) => {
  await ctx.waitFor("never");
  return done("");
};

describe("a run that is suspended", () => {
  test("T4: leaves no timer behind, and its agents are suspended, not failed", async () => {
    const { clock, set } = counting();
    const runtime = new Runtime({ clock, journal: new MemoryJournal({ clock }) });
    const kid = agent("kid", waiting);
    const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: kid, input: "" })).status));
    const handle = runtime.run(lead, "", { executionBudget: { deadlineS: 60 } });
    await until(() => handle.status === "suspended");
    expect(set.size).toBeGreaterThan(0);
    await runtime.close();
    const { status, agents } = await handle.result;
    expect(status).toBe("suspended");
    expect(agents?.map((each) => each.status)).toEqual(["suspended", "suspended"]);
    expect(set.size).toBe(0);
  });
});

describe("where telling of the end fails", () => {
  test("T4: the seat of a child is free all the same", async () => {
    const { clock } = counting(true);
    const headcount = new FakeHeadcount();
    const kid = agent("kid", async () => done("fine"));
    const lead = agent("lead", async (ctx) => {
      const hired = ctx.hire({ agent: kid, input: "", executionBudget: { deadlineS: 60 } });
      return done(await hired.then(({ status }) => status, String));
    });
    const { output } = await new Runtime({ clock, headcount: () => headcount }).run(lead, "").result;
    expect(output).toContain("the timer is broken");
    expect([...headcount.holders]).toEqual([]);
  });

  test("T4: the journal is watched no longer all the same", async () => {
    const { clock } = counting(true);
    const journal = new MemoryJournal({ clock });
    let watches = 0;
    const watched = Object.assign(Object.create(journal) as MemoryJournal, {
      watch: (...args: Parameters<MemoryJournal["watch"]>) => {
        const watch = journal.watch(...args);
        watches++;
        return {
          ...watch,
          stop: () => {
            watches--;
            watch.stop();
          },
        };
      },
    });
    const lead = agent("lead", async () => done("fine"));
    const run = new Runtime({ clock, journal: watched }).run(lead, "", {
      executionBudget: { deadlineS: 60 },
    });
    await expect(run.result).rejects.toThrow("the timer is broken");
    expect(watches).toBe(0);
  });
});

describe("a context that is kept after its agent's end", () => {
  const late = { type: "progress", name: "late", data: null } as const;

  test("J3: tells nothing more, neither while the run goes on nor after it", async () => {
    const kept: RunContext[] = [];
    const kid = agent("kid", async (ctx) => {
      kept.push(ctx);
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      kept.push(ctx);
      await ctx.hire({ agent: kid, input: "" });
      for (const context of kept) context.emit(late);
      return done("");
    });
    const heard: string[] = [];
    const { result } = new Runtime().run(lead, "", {
      onEvent: ({ agentId, event }) => void heard.push(`${agentId}: ${event.type}`),
    });
    await result;
    for (const context of kept) context.emit(late);
    expect(heard).toEqual([
      "lead: started",
      "kid/1: started",
      "kid/1: completed",
      "lead: progress",
      "lead: completed",
    ]);
  });
});

describe("listeners that hang", () => {
  const hooks: Hooks = { has: () => true, dispatch: () => {}, drain: () => new Promise<void>(() => {}) };

  test.each([1, 4])(
    "T4: hold up no run that was cancelled for longer than its grace, %d deep, and the log says so",
    async (depth) => {
      const clock = virtualClock();
      const warnings: string[] = [];
      const quiet = (): void => {};
      const logger = {
        debug: quiet,
        info: quiet,
        warn: (text: string) => void warnings.push(text),
        error: quiet,
      };
      const at = (level: number): Agent =>
        agent(`level-${level}`, async (ctx) =>
          level === 1 ? waiting(ctx) : done((await ctx.hire({ agent: at(level - 1), input: "" })).status),
        );
      const run = new Runtime({ clock, hooks, logger }).run(at(depth), "");
      await clock.advance(1);
      run.cancel("enough");
      await clock.advance(100);
      expect(run.status).toBe("cancelled");
      expect(await run.result).toMatchObject({ status: "cancelled" });
      expect(warnings).toEqual([
        `listeners of level-${depth} were still running when it was cancelled; the run does not wait for them`,
      ]);
      expect(clock.pending).toBe(0);
    },
  );

  test("R20: those of a child that the whole tree has too, among others, are waited for by its root alone", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own: Hooks = { has: () => true, dispatch: () => {}, drain: () => promise };
    const others: Hooks = { has: () => true, dispatch: () => {} };
    const clock = virtualClock();
    const child: Agent = { ...agent("child", waiting), hooks: own };
    let joinedAt: number | undefined;
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(child, { input: "" });
      handle.cancel("enough");
      const { status } = await ctx.join(handle);
      joinedAt = clock.now();
      return done(status);
    });
    const run = new Runtime({ clock, hooks: bothHooks(others, own) }).run(lead, "");
    const began = clock.now();
    await clock.advance(49);
    expect(joinedAt).toBe(began);
    resolve();
    expect(await run.result).toMatchObject({ status: "completed", output: "cancelled" });
  });

  test("R20: those that only a child has are heard, also where it is cancelled and its parent goes on", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own: Hooks = { has: () => true, dispatch: () => {}, drain: () => promise };
    const clock = virtualClock();
    const child: Agent = { ...agent("child", waiting), hooks: own };
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(child, { input: "" });
      handle.cancel("enough");
      return done((await ctx.join(handle)).status);
    });
    const run = new Runtime({ clock }).run(lead, "");
    await clock.advance(49);
    expect(run.status).toBe("running");
    resolve();
    expect(await run.result).toMatchObject({ status: "completed", output: "cancelled" });
    expect(clock.pending).toBe(0);
  });

  test("R20: those of a run that ends by itself are waited for", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow: Hooks = { has: () => true, dispatch: () => {}, drain: () => promise };
    const clock = virtualClock();
    const run = new Runtime({ clock, hooks: slow }).run(
      agent("lead", async () => done("fine")),
      "",
    );
    await clock.advance(1_000);
    expect(run.status).toBe("running");
    resolve();
    expect(await run.result).toMatchObject({ status: "completed" });
  });
});

describe("what is done beside a run, at its end, and hangs", () => {
  const never = new Promise<void>(() => {});
  const hooks: Hooks = { has: () => true, dispatch: () => {}, drain: () => never };
  const historyThat = (hanging: "append" | "clear"): HistoryProvider => ({
    load: async () => ({ messages: [], head: 0 }),
    append: async () => (hanging === "append" ? never : undefined),
    clear: async () => (hanging === "clear" ? never : undefined),
  });
  const places = [
    ["listeners hold", { hooks }, HistoryRetention.NONE],
    ["a history that is written holds", { history: historyThat("append") }, HistoryRetention.PERMANENT],
    ["a history that is cleared holds", { history: historyThat("clear") }, HistoryRetention.RUN],
    ["all of it together holds", { hooks, history: historyThat("clear") }, HistoryRetention.RUN],
  ] as const;
  const speaker = agent("speaker", async (ctx) => {
    await ctx.remember({ role: "user", content: "said" });
    return done("fine");
  });

  describe.each(["cancel", "close"] as const)("and whoever stops it meanwhile (%s)", (stop) => {
    test.each(places)("T4: %s up nobody; what it gave stands", async (_, ports, retention) => {
      for (const journal of [undefined, new MemoryJournal()]) {
        const clock = virtualClock();
        const runtime = new Runtime({ ...ports, clock, journal });
        const run = runtime.run(speaker, "", { retention, runId: "r" });
        const came = run.result.catch((error: unknown) => error);
        await clock.advance(1_000);
        expect(run.status).toBe("running");
        const stopped = stop === "cancel" ? run.cancel("enough") : runtime.close();
        await clock.advance(2_000);
        // What is on record is not over without its history: whoever resumes it writes that.
        const isKept = journal !== undefined && retention === HistoryRetention.PERMANENT;
        const message = expect.stringMatching(
          /^the history of speaker: no answer .* is not known; .* resumed$/,
        );
        const end = isKept ? { code: "JOURNAL_FAILED", message } : { status: "completed", output: "fine" };
        expect(await within(came)).toMatchObject(end);
        await stopped;
        expect(clock.pending).toBe(0);
        const status = isKept ? "running" : "completed";
        if (journal !== undefined) expect(journal.list()).toMatchObject([{ status }]);
      }
    });
  });

  const late = agent("late", async (ctx) => {
    await ctx.remember({ role: "user", content: "said" });
    await ctx.sleepUntil(60_000).catch(() => {});
    return { status: "partial", output: "so far", stopReason: "deadline" };
  });
  const leaving = agent("leaving", async (ctx) => {
    await ctx.remember({ role: "user", content: "said" });
    ctx.sleepUntil(60_000).catch(() => {});
    return done("fine");
  });
  const ends = [
    ["was out of time", late, "partial"],
    ["has left something running", leaving, "completed"],
    ["is out of time meanwhile", speaker, "completed"],
  ] as const;

  describe.each(ends)("a run that %s", (_, who, status) => {
    test.each(places)(
      "T4: %s up nobody who cancels it, or closes its runtime",
      async (__, ports, retention) => {
        for (const journal of [undefined, new MemoryJournal()]) {
          for (const stop of ["cancel", "close", "post"]) {
            if (journal === undefined && stop === "post") continue;
            const clock = virtualClock();
            const runtime = new Runtime({ ...ports, clock, journal, ledger: () => new FakeLedger() });
            const runId = `r-${stop}`;
            const run = runtime.run(who, "", { retention, runId, executionBudget: { deadlineS: 1 } });
            const came = run.result.catch((error: unknown) => error);
            await clock.advance(3_000);
            expect(run.status).toBe("running");
            if (stop === "cancel") run.cancel("enough");
            else if (stop === "close") void runtime.close();
            else await new Runtime({ clock, journal }).cancel(runId, "enough");
            await clock.advance(3_000);
            const isKept = journal !== undefined && retention === HistoryRetention.PERMANENT;
            expect(await within(came)).toMatchObject(isKept ? { code: "JOURNAL_FAILED" } : { status });
            expect(clock.pending).toBe(0);
          }
        }
      },
    );
  });

  test("T4: a history that cannot be cleared holds up no run that was cancelled before its end", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock, history: historyThat("clear") });
    const run = runtime.run(agent("waiting", waiting), "", { retention: HistoryRetention.RUN });
    await clock.advance(1);
    run.cancel("enough");
    await clock.advance(1_100);
    expect(await within(run.result)).toMatchObject({ status: "cancelled" });
  });

  test("R20: listeners are waited for past the deadline of a run that has ended before it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow: Hooks = { has: () => true, dispatch: () => {}, drain: () => promise };
    const clock = virtualClock();
    const run = new Runtime({ clock, hooks: slow }).run(speaker, "", { executionBudget: { deadlineS: 1 } });
    await clock.advance(2_000);
    expect(run.status).toBe("running");
    resolve();
    expect(await within(run.result)).toMatchObject({ status: "completed" });
  });
});
