import { type Hooks, InvalidValueError, type ModelRequest, Priority } from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import {
  agent,
  ExecutionTracker,
  HookEvent,
  HookManager,
  OrchestratorAgent,
  ReActAgent,
  resume,
  run,
  start,
  team,
  tool,
} from "@ravi/sdk";

const worker = (name = "worker") =>
  agent({ name, model: scriptedModel(({ messages }) => `did ${String(messages.at(-1)?.content)}`) });

/** Hands one task to each of the tools that it has, then says what came back. */
const lead = ({ messages, tools = [] }: ModelRequest) => {
  const reports = messages.flatMap((message) => (message.role === "tool" ? [String(message.content)] : []));
  if (reports.length > 0) return reports.join(" | ");
  return { toolCalls: tools.map(({ name }, at) => ({ name, arguments: { task: `task ${at}` } })) };
};

describe("team", () => {
  test("has what its options inherit", async () => {
    const options = { name: "lead", model: scriptedModel(lead), members: [worker()], budget: { turns: 1 } };
    const result = await run(team(Object.create(options) as typeof options), "Go");
    expect(result).toMatchObject({ status: "partial", stoppedBy: { dimension: "turns", limit: 1 } });
  });

  test("R16: can be written with the classes too, with only the sdk installed", async () => {
    const hooks = new HookManager();
    const tokens: number[] = [];
    hooks.on(HookEvent.LLM_END, ({ usage }) => {
      if (usage !== null) tokens.push(usage.outputTokens);
    });
    const executionBudget = new ExecutionTracker({ maxTokens: 50_000, maxTurns: 20 });
    const model = scriptedModel(["found"]);
    const researcher = new ReActAgent({ name: "researcher", model, executionBudget, hooks });
    const made = new OrchestratorAgent({
      name: "lead",
      model: scriptedModel(lead),
      subAgents: [{ agent: researcher, priority: Priority.HIGH, askTimeoutS: 120 }],
      spawnBudget: { maxAgents: 10 },
    });
    expect(await run(made, "Go")).toMatchObject({ status: "completed", output: "found" });
    expect(tokens).toHaveLength(1);
    expect(executionBudget.used.turns).toBe(1);
  });

  test("hands work to its members, and the tree shows them under their lead", async () => {
    const made = team({
      name: "lead",
      model: scriptedModel(lead),
      members: [worker("a"), { agent: worker("b"), priority: Priority.HIGH }],
    });
    expect(made).toBeInstanceOf(OrchestratorAgent);
    const result = await run(made, "Go");
    expect(result.status).toBe("completed");
    expect(result.output).toMatch(/did task 0.*did task 1/s);
    expect(result.tree.root.children.map(({ agentId, status }) => [agentId, status])).toEqual([
      ["a/1", "completed"],
      ["b/2", "completed"],
    ]);
    expect(result.tree.root.children[0]?.calls).toMatchObject([{ kind: "llm", status: "ok" }]);
    const { total, usage } = result.tree.root;
    expect(total.usage.inputTokens).toBeGreaterThan(usage.inputTokens);
    expect(total.usage).toEqual(result.usage);
  });

  test("all agents of the run share one headcount and one budget", async () => {
    const model = scriptedModel(({ messages }) => {
      if (messages.some(({ role }) => role === "tool")) return lead({ messages });
      return {
        toolCalls: Array.from({ length: 10 }, () => ({ name: "handoff_worker", arguments: { task: "x" } })),
      };
    });
    const result = await run(team({ name: "lead", model, members: [worker()] }), "Go", {
      tree: { agents: 3 },
    });
    const denied = result.output.split(" | ").filter((report) => !report.includes("did x"));
    expect(denied).toHaveLength(8);
  });

  test("a member's own budget is in the words of the sdk, and is held", async () => {
    const made = team({
      name: "lead",
      model: scriptedModel(lead),
      members: [{ agent: worker(), budget: { turns: 0 } }],
    });
    const result = await run(made, "Go");
    expect(result.tree.root.children[0]).toMatchObject({ status: "partial", modelCalls: 0 });
    const wrong = [{ agent: worker(), budget: { turn: 0 } as object }];
    expect(() => team({ name: "lead", model: scriptedModel(lead), members: wrong })).toThrow(
      /team\.members\[0\]\.budget\.turn/,
    );
  });

  test("a team that was suspended in the middle goes on, and its tree adds up to what was paid, once", async () => {
    const journal = new MemoryJournal();
    const prices = { scripted: { input: 1, output: 1 } };
    const paid = { calls: 0 };
    const make = (isFirst: boolean) => {
      let reads = 0;
      let reports = 0;
      const reported = Promise.withResolvers<void>();
      const read = tool({
        name: "read",
        description: "Reads.",
        input: z.object({}),
        idempotent: true,
        execute: () => (isFirst && ++reads === 2 ? new Promise<string>(() => {}) : "read"),
      });
      const reader = scriptedModel(async ({ messages }) => {
        paid.calls++;
        if (messages.at(-1)?.role !== "tool") return { toolCalls: [{ name: "read", arguments: {} }] };
        // Both readers that can end do so together: what is on record of one when the other answers depends on nobody's speed.
        if (isFirst && ++reports === 2) reported.resolve();
        if (isFirst) await reported.promise;
        return "Read.";
      });
      const toolCalls = [1, 2, 3].map((page) => ({ name: "handoff_reader", arguments: { task: `${page}` } }));
      const model = scriptedModel(({ messages }) => {
        paid.calls++;
        return messages.at(-1)?.role === "tool" ? "All read." : { toolCalls };
      });
      return team({
        name: "lead",
        model,
        members: [agent({ name: "reader", model: reader, tools: [read] })],
      });
    };
    let answers = 0;
    const suspended = Promise.withResolvers<string>();
    // At once: a moment later readers would have ended, and of an agent whose end is on record the calls are not listed again.
    const hooks: Hooks = {
      has: (event) => event === HookEvent.LLM_END,
      dispatch: () => {
        if (++answers === 6) suspended.resolve(handle.suspend().then(({ status }) => status));
      },
      drain() {},
    };
    const handle = start(make(true), "Go", { journal, prices, hooks });
    expect(await suspended.promise).toBe("suspended");

    const result = await resume(handle.runId, { agents: make(false), journal, prices });
    expect(result).toMatchObject({
      status: "completed",
      output: "All read.",
      inDoubt: [expect.stringContaining("tool:")],
    });
    expect(paid.calls).toBe(8);
    expect(result.tree.root.total).toEqual({ usage: result.usage, costUsd: result.cost });
    expect(result.tree.agents().map(({ modelCalls, calls }) => [modelCalls, calls.length])).toEqual([
      [2, 2],
      [2, 3],
      [2, 3],
      [2, 3],
    ]);
    const again = await resume(handle.runId, { agents: make(false), journal, prices });
    expect(String(again.tree)).toBe(String(result.tree));
    expect(paid.calls).toBe(8);
  });

  test("a member whose literal is wrong, or whose key is missing, is not started again and again", async () => {
    const noKey = new InvalidValueError({ field: "apiKey", value: undefined, expected: "a key" });
    const broken = scriptedModel(() => noKey);
    const members = [agent({ name: "broken", model: broken })];
    const result = await run(team({ name: "lead", model: scriptedModel(lead), members }), "Go");
    expect(result.output).toContain("apiKey is undefined");
    expect(broken.calls).toHaveLength(1);
  });

  test("a member that crashed is hired again as the team's own policy says", async () => {
    const broken = scriptedModel(() => new TypeError("oh"));
    const members = [agent({ name: "broken", model: broken })];
    const retryPolicy = { shouldRetry: vi.fn(() => false), delayMs: () => 0, reset: () => {} };
    await run(team({ name: "lead", model: scriptedModel(lead), members, retryPolicy }), "Go");
    expect(retryPolicy.shouldRetry).toHaveBeenCalledOnce();
    expect(broken.calls).toHaveLength(1);
  });

  test("a member that crashed is hired again three times if the team has no policy of its own", async () => {
    const clock = virtualClock();
    const broken = scriptedModel(() => new TypeError("oh"));
    const members = [agent({ name: "broken", model: broken })];
    const ended = run(team({ name: "lead", model: scriptedModel(lead), members }), "Go", { clock });
    for (let seconds = 0; seconds < 100; seconds++) await clock.advance(1_000);
    expect((await ended).status).toBe("completed");
    expect(broken.calls).toHaveLength(4);
  });

  test("R16: one that was made with the classes has the limits of the tree that it was made with", async () => {
    const spawnBudget = { maxAgents: 5, maxDepth: 2, maxTotal: 4 };
    const made = new OrchestratorAgent({
      name: "lead",
      model: scriptedModel(["Done."]),
      subAgents: [{ agent: worker() }],
      spawnBudget,
    });
    expect((await run(made, "Go")).limits.tree).toMatchObject({ agents: 5, depth: 2, total: 4 });
  });

  test("R18: a helper that the model defines is held to the budget of dynamicHiring", async () => {
    const hire = { name: "eye", instructions: "Look.", task: "look", tools: ["look"] };
    const model = scriptedModel([{ toolCalls: [{ name: "hire_helper", arguments: hire }] }, "Done."]);
    const helpers = scriptedModel(({ tools }) =>
      tools === undefined ? "I saw little." : { toolCalls: [{ name: "look", arguments: {} }] },
    );
    const look = tool({ name: "look", description: "", input: z.object({}), execute: () => "dark" });
    const dynamicHiring = { model: helpers, tools: [look], budget: { turns: 3 } };
    const result = await run(team({ name: "lead", model, dynamicHiring }), "Go");
    expect(result.status).toBe("completed");
    expect(helpers.calls).toHaveLength(3);
  });

  test("misspelt options are refused by name", () => {
    expect(() => team({ name: "lead", model: scriptedModel(lead), member: [] } as never)).toThrow(
      /team\.member /,
    );
    expect(() =>
      team({ name: "lead", model: scriptedModel(lead), members: [worker()], tree: { agent: 3 } as object }),
    ).toThrow(/team\.tree\.agent/);
  });

  test("helpers that the model defines are hired within the caps, if that is switched on", async () => {
    const model = scriptedModel(({ messages, tools }) =>
      messages.some(({ role }) => role === "tool")
        ? lead({ messages })
        : `tools: ${(tools ?? []).map(({ name }) => name).join()}`,
    );
    const plain = await run(team({ name: "lead", model, members: [worker()] }), "Go");
    const open = await run(
      team({ name: "lead", model, dynamicHiring: { maxHelpers: 1, budget: { turns: 2 } } }),
      "Go",
    );
    expect(plain.output).toBe("tools: handoff_worker");
    expect(open.output).not.toContain("handoff_worker");
    expect(open.output).toMatch(/tools: \w+/);
  });
});

test.each(["members", "handoffs", "subAgents", "agents"])(
  "an agent with %s is told that it is a team",
  (name) => {
    const model = scriptedModel([]);
    const boss: object = { name: "lead", model, [name]: [agent({ name: "worker", model })] };
    expect(() => Reflect.apply(agent, undefined, [boss])).toThrow(
      `agent.${name} is an array of 1; expected no field of that name; a team hands work to others: team({ name, model, members })`,
    );
  },
);

test.each([
  [
    "agent.budget",
    () => Reflect.apply(agent, undefined, [{ name: "a", model: scriptedModel([]), budget: null }]),
  ],
  [
    "agent.tools",
    () => Reflect.apply(agent, undefined, [{ name: "a", model: scriptedModel([]), tools: null }]),
  ],
  ["team.tools", () => Reflect.apply(team, undefined, [{ name: "t", model: scriptedModel([]), tools: {} }])],
  [
    "team.members",
    () => Reflect.apply(team, undefined, [{ name: "t", model: scriptedModel([]), members: null }]),
  ],
  [
    "team.members[0]",
    () => Reflect.apply(team, undefined, [{ name: "t", model: scriptedModel([]), members: ["x"] }]),
  ],
  [
    "team.members[0]",
    () => Reflect.apply(team, undefined, [{ name: "t", model: scriptedModel([]), members: [null] }]),
  ],
  ["team.members", () => team({ name: "t", model: scriptedModel([]), members: [] })],
  [
    "team.members[0].prio",
    () => {
      const member = { agent: agent({ name: "a", model: scriptedModel([]) }), prio: 3 };
      return team({ name: "t", model: scriptedModel([]), members: [member] });
    },
  ],
  [
    "team.dynamicHiring",
    () => Reflect.apply(team, undefined, [{ name: "t", model: scriptedModel([]), dynamicHiring: true }]),
  ],
])("T11: what is of the wrong kind is refused by its name: %s", (field, make: () => unknown) => {
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});

describe("what options inherit is not left behind", () => {
  const inherited = <T>(fields: T): T => Object.create(fields as object) as T;

  test("a team has its members, on their terms, its layers and its budget", async () => {
    const seen: string[] = [];
    const layer = (level: string) => async (_: unknown, next: () => Promise<void>) => {
      seen.push(level);
      await next();
    };
    const made = team(
      inherited({
        name: "lead",
        model: scriptedModel(lead),
        members: [inherited({ agent: worker(), name: "helper", budget: { turns: 4 } })],
        budget: { turns: 9 },
        middleware: inherited({ agent: [layer("agent")], function: [layer("function")] }),
      }),
    );
    expect(made.defaults).toMatchObject({ executionBudget: { maxTurns: 9 } });
    const result = await run(made, "Go", { middleware: inherited({ agent: [layer("outer")] }) });
    expect(result.output).toBe("did task 0");
    expect(seen).toEqual(["outer", "agent", "outer"]);
  });
});
