import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  defineTool,
  type ModelRequest,
  Priority,
  type RootHandle,
  type RunEvent,
  textOf,
} from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import { agent, counted, done, governed, handOver, hands, model, PRICED } from "../src/leading.ts";

describe("R14: cap 3, the lead counts, and ten hand-offs in one turn", () => {
  const ten = hands(...Array.from({ length: 10 }, (_, n) => ["helper", `task ${n}`] as const));
  const run = { spawnBudget: { maxAgents: 3 } };

  test("denying: two run, and eight come back as denied, with a reason that the model can act on", async () => {
    const { helper, ran } = counted();
    const { result, told } = await handOver(ten, [{ agent: helper }], {}, run);
    expect(result.status).toBe("completed");
    expect(ran()).toBe(2);
    expect(told.map(({ isError }) => isError)).toEqual([false, false, ...Array(8).fill(true)]);
    for (const { text } of told.slice(2)) expect(text).toMatch(/^error: helper was not hired: .*agents.*3/);
  });

  test("queueing: all ten are done, with never more than three agents at once", async () => {
    const { helper, ran, most } = counted();
    const { result, told } = await handOver(ten, [{ agent: helper, onFull: "queue" }], {}, run);
    expect(result.status).toBe("completed");
    expect(ran()).toBe(10);
    expect(most()).toBe(2);
    expect(told).toEqual(Array.from({ length: 10 }, (_, n) => ({ text: `did task ${n}`, isError: false })));
  });

  test("the orchestrator's own spawnBudget holds where nothing else is said", async () => {
    const { helper, ran } = counted();
    await handOver(ten, [{ agent: helper }], { spawnBudget: { maxAgents: 4 } });
    expect(ran()).toBe(3);
  });
});

describe("R16: nothing deadlocks", () => {
  /** A chain of orchestrators, each of which hands its task to the next. */
  function chain(depth: number, onFull: "deny" | "queue"): Agent {
    if (depth === 0) return agent("leaf", async () => done("the bottom"));
    const below = chain(depth - 1, onFull);
    const [name = ""] = below.id.split("/");
    return new OrchestratorAgent({
      name: `level${depth}`,
      // What it is told it passes on, so that the result shows how deep it went.
      model: scriptedModel(({ messages }: ModelRequest) => {
        const last = messages.at(-1);
        return last?.role === "tool" ? textOf(last) : hands([name, "go"]);
      }),
      subAgents: [{ agent: below, onFull }],
    });
  }

  test.each(["deny", "queue"] as const)("at cap 1 and depth 5, %s", async (onFull) => {
    const result = await governed().run(chain(5, onFull), "go", { spawnBudget: { maxAgents: 1 } }).result;
    expect(result.status).toBe("completed");
    expect(result.output).toMatch(/^error: level4 was not hired/);
  });

  test.each([
    [2, "level3"],
    [3, "level2"],
    [4, "level1"],
    [5, "leaf"],
  ])("at cap %i and depth 5 there is no seat for %s", async (maxAgents, denied) => {
    for (const onFull of ["deny", "queue"] as const) {
      const result = await governed().run(chain(5, onFull), "go", { spawnBudget: { maxAgents } }).result;
      expect(result.status).toBe("completed");
      expect(result.output).toMatch(new RegExp(`^error: ${denied} was not hired`));
    }
  });

  test("with a seat for each it reaches the bottom", async () => {
    const result = await governed().run(chain(5, "deny"), "go", { spawnBudget: { maxAgents: 6 } }).result;
    expect(result.output).toBe("the bottom");
  });
});

describe("R14, R15: an urgent helper takes a slot from a lesser one", () => {
  const urgent = agent("urgent", async () => done("urgent done"));
  const both = hands(["slow", "x"], ["urgent", "y"]);
  const run = { spawnBudget: { maxAgents: 2 } };
  /** Two paid calls, with a yield point between them. */
  const slow = () => {
    const calls = model(["one", "two"]);
    const lesser = agent("slow", async (ctx) => {
      const first = await ctx.llm(calls, { messages: [{ role: "user", content: "1" }] });
      await ctx.remember(first.message);
      const second = await ctx.llm(calls, { messages: [{ role: "user", content: "2" }] });
      return done(`${textOf(first.message)} ${textOf(second.message)}`);
    });
    return { lesser, calls };
  };

  test("which goes on later, and nothing is paid twice", async () => {
    const { lesser, calls } = slow();
    const hooks = new HookManager();
    const seen: string[] = [];
    for (const event of [HookEvent.PREEMPTED, HookEvent.RESUMED] as const)
      hooks.on(event, ({ agentName }) => void seen.push(`${event} ${agentName}`));
    const { told } = await handOver(
      both,
      [
        { agent: lesser, priority: Priority.BACKGROUND },
        { agent: urgent, priority: Priority.HIGH },
      ],
      {},
      run,
      governed({ hooks }),
    );
    expect(told).toEqual([
      { text: "one two", isError: false },
      { text: "urgent done", isError: false },
    ]);
    expect(calls.calls).toHaveLength(2);
    expect(seen).toEqual(["preempted slow", "resumed slow"]);
  });

  test("or returns with what it has, which is no success", async () => {
    const { lesser } = slow();
    const { told } = await handOver(
      both,
      [
        { agent: lesser, priority: Priority.BACKGROUND, onPreempt: "return" },
        { agent: urgent, priority: Priority.HIGH },
      ],
      {},
      run,
    );
    expect(told[0]).toEqual({
      text: expect.stringMatching(/^error: slow was paused for more urgent work/),
      isError: true,
    });
    expect(told[1]).toEqual({ text: "urgent done", isError: false });
  });
});

describe("nested orchestrators share one headcount and one ledger", () => {
  test("R14: a spawnBudget of its own opens no second pool", async () => {
    const { helper, ran } = counted();
    const middle = new OrchestratorAgent({
      name: "middle",
      model: model([hands(["helper", "1"], ["helper", "2"], ["helper", "3"]), "done below"]),
      subAgents: [{ agent: helper }],
      spawnBudget: { maxAgents: 50 },
    });
    const { told } = await handOver(
      hands(["middle", "go"]),
      [{ agent: middle }],
      {},
      { spawnBudget: { maxAgents: 3 } },
    );
    expect(ran()).toBe(1);
    expect(told).toEqual([{ text: "done below", isError: false }]);
  });

  test("R18: what is spent below counts above, and the root's limit holds all of them", async () => {
    const endless = scriptedModel(
      (_: ModelRequest, call: number) => ({ toolCalls: [{ name: "look", arguments: { n: call } }] }),
      PRICED,
    );
    const look = defineTool({
      name: "look",
      description: "",
      input: z.object({ n: z.number() }),
      execute: ({ n }) => n,
    });
    const greedy = new ReActAgent({ name: "greedy", model: endless, tools: [look] });
    const middle = new OrchestratorAgent({
      name: "middle",
      model: model([hands(["greedy", "1"]), "never asked"]),
      subAgents: [{ agent: greedy, askTimeoutS: null }],
    });
    const { result } = await handOver(
      hands(["middle", "go"]),
      [{ agent: middle, askTimeoutS: null }],
      {},
      { executionBudget: { maxTurns: 12 } },
    );
    expect(result).toMatchObject({ status: "partial", stopReason: "budget" });
    // Two calls of the lead (its second is the wrap-up), one or two of the middle, and greedy has the rest: 12 at most.
    expect(endless.calls.length).toBeLessThanOrEqual(10);
    expect(endless.calls.length).toBeGreaterThanOrEqual(8);
  });

  test("events of all of them come with their path", async () => {
    const leaf = new ReActAgent({ name: "leaf", model: model(["found"]) });
    const middle = new OrchestratorAgent({
      name: "middle",
      model: model([hands(["leaf", "dig"]), "passed on"]),
      subAgents: [{ agent: leaf }],
    });
    const lead = new OrchestratorAgent({
      name: "lead",
      model: model([hands(["middle", "go"]), "fine"]),
      subAgents: [{ agent: middle }],
    });
    const handle = governed().run(lead, "go", { runId: "r" });
    const completed: string[] = [];
    for (const { execId, event } of await all(handle)) if (event.type === "completed") completed.push(execId);
    expect(completed).toEqual(["r/hire:middle#1/hire:leaf#1", "r/hire:middle#1", "r"]);
  });
});

async function all(handle: RootHandle): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of handle.events()) events.push(event);
  return events;
}
