import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type Architecture,
  BudgetExhaustedError,
  type Dependencies,
  type HireOutcome,
} from "@ravi/kernel";
import { bareContext, delegateTo } from "@ravi/kernel/loop";
import {
  freshSession,
  ReAct,
  Router,
  scopeForWorker,
  spawnChild,
  spawnChildren,
  StrategyAgent,
} from "@ravi/architectures";
import { scriptedModel } from "@ravi/testing";
import { CountingContext } from "../src/context/counting-context.ts";
import { sessionSpend } from "../src/context/spend.ts";
import { EACH, run, says, usageOf, worker } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 2_000 : 60;

/** A tree of agents: each makes some calls itself and hires some others, one after the other, at once, or living beside it. */
interface Plan {
  readonly calls: number;
  readonly how: "hire" | "batch" | "spawn" | "strategy";
  readonly children: readonly Plan[];
}

const planOf = (depth: number): fc.Arbitrary<Plan> =>
  fc.record({
    calls: fc.nat(3),
    how: fc.constantFrom("hire", "batch", "spawn", "strategy"),
    children: depth === 0 ? fc.constant([]) : fc.array(planOf(depth - 1), { maxLength: 3 }),
  });

describe("J10: what a worker uses is counted exactly once", () => {
  test("also if it is joined twice", async () => {
    const helper = worker("helper", [says("x")]);
    const architecture: Architecture = {
      name: "test",
      async *run(own, { runtime }) {
        yield { type: "step", step: 1 };
        const handle = await runtime.spawn(helper, { input: "" });
        await runtime.join(handle);
        await runtime.join(handle);
        own.output = "joined";
      },
      declaredWorkers: () => ({}),
    };
    const { session } = await run(architecture, []);
    expect(session.cumulativeUsage).toEqual(usageOf(helper.model));
  });

  test("in any tree, hired in any way", async () => {
    await fc.assert(
      fc.asyncProperty(planOf(3), async (plan) => {
        const model = scriptedModel(() => says("x"));
        const build = (at: Plan): Agent => {
          const agent: Agent = {
            id: AgentId("node"),
            async run(ctx) {
              for (let n = 0; n < at.calls; n++) await ctx.llm(model, { messages: [] });
              const leaves = at.children.map(
                (child) => ({ kind: "hire", agent: build(child), input: "" }) as const,
              );
              if (at.how === "batch") await ctx.batch(leaves);
              else
                for (const leaf of leaves) {
                  if (at.how === "spawn") await ctx.join(await ctx.spawn(leaf.agent, leaf));
                  else await ctx.hire(leaf);
                }
              return { status: "completed", output: "x", structured: { of: at.calls }, stopReason: "done" };
            },
          };
          if (at.how !== "strategy") return agent;
          return new StrategyAgent({
            name: "node",
            model,
            architecture: new Router({ routes: { x: agent } }),
          });
        };
        const child = build(plan);
        const seen: HireOutcome[] = [];
        const session = freshSession({ id: "s" });
        const root = new StrategyAgent({
          name: "root",
          model,
          architecture: {
            name: "test",
            async *run(own, deps) {
              yield { type: "step", step: 1 };
              seen.push(...(await spawnChildren(deps, [{ agent: child, input: "" }])));
              own.output = "x";
            },
            declaredWorkers: () => ({}),
          },
        });
        const ctx = bareContext();
        await root.continue(session, ctx, ctx.inbox(""));
        expect(session.cumulativeUsage).toEqual(usageOf(model));
        // The report does not show in what the worker gave.
        if (plan.how !== "strategy")
          expect(seen).toMatchObject([{ result: { structured: { of: plan.calls } } }]);
        else expect(seen).toMatchObject([{ result: { output: "x" } }]);
      }),
      { numRuns: RUNS },
    );
  });

  test("also of a worker that failed, and of one that another agent's tool loop hired", async () => {
    const failing = worker("failing", [
      { ...says(""), toolCalls: [{ name: "none" }] },
      new Error("broke down"),
    ]);
    const lead = new StrategyAgent({
      name: "lead",
      model: scriptedModel([
        { toolCalls: [{ name: "failing", arguments: { task: "x" } }], usage: EACH },
        says("sorry"),
      ]),
      tools: [delegateTo(failing)],
      architecture: new ReAct(),
    });
    const { session, model } = await run(new Router({ routes: { lead } }), [says("lead")]);
    expect(session.output).toBe("sorry");
    // Two calls of the lead, one of the router, and the one of the worker that was answered.
    expect(session.cumulativeUsage).toEqual({ inputTokens: 40, outputTokens: 4 });
    expect(model.calls).toHaveLength(1);
  });

  test("an answer from a cache costs nothing", async () => {
    const { id, info } = scriptedModel([]);
    const message = { role: "assistant", content: "again" } as const;
    const model = {
      id,
      info,
      generate: async () => ({ message, finishReason: "stop", usage: EACH, cached: true }) as const,
    };
    const agent = new StrategyAgent({ name: "a", model, architecture: new ReAct() });
    const [session, ctx] = [freshSession({ id: "s" }), bareContext()];
    await agent.continue(session, ctx, ctx.inbox("x"));
    expect(session.cumulativeUsage).toEqual({ inputTokens: 0, outputTokens: 0 });
  });
});

test("the figure bites: whoever counts twice is found out", async () => {
  const model = scriptedModel([says("x")]);
  const [session, ctx] = [freshSession({ id: "s" }), bareContext()];
  const spend = sessionSpend(session);
  await new CountingContext(new CountingContext(ctx, spend), spend).llm(model, { messages: [] });
  expect(session.cumulativeUsage).not.toEqual(usageOf(model));
});

describe("J8: hiring", () => {
  /** Dependencies on a context where only so many hires at once find a seat. */
  async function withSeats(seats: number, use: (deps: Dependencies) => Promise<void>): Promise<void> {
    const ctx = bareContext();
    const hire = ctx.hire.bind(ctx);
    let taken = 0;
    ctx.hire = async (leaf) => {
      if (taken >= seats) {
        const error = new BudgetExhaustedError({
          dimension: "agents",
          used: taken,
          limit: seats,
          scope: "root",
        });
        return { status: "denied", error };
      }
      taken++;
      return hire(leaf).finally(() => taken--);
    };
    const agent = new StrategyAgent({
      name: "a",
      model: scriptedModel([]),
      architecture: {
        name: "test",
        async *run(session, deps) {
          yield { type: "step", step: 1 };
          await use(deps);
          session.output = "x";
        },
        declaredWorkers: () => ({}),
      },
    });
    await agent.run(ctx, ctx.inbox(""));
  }

  test.each([[2], [1], [0]])("with %i seats for three workers all of them work in the end", async (seats) => {
    await withSeats(seats, async (deps) => {
      const workers = ["a", "b", "c"].map((name) => worker(name, [`I am ${name}`]));
      const outcomes = await spawnChildren(
        deps,
        workers.map((agent) => ({ agent, input: "who?" })),
      );
      expect(
        outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : outcome.status)),
      ).toEqual(["I am a", "I am b", "I am c"]);
    });
  });

  test("an agent with limits or layers of its own does not work without its seat", async () => {
    await withSeats(0, async (deps) => {
      const model = scriptedModel([]);
      const agent = new StrategyAgent({
        name: "b",
        model,
        architecture: new ReAct(),
        executionBudget: { maxTurns: 1 },
      });
      expect(await spawnChild(deps, { agent, input: "x" })).toMatchObject({ status: "denied" });
      expect(model.calls).toEqual([]);
    });
  });

  test("on its parent's lane a worker's failure is its outcome", async () => {
    await withSeats(0, async (deps) => {
      const agent = worker("b", () => new Error("broke down"));
      expect(await spawnChild(deps, { agent, input: "x" })).toMatchObject({
        status: "failed",
        error: { message: expect.stringContaining("broke down") },
      });
    });
  });

  test("J5: a worker's scope has the same user and run, and a session of its own", () => {
    const { scope } = bareContext({ userId: "ann" });
    const derived = scopeForWorker(scope, "critic");
    expect(derived).toEqual({ ...scope, sessionId: `${scope.sessionId}/critic` });
    expect(Object.isFrozen(derived)).toBe(true);
  });
});
