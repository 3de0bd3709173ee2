import { describe, expect, test } from "vitest";
import {
  type Agent,
  type HireOutcome,
  type Permissions,
  Priority,
  type RunContext,
  RunId,
} from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { virtualClock } from "@ravi/testing";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, done, governed, handOver, hands, model } from "../../src/leading.ts";

const JOURNALS = [
  ["with a journal", () => ({ journal: new MemoryJournal() })],
  ["without one", () => ({})],
] as const;

describe("R16: who waits for a seat is not late", () => {
  test.each(JOURNALS)("%s: ten tasks of a minute each at cap 3 are all done", async (_, services) => {
    const clock = virtualClock({ now: 0 });
    const slow = agent("slow", async (ctx, { input }) => {
      await ctx.sleepUntil((await ctx.now()) + 60_000);
      return done(`did ${input}`);
    });
    const ten = hands(...Array.from({ length: 10 }, (__, n) => ["slow", `task ${n}`] as const));
    const running = handOver(
      ten,
      [{ agent: slow, onFull: "queue" }],
      {},
      { spawnBudget: { maxAgents: 3 } },
      governed({ clock, ...services() }),
    );
    await clock.advance(600_000);
    const { told } = await running;
    expect(told).toEqual(Array.from({ length: 10 }, (__, n) => ({ text: `did task ${n}`, isError: false })));
  });

  test.each(JOURNALS)(
    "%s: a deadline is counted from the hire, also while there is no seat",
    async (_, services) => {
      const clock = virtualClock({ now: 0 });
      const first = agent("first", async (ctx) => {
        await ctx.sleepUntil(50_000);
        return done("first");
      });
      const second = agent("second", async (ctx) => {
        await ctx.sleepUntil(90_000);
        return done("second");
      });
      const running = handOver(
        hands(["first", "x"], ["second", "y"]),
        [{ agent: first }, { agent: second, onFull: "queue", executionBudget: { deadlineS: 60 } }],
        {},
        { spawnBudget: { maxAgents: 2 } },
        governed({ clock, ...services() }),
      );
      await clock.advance(200_000);
      const { told } = await running;
      expect(told[1]).toEqual({ text: expect.stringMatching(/time was up/), isError: true });
    },
  );
});

describe("R8: whose deadline passes while it waits for a seat is told then, and never begins", () => {
  /** Holds the only seat until 50 s. */
  const slow = agent("slow", async (ctx) => {
    await ctx.sleepUntil(50_000);
    return done("slow");
  });
  const begun: string[] = [];
  const late = agent("late", async (_, { input }) => {
    begun.push(input);
    return done(input);
  });
  const terms = { agent: late, input: "late", onFull: "queue", executionBudget: { deadlineS: 10 } } as const;
  const LATE = {
    status: "partial",
    result: { status: "partial", output: "", stopReason: "deadline" },
    usage: { inputTokens: 0, outputTokens: 0 },
    costUsd: 0,
  };

  const waysToHire: [string, (ctx: RunContext) => Promise<HireOutcome>][] = [
    ["hired", (ctx) => ctx.hire(terms)],
    ["hired with a time for its parent's patience", (ctx) => ctx.hire({ ...terms, timeoutS: 1 })],
    [
      "one of a batch",
      async (ctx) => {
        const [outcome] = await ctx.batch([{ kind: "hire", ...terms }]);
        return outcome;
      },
    ],
    ["spawned", async (ctx) => ctx.join(await ctx.spawn(late, terms))],
  ];
  const cases = waysToHire.flatMap(([way, hire]) =>
    JOURNALS.map(([how, services]) => [way, how, hire, services] as const),
  );

  test.each(cases)("%s, %s", async (_, __, hire, services) => {
    const clock = virtualClock({ now: 0 });
    begun.length = 0;
    let seats: SpawnTracker | undefined;
    const told: { at: number; outcome: HireOutcome }[] = [];
    const lead = agent("lead", async (ctx) => {
      const first = await ctx.spawn(slow, { input: "" });
      const outcome = await hire(ctx);
      told.push({ at: clock.now(), outcome });
      const { pending } = clock;
      await ctx.join(first);
      // The seat that it did not wait for is there for others.
      const next = await ctx.hire({ agent: late, input: "next" });
      return done(`${pending} ${next.status}`);
    });
    const used = services();
    const runtime = governed({
      clock,
      ...used,
      headcount: (root) => (seats = new SpawnTracker(root.spawnBudget, { rootId: root.rootId })),
    });
    const run = runtime.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 2 } });
    await clock.advance(100_000);
    const { output, agents } = await run.result;
    expect(told).toEqual([{ at: 10_000, outcome: LATE }]);
    // What sleeps on, and with a journal the heartbeat of the run.
    expect(output).toBe(`${"journal" in used ? 2 : 1} completed`);
    expect(agents?.map(({ status }) => status)).toEqual(["completed", "completed", "partial", "completed"]);
    expect(begun).toEqual(["next"]);
    expect([seats?.held, clock.pending]).toEqual([1, 0]);
  });

  test("it is on record: resumed at any point, the run tells its parent the same", async () => {
    const make = (): Agent =>
      agent("lead", async (ctx) => {
        const first = await ctx.spawn(slow, { input: "" });
        const handle = await ctx.spawn(late, terms);
        const { status } = await ctx.join(handle);
        await ctx.join(first);
        return done(status);
      });
    const clock = virtualClock({ now: 0 });
    const journal = new MemoryJournal();
    const run = governed({ clock, journal }).run(make(), "", { runId: "r", spawnBudget: { maxAgents: 2 } });
    await clock.advance(100_000);
    expect((await run.result).output).toBe("partial");
    const records = journal.load(RunId("r"));
    for (let count = 2; count < records.length; count++) {
      const later = virtualClock({ now: records[count - 1]?.at ?? 0 });
      const resumed = governed({
        clock: later,
        journal: cutJournal("r", records.slice(0, count)),
        agents: [make(), slow, late],
      }).resume("r");
      await later.advance(100_000);
      expect((await resumed.result).output, `after ${count} of ${records.length}`).toBe("partial");
      expect(later.pending).toBe(0);
    }
  });

  test("a parent whose own time is up is told of that, as before", async () => {
    const clock = virtualClock({ now: 0 });
    const lead = agent("lead", async (ctx) => {
      await ctx.spawn(slow, { input: "" });
      await ctx.hire(terms);
      return done("not reached");
    });
    const run = governed({ clock }).run(lead, "", {
      spawnBudget: { maxAgents: 2 },
      executionBudget: { deadlineS: 5 },
    });
    await clock.advance(100_000);
    const { status, stopReason, agents } = await run.result;
    expect({ status, stopReason }).toEqual({ status: "partial", stopReason: "deadline" });
    expect(agents?.at(-1)?.status).toBe("cancelled");
    expect(clock.pending).toBe(0);
  });
});

test.each(JOURNALS)(
  "R16, %s: one whose parent was stopped before it began is not pending for ever",
  async (_, services) => {
    const child = agent("child", async () => done("x"));
    const parent = agent("parent", async (ctx) => {
      const hired = ctx.hire({ agent: child, input: "" });
      ctx.meta.cancellation.cancel("enough");
      return done((await hired).status);
    });
    const { result } = await handOver(
      hands(["parent", "x"]),
      [{ agent: parent }],
      {},
      {},
      governed(services()),
    );
    expect(result.agents?.map(({ status }) => status)).toEqual(["completed", "cancelled", "cancelled"]);
  },
);

describe("R24: seats are where they were after a crash", () => {
  /** Whom to hire, all at once, and what then. */
  const boss = (name: string, team: readonly Agent[]): Agent =>
    agent(name, async (ctx, { input }) => {
      const outcomes = await ctx.batch(
        team.map((member) => ({ kind: "hire", agent: member, input, onFull: "queue" }) as const),
      );
      return done(outcomes.map((one) => ("result" in one ? one.result.output : one.status)).join(" "));
    });

  test("one who had waited for its seat and has it keeps it before those whom it has hired", async () => {
    const said = model(() => "x");
    const worker = (name: string, calls: number): Agent =>
      agent(name, async (ctx) => {
        for (let n = 0; n < calls; n++)
          await ctx.llm(said, { messages: [{ role: "user", content: `${name} ${n}` }] });
        return done(name);
      });
    const make = (): Agent =>
      boss("lead", [worker("a", 1), worker("b", 1), boss("q", [worker("c", 3), worker("d", 3)])]);
    const journal = new MemoryJournal();
    const start = { runId: "r", spawnBudget: { maxAgents: 3 } };
    const whole = await governed({ journal }).run(make(), "go", start).result;
    expect(whole.output).toBe("a b c d");
    const records = journal.load(RunId("r"));
    for (let count = 2; count <= records.length; count++) {
      let seats: SpawnTracker | undefined;
      const resumed = governed({
        journal: cutJournal("r", records.slice(0, count)),
        agents: [make()],
        headcount: (root) => (seats = new SpawnTracker(root.spawnBudget, { rootId: root.rootId })),
      });
      const handle = resumed.resume("r");
      const result = await Promise.race([handle.result, turns(300)]);
      expect({ count, result: result?.output }).toEqual({ count, result: "a b c d" });
      expect({ count, held: seats?.held ?? 1 }).toEqual({ count, held: 1 });
    }
  });

  test("one who had waited for its seat and has it keeps it before those who were hired earlier and still wait", async () => {
    const asked: string[] = [];
    const said = model(() => "x");
    const worker = (name: string): Agent =>
      agent(name, async (ctx) => {
        for (const call of [`${name}1`, `${name}2`]) {
          asked.push(call);
          await ctx.llm(said, { messages: [{ role: "user", content: call }] });
        }
        return done(name);
      });
    const lead = agent("lead", async (ctx) => {
      const team = [
        ["first", Priority.NORMAL],
        ["waiting", Priority.NORMAL],
        ["urgent", Priority.HIGH],
      ] as const;
      const hires = team.map(
        ([name, priority]) =>
          ({ kind: "hire", agent: worker(name), input: "", priority, onFull: "queue" }) as const,
      );
      return done((await ctx.batch(hires)).map((one) => one.status).join(" "));
    });
    const journal = new MemoryJournal();
    const start = { runId: "r", spawnBudget: { maxAgents: 2, allowPreempt: false } };
    await governed({ journal }).run(lead, "", start).result;
    const whole = ["first1", "first2", "urgent1", "urgent2", "waiting1", "waiting2"];
    expect(asked).toEqual(whole);
    const records = journal.load(RunId("r"));
    const isUrgent = ({ exec, phase }: (typeof records)[number]): boolean =>
      exec.includes("urgent") && phase === "end";
    const count = records.findIndex(isUrgent) + 1;
    expect(count).toBeGreaterThan(0);
    asked.length = 0;
    await governed({ journal: cutJournal("r", records.slice(0, count)), agents: [lead] }).resume("r").result;
    // It asks for what is on record again first.
    expect(asked).toEqual(["urgent1", "urgent2", "waiting1", "waiting2"]);
  });

  test("a hire that was denied before the crash is none of all that were ever hired", async () => {
    const journal = new MemoryJournal();
    const helper = (name: string): Agent => agent(name, async () => done(name));
    const waiter = agent("waiter", async (ctx) => done(String(await ctx.waitFor("go"))));
    const lead = agent("lead", async (ctx) => {
      const waiting = await ctx.spawn(waiter, { input: "" });
      const { status } = await ctx.hire({ agent: helper("denied"), input: "" });
      await ctx.join(waiting);
      const last = await ctx.hire({ agent: helper("last"), input: "" });
      return done(`${status}, then ${last.status}`);
    });
    // Not for want of a seat: there is one.
    const permissions: Permissions = {
      check: ({ target }) => (target === "denied" ? { allow: false, reason: "no" } : { allow: true }),
    };
    const runtime = governed({ journal, permissions });
    const run = runtime.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 3, maxTotal: 3 } });
    await turns(50);
    expect(run.status).toBe("suspended");
    await runtime.close();
    const resumed = governed({ journal, permissions, agents: [lead] });
    const handle = resumed.resume("r");
    await resumed.deliver("r", "go", true);
    expect((await handle.result).output).toBe("denied, then completed");
  });

  test("one who fails before it has asked again for whom it had hired gives their seats back with its own", async () => {
    const worker = agent("worker", async (ctx) => done(String(await ctx.waitFor("never"))));
    const helper = agent("helper", async () => done("helped"));
    let isBroken = false;
    const middle = agent("middle", async (ctx) => {
      if (isBroken) throw new Error("what it needs is gone");
      return done((await ctx.hire({ agent: worker, input: "" })).status);
    });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: middle, input: "" });
      const two = [helper, helper].map((each) => ({ kind: "hire", agent: each, input: "" }) as const);
      return done([status, ...(await ctx.batch(two)).map((one) => one.status)].join(" "));
    });
    const journal = new MemoryJournal();
    const first = governed({ journal });
    const run = first.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 3 } });
    await turns(20);
    await first.close();
    expect((await run.result).status).toBe("suspended");
    isBroken = true;
    const result = await governed({ journal, agents: [lead] }).resume("r").result;
    expect(result.output).toBe("failed completed completed");
    expect(result.agents?.map(({ agentId, status }) => `${agentId} ${status}`).slice(1, 3)).toEqual([
      "middle/1 failed",
      "worker/1.1 cancelled",
    ]);
  });
});

async function turns(most: number): Promise<undefined> {
  for (let n = 0; n < most; n++) await new Promise((resolve) => setImmediate(resolve));
  return undefined;
}
