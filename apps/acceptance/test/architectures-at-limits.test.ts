import { describe, expect, test } from "vitest";
import { type Agent, AgentId, type Architecture, type LLMClient, RunId, type Usage } from "@ravi/kernel";
import {
  ActorCritic,
  Debate,
  PlanAndExecute,
  Reflexion,
  Router,
  SelfRefine,
  StrategyAgent,
  Supervisor,
  Swarm,
} from "@ravi/architectures";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { thinker } from "../src/architectures/model.ts";
import { seat, TWELVE } from "../src/architectures/twelve.ts";
import { cutJournal } from "../src/cut-journal.ts";

const RUN = "r1";
const NAMES = Object.keys(TWELVE);

function governed(extra: RuntimeOptions = {}): Runtime {
  return new Runtime({
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    meter: new ModelMeter({ prices: { fixed: { input: 1, output: 1 } } }),
    ...extra,
  });
}

type Nest = (agent: (name: string, architecture: Architecture) => Agent) => Architecture;

/** Strategies whose workers are strategies whose workers are strategies. */
const NESTS: Readonly<Record<string, Nest>> = {
  "a router of a pair of a refiner": (agent) =>
    new Router({
      routes: { ann: agent("ann", new ActorCritic({ actor: agent("actor", new SelfRefine()) })) },
    }),
  "a supervisor of a debate of a planner and a learner": (agent) =>
    new Supervisor({
      workers: {
        ann: agent("ann", new Reflexion()),
        bob: agent(
          "bob",
          new Debate({
            debaters: { ann: agent("ann", new PlanAndExecute()), eve: agent("eve", new Reflexion()) },
            rounds: 1,
          }),
        ),
      },
    }),
  "a swarm of a router of a refiner": (agent) =>
    new Swarm({
      members: { bob: agent("bob", new Router({ routes: { ann: agent("ann", new SelfRefine()) } })) },
    }),
};

function nested(
  nest: Nest,
  model: LLMClient,
): { readonly agent: Agent; readonly counted: () => Usage | undefined } {
  const make = (name: string, architecture: Architecture): Agent =>
    new StrategyAgent({ name, model, instructions: `You are ${name}.`, architecture });
  let counted: (() => Usage) | undefined;
  const inner = nest(make);
  const top: Architecture = {
    name: inner.name,
    run(session, deps, prompt) {
      counted = () => session.cumulativeUsage;
      return inner.run(session, deps, prompt);
    },
    declaredWorkers: () => inner.declaredWorkers(),
  };
  return { agent: new StrategyAgent({ name: "top", model, architecture: top }), counted: () => counted?.() };
}

describe("J10: strategies in strategies in strategies", () => {
  test.each(Object.entries(NESTS))(
    "%s, killed after any entry, come to the same answer, pay nothing again and count everything once",
    async (_, nest) => {
      const journal = new MemoryJournal();
      const model = thinker();
      const first = nested(nest, model);
      const whole = await governed({ journal }).run(first.agent, "the task", { runId: RUN, sessionId: "s" })
        .result;
      expect(whole.status).toBe("completed");
      expect(first.counted()).toEqual(whole.usage);
      const records = journal.load(RunId(RUN));
      expect(records.length).toBeGreaterThan(12);
      for (let count = 1; count < records.length; count++) {
        const before = records.slice(0, count);
        const paid = before.filter(({ key, phase }) => key.startsWith("llm:") && phase === "end").length;
        const again = thinker();
        const { agent, counted } = nested(nest, again);
        const result = await governed({ journal: cutJournal(RUN, before), agents: [agent] }).resume(RUN)
          .result;
        expect({ count, status: result.status, output: result.output, calls: again.calls.length }).toEqual({
          count,
          status: whole.status,
          output: whole.output,
          calls: model.calls.length - paid,
        });
        expect([whole.usage, result.usage]).toContainEqual(counted());
      }
    },
  );
});

describe("J10: whatever limit is met, and wherever", () => {
  test.each(NAMES)("%s never fails, and never passes off a part as the whole", async (name) => {
    const whole = await governed().run(seat(name, thinker()).agent, "the task").result;
    const limits = [
      ...[1, 4_200, 4_220, 4_260, 5_000, 12_000].map((maxTokens) => ({ maxTokens })),
      ...[0.000_001, 0.004_2, 0.004_25, 0.005, 0.012].map((maxCostUsd) => ({ maxCostUsd })),
      ...[0, 1, 2].map((maxToolCalls) => ({ maxToolCalls })),
      { maxTurns: 1 },
    ];
    for (const executionBudget of limits) {
      const result = await governed().run(seat(name, thinker()).agent, "the task", { executionBudget })
        .result;
      const { status, output, stopReason, error } = result;
      const told = { ...executionBudget, status, stopReason, error: error?.message };
      expect({ ...told, isOver: status === "completed" || status === "partial" }).toEqual({
        ...told,
        isOver: true,
      });
      if (status === "completed") expect({ ...told, output }).toEqual({ ...told, output: whole.output });
      else expect(told).toEqual({ ...told, stopReason: "budget" });
    }
  });

  test.each(NAMES)("%s meets its deadline in any call, and gives what it has, as a part", async (name) => {
    const calls = thinker();
    await governed().run(seat(name, calls).agent, "the task").result;
    for (let most = 0; most < calls.calls.length; most++) {
      const clock = virtualClock({ now: 0 });
      const { generate, id, info } = thinker();
      let made = 0;
      const model: LLMClient = {
        id,
        info,
        generate: async (request, options) => {
          if (made++ < most) return generate(request, options);
          return new Promise((_, reject) => {
            options?.signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
          });
        },
      };
      const runtime = governed({ clock });
      const running = runtime.run(seat(name, model).agent, "the task", {
        executionBudget: { deadlineS: 10 },
      });
      for (let n = 0; n < 50; n++) await new Promise(setImmediate);
      await clock.advance(10_001);
      const { status, stopReason } = await running.result;
      expect({ most, status, stopReason }).toEqual({ most, status: "partial", stopReason: "deadline" });
      expect(clock.pending).toBe(0);
    }
  });
});

test("J10: one worker who is cancelled does not cancel the run", async () => {
  const model = scriptedModel(["ann"]);
  const gone: Agent = {
    id: AgentId("ann"),
    async run(ctx) {
      ctx.meta.cancellation.cancel("only this one");
      await ctx.check();
      return { status: "completed", output: "never", stopReason: "done" };
    },
  };
  const agent = new StrategyAgent({
    name: "top",
    model,
    architecture: new Router({ routes: { ann: gone } }),
  });
  const result = await governed().run(agent, "the task").result;
  expect(result).toMatchObject({
    status: "failed",
    error: { message: "the worker was cancelled: only this one" },
  });
});
