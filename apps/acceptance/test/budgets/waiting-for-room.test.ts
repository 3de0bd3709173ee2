import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type ChatContext,
  type Clock,
  defineTool,
  type ExecutionBudgetOptions,
  isPromiseLike,
  type Ledger,
  type Limiter,
  type LLMClient,
  type LlmLeaf,
  type Meter,
  type Pipeline,
  Priority,
  RunId,
  type RunResult,
  type Telemetry,
} from "@ravi/kernel";
import { MiddlewarePipeline, timeout } from "@ravi/middleware";
import { ExecutionTracker, FairPool } from "@ravi/resources";
import { MemoryJournal, type RunReport, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, ask, done, meter } from "../support/priced.ts";
import { agentsOf, all, leadOf, PRICE, turns, World } from "../support/scarce.ts";

// Each call reserves ten cents and takes two. A call for which there are no ten cents left waits for those under way.

const JOURNALS = [
  ["without a journal", () => null],
  ["on a journal", () => new MemoryJournal()],
] as const;

describe("R18: many helpers under a small limit", () => {
  test.each(JOURNALS)("R18: wait for each other instead of being refused, %s", async (_, open) => {
    const world = new World();
    const lead = world.lead(10, 2);
    const run = world.runtime(lead, open()).run(lead, "", { executionBudget: { maxCostUsd: 0.5 } });
    world.provider.open();
    const result = await run.result;
    expect(result).toMatchObject({ status: "completed", output: all("completed", 10), inDoubt: [] });
    expect(world.provider, "five reservations fit at once").toMatchObject({ sent: 20, most: 5 });
    expect(result.cost).toBeCloseTo(20 * PRICE, 9);
    for (const one of agentsOf(result).slice(1))
      expect(one).toMatchObject({ modelCalls: 2, retries: 0, wasteUsd: 0 });
    expect([world.ledger.open, world.ledger.used.cost, world.clock.pending]).toEqual([0, 0.4, 0]);
  });

  test("R18: also if their turns take longer than ten minutes altogether", async () => {
    const world = new World();
    const { clock, provider } = world;
    provider.answering = () => new Promise((resolve) => clock.setTimer(resolve, 120_000));
    const limits = { executionBudget: { maxCostUsd: 0.29, deadlineS: null } };
    const run = world.runtime(world.lead(10), null).run(world.lead(10), "", limits);
    for (let n = 0; n < 10; n++) {
      await turns();
      await clock.advance(120_000);
    }
    expect(await run.result).toMatchObject({ output: all("completed", 10) });
    expect([provider.sent, world.ledger.open, clock.pending]).toEqual([10, 0, 0]);
  });

  test("R18: what is on record of a call says that it waits, until it was sent or the run is over", async () => {
    const world = new World();
    const runtime = world.runtime(world.lead(3));
    const run = runtime.run(world.lead(3), "", { runId: "r", executionBudget: { maxCostUsd: 0.19 } });
    const statuses = async (from = runtime): Promise<string> =>
      (await from.inspect("r")).calls.map(({ status }) => status).join(" ");
    await turns();
    expect(await statuses()).toBe("open waiting waiting");
    const crashed = cutJournal("r", world.journal.load(RunId("r")));
    const next = world.runtime(world.lead(3), crashed);
    expect(await statuses(next)).toBe("open waiting waiting");
    await next.cancel("r", "enough");
    expect(await next.resume("r").result).toMatchObject({ status: "cancelled" });
    expect(await statuses(next)).toBe("open");
    run.cancel("enough");
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(await statuses()).toBe("open");
  });

  test("R18: those of one batch wait as well, and get their answers in their order", async () => {
    const world = new World();
    const lead = agent("lead", async (ctx) => {
      const leaf = (n: number): LlmLeaf => ({
        kind: "llm",
        model: world.provider.model,
        request: ask(`${n}`),
      });
      const outcomes = await ctx.batch(Array.from({ length: 8 }, (_, n) => leaf(n)));
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const limit: ExecutionBudgetOptions = { maxCostUsd: 0.3 };
    const run = world.runtime(lead).run(lead, "", { executionBudget: limit });
    world.provider.open();
    expect(await run.result).toMatchObject({ status: "completed", output: all("completed", 8) });
    expect(world.provider.most).toBe(3);
  });

  test("R18, J11: the span of a call that has waited says for how long, and no other", async () => {
    const world = new World();
    const waited: unknown[] = [];
    const telemetry: Telemetry = {
      isNoop: false,
      startSpan: () => ({
        setAttribute: (key, value) => void (key === "waitedMs" && waited.push(value)),
        recordError: () => {},
        end: () => {},
      }),
      metric: () => {},
    };
    const runtime = new Runtime({ ...world.rules, telemetry });
    await world.clock.advance(5_000);
    const run = runtime.run(world.lead(3), "", { executionBudget: { maxCostUsd: 0.19 } });
    await turns();
    await world.clock.advance(7_000);
    world.provider.open();
    expect(await run.result).toMatchObject({ output: all("completed", 3) });
    expect(waited).toEqual([7_000, 7_000]);
  });

  test("R18: a call that can no longer fit is refused, and never sent", async () => {
    const world = new World();
    const lead = world.lead(4);
    const run = world.runtime(lead).run(lead, "", { executionBudget: { maxCostUsd: 0.13 } });
    world.provider.open();
    const result = await run.result;
    expect(result.output.split(" ").toSorted()).toEqual(["completed", "completed", "partial", "partial"]);
    expect([world.provider.sent, world.ledger.open]).toEqual([2, 0]);
    expect(agentsOf(result).filter(({ status }) => status === "partial")).toMatchObject([
      { modelCalls: 0, retries: 0 },
      { modelCalls: 0, retries: 0 },
    ]);
  });

  test("R18: observers are told that a call waits, and for what, and the run lives", async () => {
    const world = new World();
    const lead = world.lead(2);
    const run = world.runtime(lead).run(lead, "", { executionBudget: { maxCostUsd: 0.1 } });
    const told: unknown[] = [];
    const listening = (async () => {
      for await (const { agentId, event } of run.events())
        if (event.type === "progress") told.push([agentId, event.name, event.data]);
    })();
    await turns();
    expect([run.status, world.provider.sent, world.ledger.open]).toEqual(["running", 1, 1]);
    world.provider.open();
    expect(await run.result).toMatchObject({ status: "completed" });
    await listening;
    const data = { model: "x:m", dimension: "cost", limit: 0.1, scope: "lead" };
    expect(told).toEqual([["h1/2", "waitsForBudget", data]]);
  });

  test("R18: who waits for money keeps no place of a limiter, which calls of another run may need", async () => {
    const world = new World();
    const limiter = new FairPool({ concurrency: 2, clock: world.clock });
    const run = (root: Agent, maxCostUsd: number) =>
      new Runtime({ ...world.rules, limiter, agents: [root] }).run(root, "", {
        executionBudget: { maxCostUsd },
      });
    const poor = run(world.lead(3), 0.15);
    await turns();
    expect([world.provider.sent, limiter.active]).toEqual([1, 1]);
    const rich = run(world.helper("rich"), 5);
    await turns();
    expect([world.provider.sent, limiter.active]).toEqual([2, 2]);
    world.provider.open();
    expect(await poor.result).toMatchObject({ output: all("completed", 3) });
    expect(await rich.result).toMatchObject({ status: "completed" });
    expect([world.provider.sent, world.provider.most, limiter.active]).toEqual([4, 2, 0]);
    for (const ledger of world.ledgers) expect(ledger.open).toBe(0);
  });

  test("R18: who waits for money counts once for a limit of requests per minute, when it is sent", async () => {
    const world = new World();
    const limiter = new FairPool({ requestsPerMinute: 6, clock: world.clock });
    const lead = world.lead(6);
    const limits = { executionBudget: { maxCostUsd: 0.2 } };
    const run = new Runtime({ ...world.rules, limiter, agents: [lead] }).run(lead, "", limits);
    world.provider.open();
    await turns(100);
    expect([world.provider.sent, limiter.waiting], "none of them waits for the next minute").toEqual([6, 0]);
    expect(await run.result).toMatchObject({ output: all("completed", 6) });
    expect(isPromiseLike(limiter.acquire({})), "the six are used up").toBe(true);
  });

  test("R18: stopped while it waits for a limiter with its money in hand, it gives the money back", async () => {
    const world = new World();
    const limiter = new FairPool({ concurrency: 1, clock: world.clock });
    const root = world.helper("late");
    const shared = new ExecutionTracker({ maxCostUsd: 0.15 }, { scope: "acme", clock: world.clock });
    const other = shared.reserve({ tokens: 1, cost: 0.1 });
    const rules = { ...world.rules, ledger: () => shared, limiter, agents: [root] };
    const run = new Runtime(rules).run(root, "");
    await turns();
    const place = await limiter.acquire({});
    other.cancel();
    await turns();
    expect([shared.open, world.provider.sent]).toEqual([1, 0]);
    run.cancel("enough");
    expect(await run.result).toMatchObject({ status: "cancelled" });
    place.release();
    expect([shared.open, shared.used.cost, limiter.active, world.clock.pending]).toEqual([0, 0, 0, 0]);
  });

  test("R18: two ledgers of the user's, taken in opposite orders, do not wait for each other", async () => {
    const world = new World();
    const [acme, today] = ["acme", "today"].map(
      (scope) => new ExecutionTracker({ maxCostUsd: 0.2 }, { scope, reserve: false, clock: world.clock }),
    );
    const above = (name: string, own: Ledger | undefined, below: Ledger | undefined): Agent => ({
      ...leadOf([world.helper(`${name} helper`, 3, below)]),
      id: AgentId(name),
      defaults: { executionBudget: own },
    });
    const lead = leadOf([above("a", acme, today), above("b", today, acme)]);
    world.provider.open();
    const result = await world.runtime(lead).run(lead, "", { executionBudget: { maxCostUsd: 5 } }).result;
    expect(agentsOf(result).map(({ status }) => status)).toEqual(all("completed", 5).split(" "));
    expect(world.provider, "at first there is room for two calls").toMatchObject({ sent: 6, most: 2 });
    for (const ledger of [acme, today]) expect([ledger?.open, ledger?.used.turns]).toEqual([0, 6]);
    expect(world.clock.pending).toBe(0);
  });

  test("R18: however many they are, and whoever else spends from these ledgers", async () => {
    const world = new World();
    const [acme, today] = ["acme", "today"].map(
      (scope) => new ExecutionTracker({ maxCostUsd: 0.1 }, { scope, reserve: false, clock: world.clock }),
    );
    const team = (name: string): Agent[] =>
      Array.from({ length: 20 }, (_, n) => world.helper(`${name}${n}`, 2));
    const above = (name: string, own: Ledger | undefined, below: Ledger | undefined): Agent => ({
      ...leadOf([
        { ...leadOf(team(name)), id: AgentId(`${name} team`), defaults: { executionBudget: below } },
      ]),
      id: AgentId(name),
      defaults: { executionBudget: own },
    });
    const lead = leadOf([above("a", acme, today), above("b", today, acme)]);
    world.provider.open();
    const rules = { ...world.rules, meter: { ...meter, price: () => ({ usd: 0 }) }, agents: [lead] };
    const runs = [1, 2].map(() => new Runtime(rules).run(lead, "", { executionBudget: { maxCostUsd: 5 } }));
    for (const { result } of runs)
      expect(agentsOf(await result).map(({ status }) => status)).toEqual(all("completed", 45).split(" "));
    expect(world.provider, "there is room for one call").toMatchObject({ sent: 160, most: 1 });
    for (const ledger of [acme, today]) expect([ledger?.open, ledger?.used.turns]).toEqual([0, 160]);
    expect(world.clock.pending).toBe(0);
  });
});

describe("R16: a time limit, and a call that waits for money", () => {
  const LIMIT = { executionBudget: { maxCostUsd: 0.19 } };

  interface Limit {
    readonly hire?: { readonly timeoutS: number };
    readonly rules?: RuntimeOptions;
    readonly helper?: (world: World, name: string) => Agent;
  }

  /** Asks its model inside of a tool. */
  function withTool({ provider }: World, name: string): Agent {
    const tool = defineTool({
      name: "ask",
      description: "",
      input: z.object({}),
      timeoutS: 40,
      execute: async (_, context) => void (await context.llm(provider.model, ask(name))),
    });
    return agent(name, async (ctx) => {
      const { isError } = await ctx.tool({ id: name, name: "ask", arguments: "{}" }, tool);
      if (isError) throw new Error("the tool has failed");
      return done(name);
    });
  }

  /** Four helpers under a limit with room for one call at a time. A call takes 30 seconds, a late one 50. */
  function four(late: number, { hire, rules, helper }: Limit) {
    const world = new World();
    const { clock, provider } = world;
    provider.answering = () => {
      const seconds = provider.sent === late ? 50 : 30;
      return new Promise((resolve) => clock.setTimer(resolve, seconds * 1_000));
    };
    const outcomes: string[] = [];
    const lead = agent("lead", async (ctx) => {
      const team = ["a", "b", "c", "d"].map((name) => helper?.(world, name) ?? world.helper(name));
      const leaves = team.map((one) => ({ kind: "hire", agent: one, input: "", ...hire }) as const);
      for (const one of await ctx.batch(leaves))
        outcomes.push("result" in one ? one.result.stopReason : one.status);
      return done("");
    });
    const run = new Runtime({ ...world.rules, ...rules }).run(lead, "", LIMIT);
    const sentAfter = async (seconds: number): Promise<number> => {
      await turns();
      await clock.advance(seconds * 1_000);
      await turns();
      return provider.sent;
    };
    return { run, outcomes, sentAfter };
  }

  const layer = { chat: new MiddlewarePipeline([timeout({ timeoutMs: 40_000 })]) };
  const LIMITS: readonly (readonly [string, Limit, string])[] = [
    ["of a layer", { rules: { pipelines: layer } }, "failed"],
    ["of a hire", { hire: { timeoutS: 40 } }, "deadline"],
    ["of a tool", { helper: withTool }, "failed"],
  ];

  test.each(LIMITS)("R16: the one %s does not count the wait", async (_, limit) => {
    const { run, outcomes, sentAfter } = four(0, limit);
    for (const sent of [2, 3, 4, 4]) expect(await sentAfter(30)).toBe(sent);
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(outcomes).toEqual(all("done", 4).split(" "));
  });

  test.each(LIMITS)("R16: the one %s counts what comes after it", async (_, limit, outcome) => {
    const { run, outcomes, sentAfter } = four(2, limit);
    expect(await sentAfter(30)).toBe(2);
    await sentAfter(39.999);
    expect(outcomes).toEqual([]);
    await sentAfter(0.001);
    expect(await run.result).toMatchObject({ status: "completed" });
    // All that was reserved for the second one is spent, so there is no room for another.
    expect(outcomes).toEqual(["done", outcome, "budget", "budget"]);
  });
});

describe("R15: an agent that loses its slot while its call waits for money", () => {
  /** A team with two slots, and what it has sent. An urgent one takes the slot of one whose call waits behind another. */
  async function preempted(onPreempt: "park" | "return") {
    const world = new World();
    const sent: string[] = [];
    const staying = Promise.withResolvers<void>();
    let headcount: SpawnTracker | undefined;
    const calling = (name: string, calls: number, isStaying: boolean): Agent =>
      agent(name, async (ctx) => {
        for (let n = 0; n < calls; n++) {
          await ctx.llm(world.provider.model, ask(name));
          sent.push(name);
        }
        if (isStaying) await staying.promise;
        return done(name);
      });
    const lead = agent("lead", async (ctx) => {
      const first = await ctx.spawn(calling("first", 1, true), { input: "" });
      const priority = Priority.LOW;
      const victim = await ctx.spawn(calling("victim", 2, false), { input: "", priority, onPreempt });
      await turns();
      const urgent = calling("urgent", 1, true);
      const last = await ctx.spawn(urgent, { input: "", priority: Priority.CRITICAL });
      const reasons: string[] = [];
      for (const one of [first, victim, last]) {
        const outcome = await ctx.join(one);
        reasons.push("result" in outcome ? outcome.result.stopReason : outcome.status);
      }
      return done(reasons.join(" "));
    });
    const rules: RuntimeOptions = {
      ...world.rules,
      headcount: ({ spawnBudget, rootId }) => (headcount = new SpawnTracker(spawnBudget, { rootId })),
    };
    const limits = { executionBudget: { maxCostUsd: 0.19 }, spawnBudget: { maxAgents: 3 } };
    const run = new Runtime({ ...rules, agents: [lead] }).run(lead, "", limits);
    await turns(200);
    expect([world.provider.sent, headcount?.draining]).toEqual([1, ["victim/2"]]);
    world.provider.open();
    await turns(200);
    return { run, sent, staying, world, headcount };
  }

  test("R15: its call is under way, as one that waits for a permit is, and it makes no other before it has a slot again", async () => {
    const { run, sent, staying, world, headcount } = await preempted("park");
    expect(sent, "nobody waits for money that a parked agent holds").toEqual(["first", "victim", "urgent"]);
    expect([headcount?.paused, headcount?.draining, world.ledger.open]).toEqual([["victim/2"], [], 0]);
    staying.resolve();
    expect(await run.result).toMatchObject({ status: "completed", output: "done done done" });
    expect([world.provider.sent, world.clock.pending]).toEqual([4, 0]);
  });

  test("R15: it returns after its call, and what that was paid for is counted", async () => {
    const { run, sent, staying, world } = await preempted("return");
    staying.resolve();
    expect(await run.result).toMatchObject({ status: "completed", output: "done paused done" });
    expect([sent, world.provider.sent]).toEqual([["first", "victim", "urgent"], 3]);
    expect([world.ledger.open, world.ledger.used.cost]).toEqual([0, 3 * PRICE]);
  });
});

describe("T4: stopped while it waits for money", () => {
  test.each(JOURNALS)(
    "T4: cancelled: it is over at once, and nothing of it was sent or reserved, %s",
    async (_, open) => {
      const world = new World();
      const lead = world.lead(3);
      const run = world.runtime(lead, open()).run(lead, "", { executionBudget: { maxCostUsd: 0.1 } });
      await turns();
      run.cancel("enough");
      expect(await run.result).toMatchObject({ status: "cancelled" });
      expect([world.provider.sent, world.ledger.open, world.clock.pending]).toEqual([1, 0, 0]);
    },
  );

  test("T4: cancelled while others keep the money: it leaves the line without waiting for them", async () => {
    const world = new World();
    const acme = new ExecutionTracker({ maxCostUsd: 0.1 }, { scope: "acme", clock: world.clock });
    const others = acme.reserve({ tokens: 1, cost: 0.1 });
    const lead = world.lead(1, 1, acme);
    const run = world.runtime(lead, null).run(lead, "", { executionBudget: { maxCostUsd: 5 } });
    await turns();
    expect([run.status, world.clock.pending]).toEqual(["running", 1]);
    run.cancel("enough");
    await turns();
    expect([run.status, world.clock.pending]).toEqual(["cancelled", 0]);
    others.cancel();
    expect([acme.open, world.ledger.open, world.provider.sent]).toEqual([0, 0, 0]);
  });

  test("T4: after its deadline it does not wait any longer", async () => {
    const world = new World();
    const lead = world.lead(3);
    const run = world.runtime(lead).run(lead, "", { executionBudget: { maxCostUsd: 0.1, deadlineS: 5 } });
    await turns();
    await world.clock.advance(5_000);
    expect(await run.result).toMatchObject({ stopReason: "deadline" });
    expect([world.provider.sent, world.ledger.open, world.clock.pending]).toEqual([1, 0, 0]);
  });

  test("T4: an agent that does not await its call ends, and the call leaves the line", async () => {
    const world = new World();
    const hasty = agent("hasty", async (ctx) => {
      ctx.llm(world.provider.model, ask("never")).catch(() => {});
      await turns();
      return done("gone");
    });
    const lead = leadOf([world.helper("h"), hasty]);
    const run = world.runtime(lead).run(lead, "", { executionBudget: { maxCostUsd: 0.1 } });
    await turns(200);
    world.provider.open();
    expect(await run.result).toMatchObject({ status: "completed", output: "completed completed" });
    expect([world.provider.sent, world.ledger.open, world.clock.pending]).toEqual([1, 0, 0]);
  });
});

describe("T5: a run that goes on after its calls have waited", () => {
  const acme = (world: World) =>
    new ExecutionTracker({ maxCostUsd: 0.3 }, { scope: "acme", clock: world.clock });

  /** Three calls are under way, and five wait for the money of a ledger that is not restored after a crash. */
  async function underWay(
    world: World,
  ): Promise<{ readonly runtime: Runtime; readonly result: Promise<RunResult> }> {
    const lead = world.lead(8, 1, acme(world));
    const runtime = world.runtime(lead);
    const { result } = runtime.run(lead, "", { runId: "r", executionBudget: { maxCostUsd: 5 } });
    await turns();
    expect([world.provider.sent, world.ledger.open]).toEqual([3, 3]);
    return { runtime, result };
  }

  /** Another process, where the provider answers. */
  function after(world: World): { readonly next: World; readonly runtime: Runtime } {
    const next = new World();
    next.provider.open();
    const journal = cutJournal("r", world.journal.load(RunId("r")));
    return { next, runtime: next.runtime(next.lead(8, 1, acme(next)), journal) };
  }

  test("T5: after a crash those that waited were never sent: only the three others are in doubt, and charged", async () => {
    const world = new World();
    await underWay(world);
    const { next, runtime } = after(world);
    const report = await runtime.inspect("r");
    expect(report.cost).toBeCloseTo(0.3, 9);
    expect(report.calls.map(({ status }) => status).join(" ")).toBe(`${all("open", 3)} ${all("waiting", 5)}`);
    const result = await runtime.resume("r").result;
    expect(result).toMatchObject({ status: "completed", output: all("completed", 8) });
    expect(result.inDoubt).toHaveLength(3);
    expect(result.cost).toBeCloseTo(0.3 + 8 * PRICE, 9);
    expect(next.provider).toMatchObject({ sent: 8, most: 3 });
    const calls = agentsOf(result).map(({ modelCalls, retries }) => `${modelCalls} ${retries}`);
    expect(calls.toSorted()).toEqual([
      "0 0",
      ...Array<string>(5).fill("1 0"),
      ...Array<string>(3).fill("1 1"),
    ]);
  });

  test("T5: suspended meanwhile, those that waited are as if they had never been begun", async () => {
    const world = new World();
    const { runtime, result } = await underWay(world);
    const closing = runtime.close();
    await world.clock.advance(60_000);
    await closing;
    expect(await result).toMatchObject({ status: "suspended" });
    const { next, runtime: later } = after(world);
    const resumed = await later.resume("r").result;
    expect(resumed).toMatchObject({ status: "completed", output: all("completed", 8) });
    expect(resumed.inDoubt).toHaveLength(3);
    expect([next.provider.sent, world.clock.pending]).toEqual([8, 0]);
  });

  test("T5: after a crash later on, a call that has waited counts like any other", async () => {
    const world = new World();
    const { result } = await underWay(world);
    world.provider.open();
    const whole = await result;
    for (const count of [1, 2]) {
      const records = world.journal.load(RunId("r"));
      const next = new World();
      next.provider.open();
      const journal = cutJournal("r", records.slice(0, -count));
      const again = await next.runtime(next.lead(8, 1, acme(next)), journal).resume("r").result;
      expect(again).toMatchObject({ output: whole.output, cost: whole.cost, inDoubt: [] });
      expect(agentsOf(again).map(({ modelCalls, retries }) => [modelCalls, retries])).toEqual(
        agentsOf(whole).map(({ modelCalls, retries }) => [modelCalls, retries]),
      );
    }
  });
});

describe.each([
  [
    "suspended",
    async (runtime: Runtime, { clock }: World) => {
      const closing = runtime.close();
      await clock.advance(60_000);
      await closing;
    },
  ],
  ["left by its process", async () => {}],
])("T5: a run that is %s while a helper with a time limit waits for money", (_, leave) => {
  /** Three helpers with forty seconds each, and room for one call at a time. */
  function three(world: World, journal: MemoryJournal, seconds: number, limiter: Limiter | undefined) {
    const { clock, provider } = world;
    provider.answering = () => new Promise((resolve) => clock.setTimer(resolve, seconds * 1_000));
    // What is in doubt after a crash is not charged to it.
    const own = new ExecutionTracker({ maxCostUsd: 0.19 }, { scope: "acme", clock });
    const hiring = agent("lead", async (ctx) => {
      const team = ["a", "b", "c"].map((name) => world.helper(name));
      const leaves = team.map((one) => ({ kind: "hire", agent: one, input: "", timeoutS: 40 }) as const);
      const outcomes = await ctx.batch(leaves);
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const lead: Agent = { ...hiring, defaults: { executionBudget: own } };
    return { lead, runtime: new Runtime({ ...world.rules, journal, limiter, agents: [lead] }) };
  }

  async function pass({ clock }: World, seconds: number): Promise<void> {
    await turns();
    await clock.advance(seconds * 1_000);
    await turns();
  }

  test.each([
    ["without a limiter", () => undefined],
    ["with a limiter", (clock: Clock) => new FairPool({ concurrency: 4, clock })],
  ])("T5: the time in which it has waited does not count later either, %s", async (__, limiterOf) => {
    const world = new World();
    const { lead, runtime } = three(world, world.journal, 30, limiterOf(world.clock));
    runtime.run(lead, "", { runId: "r", executionBudget: { maxCostUsd: 5 } });
    await pass(world, 30);
    await pass(world, 25);
    expect(world.provider.sent, "the second call is under way, the third one waits").toBe(2);
    await leave(runtime, world);
    const next = new World();
    await next.clock.advance(world.clock.now());
    const journal = cutJournal("r", world.journal.load(RunId("r")));
    const resumed = three(next, journal, 10, limiterOf(next.clock)).runtime.resume("r");
    await pass(next, 10);
    await pass(next, 10);
    expect(await resumed.result).toMatchObject({ output: all("completed", 3) });
  });
});

describe("T5: a crash while a call inside of layers waits for its money", () => {
  type Layer = Pipeline<ChatContext>["run"];
  const small: LLMClient["info"] = { provider: "x", model: "small" };

  /** What is on record of an agent with that layer, while somebody else holds most of its ledger's money. */
  async function crashed(layer: (world: World) => Layer): Promise<{ sent: number; report: RunReport }> {
    const world = new World();
    const acme = new ExecutionTracker({ maxCostUsd: 0.15 }, { scope: "acme", clock: world.clock });
    acme.reserve({ tokens: 1, cost: 0.1 });
    const pipelines = { chat: { isNoop: false, admit: () => {}, run: layer(world) } };
    const lead: Agent = { ...world.helper("lead", 1, acme), pipelines };
    const estimate: Meter["estimate"] = ({ model }) => ({
      inputTokens: 50,
      maxOutputTokens: 50,
      price: { usd: model === small.model ? 0.01 : 0.1 },
    });
    const rules = { ...world.rules, meter: { ...meter, estimate }, agents: [lead] };
    const { journal } = world;
    new Runtime({ ...rules, journal }).run(lead, "", { runId: "r", executionBudget: { maxCostUsd: 5 } });
    await turns();
    const journalThen = cutJournal("r", journal.load(RunId("r")));
    const report = await new Runtime({ ...rules, journal: journalThen }).inspect("r");
    return { sent: world.provider.sent, report };
  }

  const hedge =
    (delay: () => Promise<void> | undefined) =>
    ({ provider }: World): Layer =>
    async (context, core) => {
      const large = core();
      const isLate = delay();
      if (isLate !== undefined) await isLate;
      context.model = { ...provider.model, id: "small", info: small };
      await Promise.race([large, core()]);
    };

  test.each([
    ["in the same tick", () => undefined],
    ["later", () => turns(5)],
  ])("T5: a smaller one that was sent beside it, %s, is charged, and nothing else", async (_, delay) => {
    const { sent, report } = await crashed(hedge(delay));
    expect(sent).toBe(1);
    expect(report.cost).toBeCloseTo(0.01, 9);
  });

  test("T5: a layer has given it another model: nothing was sent or charged", async () => {
    const { sent, report } = await crashed(({ provider }) => async (context, core) => {
      context.model = { ...provider.model, id: "other", info: { provider: "x", model: "other" } };
      await core();
    });
    expect([sent, report.cost]).toEqual([0, 0]);
    expect(report.calls).toMatchObject([{ status: "waiting" }]);
  });

  test("T5: a layer's own call was paid before: that one is charged, and nothing else", async () => {
    const { sent, report } = await crashed(({ provider }) => async (context, core) => {
      provider.open();
      await context.call({ ...provider.model, id: "small", info: small }, context.request);
      await core();
    });
    expect(sent).toBe(1);
    expect(report.cost).toBeCloseTo(0.1, 9);
  });
});
