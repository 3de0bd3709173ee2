import { describe, expect, test } from "vitest";
import { type Agent, type CompactionStrategy, RunId } from "@ravi/kernel";
import { cache, MiddlewarePipeline, retry } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, ask, done } from "../support/priced.ts";
import { all, leadOf, PRICE, turns, World } from "../support/scarce.ts";

// What else is made of model calls, or of refusals, when some of these calls wait for money.

/** A ledger of the user's, of which somebody else holds ten cents. */
function held(world: World, maxCostUsd: number) {
  const ledger = new ExecutionTracker({ maxCostUsd }, { scope: "acme", clock: world.clock });
  return { ledger, others: ledger.reserve({ tokens: 1, cost: 0.1 }) };
}

const LIMIT = { executionBudget: { maxCostUsd: 5 } };

test("R18: an agent that may ask for more budget does not ask while it only has to wait", async () => {
  const world = new World();
  const { model } = world.provider;
  const team = ["a", "b", "c"].map((name) => new ReActAgent({ name, model, onBudget: "ask" }));
  const lead = leadOf(team);
  const runtime = world.runtime(lead);
  const told: string[] = [];
  const run = runtime.run(lead, "?", {
    runId: "r",
    // When two calls are paid for, there is no room for a third, whatever is given back.
    executionBudget: { maxCostUsd: 0.12 },
    onEvent: ({ agentId, event }) => {
      if (event.type === "progress") told.push(`${agentId} ${event.name}`);
      if (event.type === "budgetWarning") told.push(`${event.scope} ${event.used}`);
    },
  });
  await turns();
  const waiting = ["b/2 waitsForBudget", "c/3 waitsForBudget"];
  expect([run.status, told.splice(0)]).toEqual(["running", waiting]);
  world.provider.open();
  await turns();
  expect([run.status, told.splice(0)]).toEqual(["suspended", ["c/3 approvalRequested"]]);
  const [wait] = (await runtime.inspect("r")).waitingFor ?? [];
  await runtime.deliver("r", wait?.name ?? "", { cost: 0.1 });
  expect(await run.result).toMatchObject({ output: all("completed", 3), cost: 3 * PRICE });
  expect([world.provider.sent, world.ledger.open, world.clock.pending]).toEqual([3, 0, 0]);
});

describe("a compaction whose model call waits for money", () => {
  const summarizing = (world: World): CompactionStrategy => ({
    name: "summary",
    compact: async (messages, context) => {
      if (messages.length < 2) return messages;
      const summary = await context?.llm?.(world.provider.model, ask("sum up"));
      return summary === undefined ? expect.fail("it has no model") : [summary.message];
    },
  });

  function begun() {
    const world = new World();
    const { ledger, others } = held(world, 0.15);
    const talking: Agent = {
      ...agent("one", async (ctx) => {
        for (const content of ["a", "b"]) ctx.remember({ role: "user", content });
        await ctx.llm(world.provider.model, { messages: await ctx.window() });
        return done();
      }),
      defaults: { executionBudget: ledger },
    };
    const rules = { ...world.rules, compaction: summarizing(world), agents: [talking] };
    const run = new Runtime({ ...rules, journal: world.journal }).run(talking, "", { runId: "r", ...LIMIT });
    return { world, ledger, others, rules, run };
  }

  test("R18: goes on in its turn, and is paid for like any call", async () => {
    const { world, ledger, others, run } = begun();
    await turns();
    expect([world.provider.sent, ledger.open]).toEqual([0, 1]);
    world.provider.open();
    others.cancel();
    expect(await run.result).toMatchObject({ status: "completed", cost: 2 * PRICE });
    expect([ledger.open, ledger.used.turns, world.clock.pending]).toEqual([0, 2, 0]);
  });

  test("T4: cancelled meanwhile, it leaves nothing behind; T5: after a crash nothing is charged", async () => {
    const { world, ledger, rules, run } = begun();
    await turns();
    const journal = cutJournal("r", world.journal.load(RunId("r")));
    const crashed = await new Runtime({ ...rules, journal }).inspect("r");
    expect(crashed).toMatchObject({ cost: 0, calls: [{ key: "compact:m#1", status: "waiting" }] });
    run.cancel("enough");
    expect(await run.result).toMatchObject({ status: "cancelled", cost: 0 });
    expect([world.provider.sent, ledger.open, world.clock.pending]).toEqual([0, 1, 0]);
  });
});

test("R18: a call that waits inside of a cache and a retry is sent once, and its answer is kept", async () => {
  const world = new World();
  const { ledger, others } = held(world, 0.15);
  const chat = new MiddlewarePipeline([cache(), retry()]);
  const twice: Agent = {
    ...agent("twice", async (ctx) => {
      const both = [
        await ctx.llm(world.provider.model, ask("?")),
        await ctx.llm(world.provider.model, ask("?")),
      ];
      return done(both.map(({ cached = false }) => cached).join(" "));
    }),
    defaults: { executionBudget: ledger },
  };
  const { result } = new Runtime({ ...world.rules, pipelines: { chat } }).run(twice, "", LIMIT);
  await turns();
  world.provider.open();
  others.cancel();
  expect(await result).toMatchObject({ output: "false true", cost: PRICE });
  expect([world.provider.sent, ledger.open, world.clock.pending]).toEqual([1, 0, 0]);
});
