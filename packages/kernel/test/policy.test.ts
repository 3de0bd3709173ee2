import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AgentId,
  BudgetExhaustedError,
  executionBudget,
  HistoryRetention,
  type InvalidValueError,
  isRaviError,
  Priority,
  sameValue,
  RunId,
  SessionId,
  spawnBudget,
  Supervision,
} from "@ravi/kernel";

const lead = AgentId("lead");
const researcher = AgentId("researcher");

function refusal(attempt: () => unknown): InvalidValueError {
  try {
    attempt();
  } catch (error) {
    if (isRaviError(error, "INVALID_VALUE")) return error;
    throw error;
  }
  throw new Error("the value was accepted");
}

describe("R1: Supervision is a frozen place in a tree", () => {
  const root = Supervision.root(lead);

  test("R1: it has every field", () => {
    expect(Object.keys(root).toSorted()).toEqual([
      "agentId",
      "depth",
      "executionBudget",
      "parentId",
      "priority",
      "retention",
      "rootId",
      "runId",
      "sessionId",
      "spawnBudget",
    ]);
    expect(root).toMatchObject({ agentId: "lead", rootId: "lead", parentId: null, depth: 0 });
  });

  test("R1: nothing in it can be changed", () => {
    expect(Object.isFrozen(root)).toBe(true);
    expect(Object.isFrozen(root.spawnBudget)).toBe(true);
    expect(Object.isFrozen(root.executionBudget)).toBe(true);
    expect(() => Object.assign(root, { depth: 7 })).toThrow(TypeError);
    expect(() => Object.assign(root.spawnBudget, { maxAgents: 7 })).toThrow(TypeError);
  });
});

describe("R2: root and spawnChild", () => {
  test("R2: null says nothing about a budget: the default at the root, the parent's in a child", () => {
    const plain = Supervision.root(lead);
    const root = Supervision.root(lead, { spawnBudget: null, executionBudget: null });
    expect(root.spawnBudget).toEqual(plain.spawnBudget);
    expect(root.executionBudget).toEqual(plain.executionBudget);
    const limited = Supervision.root(lead, { executionBudget: { maxTurns: 9 } });
    expect(limited.spawnChild({ executionBudget: null }).executionBudget).toBe(limited.executionBudget);
  });

  test("R2: a root mints a run, keeps a given session and has the defaults", () => {
    const one = Supervision.root(lead);
    const two = Supervision.root(lead, { sessionId: "chat-7" });
    expect(one.runId).not.toBe(two.runId);
    expect(one.sessionId).not.toBe(Supervision.root(lead).sessionId);
    expect(two.sessionId).toBe(SessionId("chat-7"));
    expect(one.retention).toBe(HistoryRetention.PERMANENT);
    expect(one.priority).toBe(Priority.NORMAL);
    expect(one.spawnBudget).toEqual(spawnBudget());
    expect(one.executionBudget).toEqual(executionBudget());
  });

  test("R2: what is minted comes from the ids that are given, and is an id", () => {
    let made = 0;
    const ids = { uuid: () => `made-${++made}`, random: () => 0 };
    const root = Supervision.root(lead, { ids });
    expect([root.runId, root.sessionId]).toEqual([RunId("made-1"), SessionId("made-2")]);
    expect(root.spawnChild({ ids }).agentId).toBe(AgentId("agent", "made-3"));
    const bad = { uuid: () => "a\nb", random: () => 0 };
    expect(refusal(() => Supervision.root(lead, { ids: bad })).field).toMatch(/run/i);
  });

  test("R2: a child keeps run, session, root and the same spawn budget object", () => {
    const root = Supervision.root(lead, { spawnBudget: { maxAgents: 3 }, executionBudget: { maxTurns: 9 } });
    const child = root.spawnChild({ agentId: researcher });
    const grandchild = child.spawnChild();
    expect(child).toMatchObject({
      runId: root.runId,
      sessionId: root.sessionId,
      rootId: lead,
      parentId: lead,
      depth: 1,
    });
    expect(grandchild).toMatchObject({ parentId: researcher, depth: 2 });
    expect(grandchild.spawnBudget).toBe(root.spawnBudget);
    expect(grandchild.executionBudget).toBe(root.executionBudget);
    expect(child.retention).toBe(HistoryRetention.RUN);
    expect(child.priority).toBe(Priority.NORMAL);
  });

  test("R2: a child's own budget, priority, retention and parent are taken", () => {
    const child = Supervision.root(lead).spawnChild({
      parentId: researcher,
      priority: Priority.HIGH,
      retention: HistoryRetention.NONE,
      executionBudget: { maxTokens: 10 },
    });
    expect(child).toMatchObject({ parentId: researcher, priority: 4, retention: "none" });
    expect(child.executionBudget.maxTokens).toBe(10);
  });

  test("R2: nobody reports to itself", () => {
    const root = Supervision.root(lead);
    expect(() => root.spawnChild({ agentId: lead })).toThrow(/an agent cannot report to itself/);
    expect(() => root.spawnChild({ agentId: researcher, parentId: researcher })).toThrow(/to itself/);
  });

  test("R2: there is no depth limit unless maxDepth is set", () => {
    let deep = Supervision.root(lead);
    for (let depth = 0; depth < 200; depth++) deep = deep.spawnChild();
    expect(deep.depth).toBe(200);

    const shallow = Supervision.root(lead, { spawnBudget: { maxDepth: 1 } }).spawnChild();
    expect(() => shallow.spawnChild()).toThrow(BudgetExhaustedError);
    expect(() => shallow.spawnChild()).toThrow(/depth budget of lead exhausted: 1 of 1/);
  });

  test.each([
    ["a misspelt limit", { spawnBuget: { maxAgents: 2 } }, "supervision.spawnBuget"],
    ["another's name for one", { budget: { maxTurns: 2 } }, "supervision.budget"],
    ["nothing where options belong", null, "supervision"],
  ])("a root refuses %s, as it would not be kept", (_, options, field) => {
    // @ts-expect-error -- for whoever has no compiler
    expect(refusal(() => Supervision.root(lead, options)).field).toBe(field);
  });

  test.each([
    ["a misspelt priority", { prioritty: Priority.HIGH }, "supervision.prioritty"],
    ["a number for its name", { agentId: 7 }, "supervision.agentId"],
    ["an empty name", { agentId: "" }, "agentId"],
    ["a number for its parent", { parentId: 7 }, "supervision.parentId"],
  ])("a child refuses %s", (_, options, field) => {
    // @ts-expect-error -- for whoever has no compiler
    expect(refusal(() => Supervision.root(lead).spawnChild(options)).field).toBe(field);
  });
});

describe("R3, R4: ids and topics", () => {
  test("R3: isRoot, and one progress topic for the whole tree", () => {
    const root = Supervision.root(lead);
    const child = root.spawnChild();
    expect([root.isRoot, child.isRoot]).toEqual([true, false]);
    expect(child.progressTopic).toEqual({ type: "agent.progress", source: root.runId });
    expect(child.progressTopic).toEqual(root.progressTopic);
  });

  test("R4: a session spans runs, a run is one tree", () => {
    const [one, two] = [
      Supervision.root(lead, { sessionId: "s" }),
      Supervision.root(lead, { sessionId: "s" }),
    ];
    expect(one.sessionId).toBe(two.sessionId);
    expect(one.runId).not.toBe(two.runId);
  });
});

describe("R5: SpawnBudget", () => {
  test("R5: its defaults", () => {
    expect(spawnBudget()).toEqual({ maxAgents: 50, allowPreempt: true, maxTotal: null, maxDepth: null });
  });

  test("R5: a budget of the other kind, or an heir of one, is no limit that could be trusted", () => {
    const agents: object = spawnBudget({ maxAgents: 3 });
    const spending: object = executionBudget({ maxTokens: 5 });
    const heir: object = Object.freeze(Object.create(agents, { maxAgents: { value: -1, enumerable: true } }));
    expect(refusal(() => executionBudget(agents)).field).toBe("executionBudget.maxAgents");
    expect(refusal(() => spawnBudget(spending)).field).toBe("spawnBudget.maxTokens");
    expect(refusal(() => spawnBudget(heir)).field).toBe("spawnBudget.maxAgents");
  });

  test("R5: a value that was made is not made again", () => {
    const budget = spawnBudget({ maxAgents: 3 });
    expect(spawnBudget(budget)).toBe(budget);
    expect(Supervision.root(lead, { spawnBudget: budget }).spawnBudget).toBe(budget);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null, 2 ** 60])(
    "R5: maxAgents %j is refused, by field and value",
    (value) => {
      const error = refusal(() => spawnBudget({ maxAgents: value as number }));
      expect(error.field).toBe("spawnBudget.maxAgents");
      expect(error.message).toBe(
        `spawnBudget.maxAgents is ${error.value}; expected a whole number of at least 1`,
      );
    },
  );
});

describe("R6: ExecutionBudget", () => {
  test("R6: absent and null are unlimited, maxToolCalls is a dimension of its own", () => {
    const unlimited = {
      maxTokens: null,
      maxCostUsd: null,
      maxTurns: null,
      maxToolCalls: null,
      deadlineS: null,
    };
    expect(executionBudget()).toEqual(unlimited);
    expect(executionBudget({ maxTokens: null, deadlineS: undefined })).toEqual(unlimited);
    expect(executionBudget({ maxToolCalls: 0, maxTurns: 20 })).toMatchObject({
      maxToolCalls: 0,
      maxTurns: 20,
    });
  });

  test.each([
    [
      { maxCostUsd: -1 },
      "executionBudget.maxCostUsd is -1; expected a finite number of at least 0, or null for no limit",
    ],
    [
      { maxCostUsd: Number.NaN },
      "executionBudget.maxCostUsd is NaN; expected a finite number of at least 0, or null for no limit",
    ],
    [
      { maxTokens: 0.5 },
      "executionBudget.maxTokens is 0.5; expected a whole number of at least 0, or null for no limit",
    ],
    [
      { maxTurns: "20" },
      'executionBudget.maxTurns is "20"; expected a whole number of at least 0, or null for no limit',
    ],
    [
      { deadlineS: 0 },
      "executionBudget.deadlineS is 0; expected a finite number greater than 0, or null for no limit",
    ],
    [
      { maxCost: 5 },
      "executionBudget.maxCost is 5; expected no field of that name; known fields: maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS",
    ],
  ])("R6: %j is refused in words that can be acted on", (options, message) => {
    expect(refusal(() => executionBudget(options as object)).message).toBe(message);
  });

  test.each(["5", 5, null, [1]])("R6: %j is no budget at all", (value) => {
    expect(refusal(() => executionBudget(value as object)).field).toBe("executionBudget");
  });

  test("R6: a ledger is no budget, and the refusal says where one belongs", () => {
    const ledger: object = { account: {}, reserve: () => undefined };
    expect(refusal(() => executionBudget(ledger))).toMatchObject({
      field: "executionBudget",
      expected: expect.stringContaining("a ledger is given to an agent"),
    });
  });
});

describe("R7: Priority and HistoryRetention", () => {
  test("R7: their values", () => {
    expect(Priority).toEqual({ BACKGROUND: 0, LOW: 1, NORMAL: 2, HIGH: 4, CRITICAL: 8 });
    expect(HistoryRetention).toEqual({ NONE: "none", RUN: "run", PERMANENT: "permanent" });
    expect(Object.isFrozen(Priority) && Object.isFrozen(HistoryRetention)).toBe(true);
  });

  test("R7: any other is refused with the list of those that are", () => {
    const error = refusal(() => Supervision.root(lead, { priority: 3 as Priority }));
    expect(error.message).toBe(
      "supervision.priority is 3; expected one of BACKGROUND (0), LOW (1), NORMAL (2), HIGH (4), CRITICAL (8)",
    );
    expect(refusal(() => Supervision.root(lead, { retention: "forever" as "run" })).field).toBe(
      "supervision.retention",
    );
  });
});

describe("policy values survive JSON", () => {
  const amount = fc.option(fc.nat({ max: 1_000_000 }), { nil: null });
  const budgets = fc.record({
    spawn: fc.record({
      maxAgents: fc.integer({ min: 1, max: 1000 }),
      allowPreempt: fc.boolean(),
      maxTotal: fc.option(fc.integer({ min: 1, max: 9 }), { nil: null }),
    }),
    spend: fc.record({
      maxTokens: amount,
      maxTurns: amount,
      maxCostUsd: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: null }),
    }),
    depth: fc.nat({ max: 5 }),
  });

  test("there and back is the same value, and frozen again", () => {
    fc.assert(
      fc.property(budgets, ({ spawn, spend, depth }) => {
        let node = Supervision.root(lead, { spawnBudget: spawn, executionBudget: spend });
        for (let level = 0; level < depth; level++) node = node.spawnChild({ priority: Priority.HIGH });
        const back = Supervision.fromJSON(JSON.parse(JSON.stringify(node)));
        expect(sameValue(back, node)).toBe(true);
        expect(back).toEqual(node);
        expect(Object.isFrozen(back) && Object.isFrozen(back.spawnBudget)).toBe(true);
        expect(sameValue(spawnBudget.fromJSON(node.spawnBudget.toJSON()), node.spawnBudget)).toBe(true);
      }),
    );
  });

  test("R1: what became of a budget as JSON is a budget wherever options are", () => {
    const spawn = spawnBudget({ maxAgents: 3, allowPreempt: false, maxTotal: 9 });
    const spend = executionBudget({ maxTurns: 7, maxCostUsd: 0.5 });
    const stored = JSON.parse(JSON.stringify({ spawn, spend }));
    expect(spawnBudget(stored.spawn)).toEqual(spawn);
    expect(executionBudget(stored.spend)).toEqual(spend);
    const root = Supervision.root(lead, { spawnBudget: stored.spawn, executionBudget: stored.spend });
    expect(root).toMatchObject({ spawnBudget: spawn, executionBudget: spend });
    expect(root.spawnChild({ executionBudget: stored.spend }).executionBudget).toEqual(spend);
    // It is read as strictly as by fromJSON.
    expect(refusal(() => executionBudget({ ...stored.spend, v: 2 })).field).toBe("executionBudget.v");
    expect(refusal(() => spawnBudget({ ...stored.spawn, maxAgent: 1 })).field).toBe("spawnBudget.maxAgent");
  });

  test("values are compared by content", () => {
    expect(sameValue(spawnBudget(), spawnBudget({ maxAgents: 50 }))).toBe(true);
    expect(sameValue(spawnBudget(), spawnBudget({ maxAgents: 49 }))).toBe(false);
    expect(sameValue({ a: [1, { b: 2 }], c: undefined }, { a: [1, { b: 2 }] })).toBe(true);
    expect(sameValue([1], { 0: 1 })).toBe(false);
  });

  test.each([
    ["an unknown version", { v: 2, maxAgents: 5 }, "spawnBudget.v"],
    ["no version", { maxAgents: 5 }, "spawnBudget.v"],
    ["an unknown field", { v: 1, maxAgent: 5 }, "spawnBudget.maxAgent"],
    ["a key to the prototype", JSON.parse('{"v":1,"__proto__":{"maxAgents":9999}}'), "spawnBudget.__proto__"],
    ["a constructor key", JSON.parse('{"v":1,"constructor":{}}'), "spawnBudget.constructor"],
    ["text", "spawnBudget", "spawnBudget"],
    ["nothing", undefined, "spawnBudget"],
  ])("%s is refused", (_, json, field) => {
    expect(refusal(() => spawnBudget.fromJSON(json)).field).toBe(field);
    expect(Object.prototype).not.toHaveProperty("maxAgents");
  });

  test("a damaged node is refused where it is damaged", () => {
    const json = JSON.parse(JSON.stringify(Supervision.root(lead))) as Record<string, unknown>;
    expect(refusal(() => Supervision.fromJSON({ ...json, depth: -1 })).field).toBe("supervision.depth");
    expect(refusal(() => Supervision.fromJSON({ ...json, runId: 7 })).field).toBe("supervision.runId");
    expect(refusal(() => Supervision.fromJSON({ ...json, rootId: "a\nb" })).field).toBe("agentId");
    expect(refusal(() => Supervision.fromJSON({ ...json, priority: 3 })).field).toBe("supervision.priority");
    expect(refusal(() => Supervision.fromJSON({ ...json, spawnBudget: { v: 1, maxAgents: 0 } })).field).toBe(
      "spawnBudget.maxAgents",
    );
  });
});
