import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentResult,
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  HistoryRetention,
  HookEvent,
  type Hooks,
  type HireLeaf,
  type HireOutcome,
  type Leaf,
  MiddlewareTermination,
  NeedsDecisionError,
  NO_USAGE,
  type Pipeline,
  type RunEvent,
} from "@ravi/kernel";
import { type BareContext, bareContext, hireAll } from "@ravi/kernel/loop";

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });
const says = (name: string): Agent => agent(name, async (_, { input }) => done(`${name} did ${input}`));
const leaf = (who: Agent): HireLeaf => ({ kind: "hire", agent: who, input: "it" });
const full = (dimension: "agents" | "depth" = "agents"): BudgetExhaustedError =>
  new BudgetExhaustedError({ dimension, used: 1, limit: 1, scope: "lead" });

/** A context with so many seats beside the asker's, all of which are free again after a batch. */
function withSeats(seats: number, dimension?: "agents" | "depth") {
  const events: RunEvent["event"][] = [];
  const ctx = bareContext({ onEvent: ({ event }) => events.push(event) });
  const hire = ctx.hire.bind(ctx);
  const denied = (): HireOutcome<never> => ({ status: "denied", error: full(dimension) });
  const rounds: number[] = [];
  ctx.batch = async (leaves: readonly Leaf[]) => {
    rounds.push(leaves.length);
    const outcomes: HireOutcome[] = [];
    for (const [at, one] of leaves.entries())
      if (one.kind === "hire") outcomes.push(at < seats ? await hire(one) : denied());
    return outcomes as never;
  };
  return { ctx, events, rounds };
}
const outputs = (outcomes: readonly HireOutcome[]): string[] =>
  outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : outcome.status));

describe("hireAll", () => {
  test("with room for all it is one batch", async () => {
    const { ctx, rounds } = withSeats(2);
    expect(outputs(await hireAll(ctx, [leaf(says("a")), leaf(says("b"))]))).toEqual(["a did it", "b did it"]);
    expect(rounds).toEqual([2]);
  });

  test("who failed because it found no seat for somebody else is not made again: its work was paid for", async () => {
    let made = 0;
    const crowded = agent("crowded", async () => {
      made++;
      throw full();
    });
    expect(await hireAll(bareContext(), [leaf(crowded)])).toMatchObject([{ status: "failed" }]);
    expect(made).toBe(1);
  });

  test("who found no seat is hired when the others are done, as many at once as there are seats; the order stays", async () => {
    const { ctx, rounds, events } = withSeats(3);
    const names = Array.from({ length: 10 }, (_, n) => `a${n}`);
    const outcomes = await hireAll(
      ctx,
      names.map((name) => leaf(says(name))),
    );
    expect(outputs(outcomes)).toEqual(names.map((name) => `${name} did it`));
    // Of the second round all found a seat, so the third tries more.
    expect(rounds).toEqual([10, 3, 4, 1]);
    expect(events).toEqual([]);
  });

  test("where there is no seat at all they work one after the other on the asker's", async () => {
    let running = 0;
    const alone = (name: string): Agent =>
      agent(name, async (ctx) => {
        expect(++running).toBe(1);
        await ctx.now();
        running--;
        return done(name);
      });
    const { ctx, events } = withSeats(0);
    expect(outputs(await hireAll(ctx, [leaf(alone("a")), leaf(alone("b"))]))).toEqual(["a", "b"]);
    expect(events).toEqual([
      { type: "progress", name: "ownSeat", data: { agent: "a" } },
      { type: "progress", name: "ownSeat", data: { agent: "b" } },
    ]);
  });

  test("each with a conversation and hooks of its own", async () => {
    const heard: string[] = [];
    const hooks: Hooks = { has: () => true, dispatch: (event) => void heard.push(event), drain: () => {} };
    const talks = (name: string): Agent => ({
      ...agent(name, async (ctx) => {
        await ctx.remember({ role: "user", content: name });
        void ctx.hooks.dispatch(HookEvent.STEP_START, {} as never);
        const window = await ctx.window({ system: `You are ${name}.` });
        return done(window.map(({ content }) => String(content)).join(" "));
      }),
      hooks,
    });
    const { ctx } = withSeats(0);
    ctx.remember({ role: "user", content: "the asker's" });
    expect(outputs(await hireAll(ctx, [leaf(talks("a")), leaf(talks("b"))]))).toEqual([
      "You are a. a",
      "You are b. b",
    ]);
    expect(ctx.window()).toEqual([{ role: "user", content: "the asker's" }]);
    expect(heard).toEqual(["step_start", "step_start"]);
  });

  const DOUBT = { execId: "run", key: "tool:0:0", what: "pay" };
  test("agents that hire each other in a circle come to an end there, and again in the next run of it", async () => {
    const { ctx } = withSeats(0);
    let levels = 0;
    const circle: Agent = agent("a", async (own) => {
      if (++levels > 200) throw new Error("endless");
      const [outcome] = await hireAll(own, [leaf(circle)]);
      return done(
        outcome === undefined || !("result" in outcome) ? `${outcome?.status}` : outcome.result.output,
      );
    });
    const round = async (): Promise<string[]> => outputs(await hireAll(ctx, [leaf(circle)]));
    expect([await round(), levels]).toEqual([["denied"], 50]);
    expect([await round(), levels]).toEqual([["denied"], 100]);
  });

  const chat: Pipeline<never> = { isNoop: false, admit: () => {}, run: (_, core) => core() };
  test.each([
    ["layers", leaf({ ...says("a"), pipelines: { chat } })],
    ["a budget of its own", leaf({ ...says("a"), defaults: { executionBudget: { maxTurns: 1 } } })],
    ["a budget for this hire", { ...leaf(says("a")), executionBudget: { maxTurns: 1 } }],
    ["a time limit", { ...leaf(says("a")), timeoutS: 1 }],
    ["a history that is kept", { ...leaf(says("a")), retention: HistoryRetention.PERMANENT }],
  ])("one with %s stays denied: nothing would keep its rules there", async (_, guarded) => {
    const { ctx } = withSeats(0);
    expect(await hireAll(ctx, [guarded])).toMatchObject([{ status: "denied" }]);
  });

  test("one with layers that do nothing is made there", async () => {
    const { ctx } = withSeats(0);
    const idle = { ...says("a"), pipelines: { chat: { ...chat, isNoop: true } } };
    expect(outputs(await hireAll(ctx, [leaf(idle)]))).toEqual(["a did it"]);
  });

  test("a denial for another reason stays one", async () => {
    const { ctx } = withSeats(0, "depth");
    expect(await hireAll(ctx, [leaf(says("a"))])).toMatchObject([{ status: "denied" }]);
  });

  test("a failure there is its outcome, an empty purse leaves it partial, and what stops the run is thrown on", async () => {
    const { ctx } = withSeats(0);
    const throwing = (error: Error): HireLeaf =>
      leaf(
        agent("a", async (own) => {
          await own.remember({ role: "assistant", content: "so far" });
          throw error;
        }),
      );
    expect(await hireAll(ctx, [throwing(new TypeError("oops"))])).toMatchObject([{ status: "failed" }]);
    const spent = new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "lead" });
    expect(await hireAll(ctx, [throwing(spent)])).toEqual([
      {
        status: "partial",
        result: { status: "partial", output: "so far", stopReason: "budget" },
        usage: NO_USAGE,
        stoppedBy: { dimension: "turns", used: 1, limit: 1, scope: "lead" },
      },
    ]);
    await expect(hireAll(ctx, [throwing(new CancellationError({ reason: "user" }))])).rejects.toThrow("user");
  });

  test.each([
    ["a guardrail", new MiddlewareTermination({ layer: "guard", reason: "no" })],
    ["a decision", new NeedsDecisionError({ ...DOUBT, decided: "fail" })],
  ])("%s that ends one there ends none of the others", async (_, error) => {
    const { ctx } = withSeats(0);
    const stopped = agent("b", () => Promise.reject(error));
    const outcomes = await hireAll(ctx, [leaf(says("a")), leaf(stopped), leaf(says("c"))]);
    expect(outputs(outcomes)).toEqual(["a did it", "failed", "c did it"]);
    expect(outcomes[1]).toMatchObject({ error });
  });

  const late = new DeadlineExceededError({ deadline: 1 });

  test("when the time ends while one works there, what the others have done is kept", async () => {
    const { ctx } = withSeats(0);
    const slow = agent("b", async () => {
      ctx.meta.cancellation.cancel(late);
      throw new Error("socket hang up");
    });
    const outcomes = await hireAll(ctx, [leaf(says("a")), leaf(slow)]);
    expect(outputs(outcomes)).toEqual(["a did it", "cancelled"]);
    expect(outcomes[1]).toMatchObject({ error: late });
  });

  test("when the time ends before all have found a seat, what the others have done is kept", async () => {
    const { ctx } = withSeats(1);
    const batch = ctx.batch.bind(ctx);
    let rounds = 0;
    ctx.batch = ((leaves: readonly Leaf[]) =>
      rounds++ === 0 ? batch(leaves) : Promise.reject(late)) as typeof ctx.batch;
    const outcomes = await hireAll(ctx, [leaf(says("a")), leaf(says("b")), leaf(says("c"))]);
    expect(outputs(outcomes)).toEqual(["a did it", "cancelled", "cancelled"]);
    expect(outcomes[1]).toMatchObject({ error: late });
  });

  test("a call there that nobody has decided on ends all of them", async () => {
    const { ctx } = withSeats(0);
    const waits = agent("b", () => Promise.reject(new NeedsDecisionError(DOUBT)));
    await expect(hireAll(ctx, [leaf(says("a")), leaf(waits)])).rejects.toMatchObject({
      code: "NEEDS_DECISION",
    });
  });

  test.each<[string, (ctx: BareContext) => Agent["run"]]>([
    [
      "waits for mail that nobody can send",
      (ctx) => async (_, inbox) => {
        queueMicrotask(() => ctx.meta.cancellation.cancel("user"));
        return done((await inbox.receive()).id);
      },
    ],
    [
      "fails in some other way when it is cancelled",
      (ctx) => async () => {
        ctx.meta.cancellation.cancel("user");
        throw new Error("socket hang up");
      },
    ],
  ])("who works on the asker's seat is cancelled with it: one that %s", async (_, make) => {
    const { ctx } = withSeats(0);
    const cancelled = { code: "CANCELLED", reason: "user" };
    await expect(hireAll(ctx, [leaf(agent("a", make(ctx)))])).rejects.toMatchObject(cancelled);
  });
});
