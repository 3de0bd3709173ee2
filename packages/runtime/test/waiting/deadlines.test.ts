import { describe, expect, test } from "vitest";
import {
  type Agent,
  defineTool,
  type Headcount,
  HookEvent,
  type Hooks,
  type Lease,
  type LLMClient,
  type ModelResponse,
  type Permissions,
  RunId,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import {
  agent,
  ask,
  closed,
  cut,
  done,
  FakeHeadcount,
  FakeLedger,
  turns,
  until,
  within,
} from "../support/helpers.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import * as z from "zod";

/** A provider whose client throws an error of its own when it is aborted, as most do. */
const abortable = (asked: () => void): LLMClient => ({
  id: "abortable",
  info: { provider: "x", model: "abortable" },
  generate: (_, options) =>
    new Promise<ModelResponse>((_resolve, reject) => {
      asked();
      options?.signal?.addEventListener("abort", () => reject(new Error("Request was aborted.")));
    }),
});

test("R8: a deadline lands as partial, whatever error the provider's client throws", async () => {
  const clock = virtualClock();
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(
      abortable(() => {}),
      ask("x"),
    );
    return done("");
  });
  const run = new Runtime({ clock }).run(lead, "", { executionBudget: { deadlineS: 1 } });
  await clock.advance(5_000);
  expect(await run.result).toMatchObject({ status: "partial", stopReason: "deadline" });
});

test("R8: a run with a journal and a history that its deadline cuts off is partial", async () => {
  const clock = virtualClock();
  const history = { load: () => ({ messages: [], head: 0 }), append: () => {}, clear: () => {} };
  const lead = agent("lead", async (ctx) => {
    await ctx.remember({ role: "assistant", content: "so far" });
    await ctx.waitFor("never");
    return done("");
  });
  const runtime = new Runtime({ journal: new MemoryJournal(), clock, history });
  const run = runtime.run(lead, "", { executionBudget: { deadlineS: 1 } });
  const settled = run.result.catch((error: unknown) => error);
  await clock.advance(5_000);
  expect(await settled).toMatchObject({ status: "partial", output: "so far" });
});

test("R18: the deadline of a tracker that an agent was given is that of its runs and hires; the lower one counts", async () => {
  const clock = virtualClock({ now: 1_000 });
  const deadlines: (number | null)[] = [];
  const withTracker = (name: string, deadlineS: number | null, run: Agent["run"]): Agent => ({
    ...agent(name, run),
    defaults: { executionBudget: Object.assign(new FakeLedger(), { deadlineS }) },
  });
  const tells: Agent["run"] = async ({ meta }) => {
    deadlines.push(meta.deadline);
    return done("");
  };
  const lead = withTracker("lead", 60, async (ctx, inbox) => {
    for (const deadlineS of [10, 90, null])
      await ctx.hire({ agent: withTracker("helper", deadlineS, tells), input: "" });
    const own = { agent: withTracker("helper", 10, tells), input: "", executionBudget: { deadlineS: 5 } };
    await ctx.hire(own);
    return tells(ctx, inbox);
  });
  await new Runtime({ clock }).run(lead, "").result;
  expect(deadlines).toEqual([11_000, 61_000, 61_000, 6_000, 61_000]);
  const slow = withTracker("slow", 1, async (ctx) => done(String(await ctx.waitFor("never"))));
  const run = new Runtime({ clock }).run(slow, "");
  await clock.advance(5_000);
  expect(await run.result).toMatchObject({ status: "partial", stopReason: "deadline" });
});

test("R23: a hire with a time limit fails on a clock without timers, and says what is missing", async () => {
  const idle = agent("idle", async (ctx) => done(String(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    const error = await ctx.hire({ agent: idle, input: "", timeoutS: 1 }).catch((reason: unknown) => reason);
    return done(String(error));
  });
  const { output } = await new Runtime({ clock: { now: () => 0 } }).run(lead, "").result;
  expect(output).toMatch(/clock\.setTimer is undefined; expected a function/);
});

/** A call that hangs until it is aborted. */
const hanging: LLMClient = {
  id: "hanging",
  info: { provider: "x", model: "hanging" },
  generate: (_, options) =>
    new Promise<ModelResponse>((_resolve, reject) =>
      options?.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error)),
    ),
};

describe("time", () => {
  test("R8: a child's own deadline aborts its hung call, and does not only notice it", async () => {
    const clock = virtualClock();
    const child = agent("child", async (ctx) => {
      await ctx.llm(hanging, ask("x"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: child, input: "", executionBudget: { deadlineS: 1 } });
      return done(status);
    });
    const run = new Runtime({ clock }).run(lead, "");
    await clock.advance(10_000);
    expect(await within(run.result)).toMatchObject({ status: "completed", output: "partial" });
  });

  test.each([
    ["the time that its parent waits", { timeoutS: 1 }],
    ["its own time", { executionBudget: { deadlineS: 1 } }],
  ])("T4: a policy that never says whether a child may be hired: %s covers that too", async (_, limit) => {
    for (const services of [{}, { journal: new MemoryJournal() }]) {
      const clock = virtualClock();
      const child = agent("child", async () => done("it began"));
      const lead = agent("lead", async (ctx) => {
        const { status } = await ctx.hire({ agent: child, input: "", ...limit });
        return done(status);
      });
      const permissions: Permissions = { isNoop: false, check: () => new Promise(() => {}) };
      const run = new Runtime({ clock, permissions, ...services }).run(lead, "");
      await turns();
      await clock.advance(10_000);
      expect(await within(run.result)).toMatchObject({ status: "completed", output: "partial" });
      expect(clock.pending).toBe(0);
    }
  });

  test("R15: the time that a child is parked does not count for the time limit of its hire", async () => {
    const clock = virtualClock();
    const headcount = new FakeHeadcount();
    const child = agent("child", async (ctx) => {
      headcount.pause(ctx.agentId);
      await ctx.check();
      return done("done after all");
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "", timeoutS: 120 });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const run = new Runtime({ clock, headcount: () => headcount }).run(lead, "");
    await clock.advance(200_000);
    headcount.unpause("child/1");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("done after all");
  });

  test("R15: once it has a seat again, its time counts again, and how long it was parked is told", async () => {
    const clock = virtualClock({ now: 5_000 });
    const headcount = new FakeHeadcount();
    const told: unknown[] = [];
    const hooks: Hooks = {
      has: (event) => event === HookEvent.RESUMED,
      dispatch: (_, payload) => void told.push(payload),
    };
    const child = agent("child", async (ctx) => {
      headcount.pause(ctx.agentId);
      await ctx.check();
      await ctx.sleepUntil(10_000_000);
      return done("never");
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "", timeoutS: 120 });
      return done(outcome.status);
    });
    const run = new Runtime({ clock, hooks, headcount: () => headcount }).run(lead, "");
    await clock.advance(200_000);
    headcount.unpause("child/1");
    await clock.advance(119_000);
    expect(run.status).not.toBe("completed");
    await clock.advance(2_000);
    expect(await within(run.result)).toMatchObject({ status: "completed", output: "partial" });
    expect(told).toMatchObject([{ agentId: "child/1", pausedMs: 200_000 }]);
  });

  test("R8: a child that waited for its seat has the deadline that is on record", async () => {
    const clock = virtualClock();
    const journal = new MemoryJournal();
    const headcount = new FakeHeadcount();
    const seat = Promise.withResolvers<Lease>();
    const queueing: Headcount = Object.assign(headcount, { acquire: () => seat.promise });
    let deadline: number | null = null;
    const child = agent("child", async (ctx) => {
      ({ deadline } = ctx.meta);
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "", onFull: "queue", executionBudget: { deadlineS: 100 } });
      return done("");
    });
    const run = new Runtime({ clock, journal, headcount: () => queueing }).run(lead, "", { runId: "r" });
    await turns();
    await clock.advance(60_000);
    seat.resolve({ agentId: "child/1" as Lease["agentId"], release: () => {}, [Symbol.dispose]: () => {} });
    await run.result;
    const begin = journal.load(RunId("r")).find(({ phase }) => phase === "begin");
    expect(deadline).toBe(begin?.body["deadline"]);
  });

  test("T6: a sleep that is over on record is not slept again under another clock", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock({ now: 1_000_000 });
    const model = scriptedModel(() => "ok");
    const sleeper = agent("sleeper", async (ctx) => {
      await ctx.sleepUntil(1_000_500);
      await ctx.llm(model, ask("x"));
      return done("awake");
    });
    const run = new Runtime({ journal, clock }).run(sleeper, "", { runId: "s" });
    await clock.advance(1_000);
    await run.result;
    const records = journal
      .load(RunId("s"))
      .filter(({ key, attempt }) => key !== "run:status" || attempt === 1);
    const other = new Runtime({ journal: cut("s", records), clock: virtualClock(), agents: [sleeper] });
    expect(await within(other.resume("s").result)).toMatchObject({ status: "completed" });
  });

  test.each([
    ["keeps no history", false],
    ["keeps a history", true],
  ])(
    "R24: a run that %s ends as partial, with what it said, when its deadline passed while it was down",
    async (_, keeps) => {
      const journal = new MemoryJournal();
      const clock = virtualClock();
      const provider = { load: () => ({ messages: [], head: 0 }), append: () => {}, clear: () => {} };
      const history = keeps ? provider : undefined;
      const model = scriptedModel(() => "said");
      const late = agent("late", async (ctx) => {
        const { message } = await ctx.llm(model, ask("x"));
        await ctx.remember(message);
        await ctx.waitFor("never");
        return done("");
      });
      const options = { runId: "d", executionBudget: { deadlineS: 10 } };
      const first = new Runtime({ journal, clock, history });
      const run = first.run(late, "", options);
      await until(() => run.status === "suspended");
      const closing = first.close();
      await clock.advance(100);
      await closing;
      const later = virtualClock({ now: 60_000 });
      const resumed = new Runtime({ journal, clock: later, history, agents: [late] }).resume("d");
      const settled = resumed.result.catch((error: unknown) => error);
      await later.advance(1_000);
      expect(await settled).toMatchObject({
        status: "partial",
        stopReason: "deadline",
        output: "said",
      });
    },
  );

  test("R24: a run whose deadline passed while it was down is given ten seconds to catch up with its record", async () => {
    const journal = new MemoryJournal();
    const model = scriptedModel(() => "said");
    const runFrom = async (now: number, slowly: Promise<void>, afterMs: number) => {
      const clock = virtualClock({ now });
      const late = agent("late", async (ctx) => {
        // A history or a tool of its own that takes its time.
        await slowly;
        const { message } = await ctx.llm(model, ask("x"));
        await ctx.remember(message);
        await ctx.waitFor("never");
        return done("");
      });
      const runtime = new Runtime({ journal, clock, agents: [late] });
      const options = { runId: "d", executionBudget: { deadlineS: 10 } };
      const run = now === 0 ? runtime.run(late, "", options) : runtime.resume("d");
      await clock.advance(afterMs);
      return { run, runtime, clock };
    };
    const first = await runFrom(0, Promise.resolve(), 1);
    await until(() => first.run.status === "suspended");
    await closed(first.runtime, first.clock);

    const slow = Promise.withResolvers<void>();
    const resumed = await runFrom(60_000, slow.promise, 9_999);
    slow.resolve();
    await turns();
    await resumed.clock.advance(1);
    expect(await resumed.run.result).toMatchObject({ stopReason: "deadline", output: "said" });
    expect(model.calls).toHaveLength(1);
  });

  test("R24: one that has not caught up by then is cut off", async () => {
    const journal = new MemoryJournal();
    const model = scriptedModel(() => "said");
    let isSlow = false;
    const late = agent("late", async (ctx) => {
      if (isSlow) await new Promise<never>(() => {});
      await ctx.llm(model, ask("x"));
      await ctx.waitFor("never");
      return done("");
    });
    const clock = virtualClock();
    const first = new Runtime({ journal, clock });
    const run = first.run(late, "", { runId: "d", executionBudget: { deadlineS: 10 } });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    isSlow = true;
    const later = virtualClock({ now: 60_000 });
    let ended: unknown;
    const resumed = new Runtime({ journal, clock: later, agents: [late] }).resume("d");
    void resumed.result.then((result) => (ended = result));
    await later.advance(9_999);
    await turns();
    expect(ended).toBeUndefined();
    await later.advance(100);
    await turns();
    expect(ended).toMatchObject({ status: "partial", stopReason: "deadline" });
  });

  test("R16: an ask without a time limit ends when the child ends without a reply", async () => {
    const clock = virtualClock();
    const mute = agent("mute", async (_, inbox) => {
      await inbox.receive();
      return done("no comment");
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(mute, { input: "" });
      return ctx.ask(handle, "well?").then(
        () => done("answered"),
        () => done("silent"),
      );
    });
    const run = new Runtime({ clock }).run(lead, "");
    await clock.advance(1_000);
    expect(await within(run.result)).toMatchObject({ output: "silent" });
  });

  test("R21: how long a call took does not count what its journal took to write its begin", async () => {
    let now = 0;
    class SlowJournal extends MemoryJournal {
      override append(...args: Parameters<MemoryJournal["append"]>): void {
        now += 50;
        super.append(...args);
      }
    }
    const told: Record<string, number> = {};
    const hooks: Hooks = {
      has: (event) => event === HookEvent.LLM_END || event === HookEvent.TOOL_END,
      dispatch: (event, payload) => void (told[event] = (payload as { durationMs: number }).durationMs),
      drain() {},
    };
    const wait = defineTool({
      name: "wait",
      description: "waits",
      input: z.object({}),
      execute: () => {
        now += 1;
        return "x";
      },
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(scriptedModel(["hi"]), ask("?"));
      await ctx.tool({ id: "1", name: "wait", arguments: "{}" }, wait);
      return done("");
    });
    const clock = { now: () => now };
    await new Runtime({ clock, hooks, journal: new SlowJournal({ clock }) }).run(lead, "").result;
    expect(told).toEqual({ [HookEvent.LLM_END]: 0, [HookEvent.TOOL_END]: 1 });
  });
});
