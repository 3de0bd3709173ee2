import { describe, expect, test } from "vitest";
import {
  addUsage,
  agentName,
  defineTool,
  errorFromJSON,
  ExecId,
  executionBudget,
  NO_USAGE,
  parseJson,
  RunMeta,
  spawnBudget,
  Supervision,
  totalTokens,
} from "../src/index.ts";
import {
  bareContext,
  checkModel,
  checkPorts,
  checkSpelling,
  checkTools,
  delegateTo,
  type DelegateOptions,
  type LoopOptions,
  type ModelSettings,
  newRoot,
  planLoop,
  versionOf,
} from "../src/loop.ts";
import { checkRequest } from "../src/provider.ts";
import { systemIds } from "../src/core/clock.ts";
import { AgentId } from "../src/core/ids.ts";

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;
const written = { code: null, name: "Error", message: "m", retryable: false, fields: {}, cause: null };
const refusal = (field: string) => expect.objectContaining({ code: "INVALID_VALUE", field });

describe("limits that are no plain object are refused, and do not count as none", () => {
  const notPlain: readonly [string, unknown][] = [
    ["a promise that was not awaited", Promise.resolve({ maxTokens: 5 })],
    ["a map", new Map([["maxTokens", 5]])],
    ["a date", new Date(0)],
    ["a list", []],
  ];
  test.each(notPlain)("R6: %s", (_what, given) => {
    expect(() => executionBudget(odd(given))).toThrow(refusal("executionBudget"));
    expect(() => spawnBudget(odd(given))).toThrow(refusal("spawnBudget"));
    expect(() => Supervision.root(AgentId("lead"), { executionBudget: odd(given) })).toThrow(
      refusal("executionBudget"),
    );
  });

  test("R6: a promise is told to be awaited, and what is empty, of a class or without a prototype is taken", () => {
    expect(() => executionBudget(odd(Promise.resolve({})))).toThrow(/await it first/);
    class Limits {
      readonly maxTokens = 5;
    }
    expect(executionBudget({}).maxTokens).toBeNull();
    expect(executionBudget(new Limits()).maxTokens).toBe(5);
    expect(executionBudget(Object.create(null) as object).maxTokens).toBeNull();
  });
});

describe("what an agent is given", () => {
  const whole = { name: "wipe", description: "", input: {}, execute: () => 1 };
  test.each([
    [{ needsApproval: "yes" }, "Writer.tools[0].needsApproval"],
    [{ idempotent: 1 }, "Writer.tools[0].idempotent"],
    [{ timeoutS: -1 }, "Writer.tools[0].timeoutS"],
    [{ timeoutS: "5" }, "Writer.tools[0].timeoutS"],
    [{ description: undefined }, "Writer.tools[0].description"],
    [{ input: undefined }, "Writer.tools[0].input"],
    [{ input: null }, "Writer.tools[0].input"],
    [{ input: "object" }, "Writer.tools[0].input"],
    [{ name: "w i p e" }, "tool name"],
    [{ execute: undefined }, "Writer.tools[0]"],
  ])("R19: a tool that nobody defined by defineTool is checked as if: %o", (change, field) => {
    expect(() => checkTools("Writer", [odd({ ...whole, ...change })])).toThrow(refusal(field));
  });

  test("R19: a definition that is none, or has no schema, is refused where it is made", () => {
    expect(() => defineTool(odd(undefined))).toThrow(refusal("tool"));
    for (const input of [undefined, [], () => ({ type: "object" })])
      expect(() => defineTool(odd({ ...whole, input }))).toThrow(refusal("tool wipe: input"));
    expect(() => defineTool(odd({ ...whole, input: Promise.resolve({}) }))).toThrow(
      refusal("tool wipe: input"),
    );
  });

  const generate = async () => {};
  test.each([
    [undefined, "model"],
    [{ generate }, "model.info"],
    [{ generate, info: { provider: "p" } }, "model.info.model"],
    [{ generate, info: { provider: 1, model: "m" } }, "model.info.provider"],
    [{ generate, info: { provider: "p", model: "m", maxOutputTokens: -1 } }, "model.info.maxOutputTokens"],
    [{ generate, info: { provider: "p", model: "m", contextWindow: "1k" } }, "model.info.contextWindow"],
  ])("R18: a model that does not say what is set aside for its calls is refused: %o", (model, field) => {
    expect(() => checkModel("model", model)).toThrow(refusal(field));
  });
});

describe("what a runtime is given", () => {
  const agent = { id: AgentId("a"), run: odd(async () => {}) };
  test.each([
    [{ exectionBudget: { maxTokens: 5 } }, "agent a: defaults.exectionBudget"],
    [{ executionBudget: { maxTokens: 5 }, maxCostUsd: 1 }, "agent a: defaults.maxCostUsd"],
    ["cheap", "agent a: defaults"],
    [Promise.resolve({}), "agent a: defaults"],
    [null, "agent a: defaults"],
  ])("R6: a limit of an agent's own that would be ignored is refused: %o", (defaults, field) => {
    expect(() => newRoot({ ...agent, defaults: odd(defaults) }, {}, systemIds)).toThrow(refusal(field));
  });

  test("R12: what is no agent is refused before its version is looked up, and so is what is no version", () => {
    for (const none of [undefined, null, {}, { id: "a" }, { run() {} }])
      expect(() => versionOf(new Map(), odd(none), "1")).toThrow(refusal("agent"));
    expect(() => versionOf(new Map(), agent, odd({}))).toThrow(refusal("run options.version"));
  });

  test.each([
    [{ auditLog: {} }, "options.auditLog"],
    [{ meter: { price() {} } }, "options.meter"],
    [{ ledger: {} }, "options.ledger"],
    [{ permissions: null }, "options.permissions"],
    [{ pipelines: { chats: {} } }, "options.pipelines.chats"],
    [{ pipelines: { chat: {} } }, "options.pipelines.chat"],
  ])("J4: a service that cannot serve is refused: %o", (ports, field) => {
    expect(() => checkPorts("options", odd(ports))).toThrow(refusal(field));
  });

  test("J4: a function that has the methods of a service, or of a model, is one", () => {
    const fields = { generate() {}, info: { provider: "p", model: "m" }, append() {} };
    const both = Object.assign(() => {}, fields);
    expect(() => checkPorts("options", odd({ auditLog: both }))).not.toThrow();
    expect(() => checkModel("model", both)).not.toThrow();
  });

  test("J4: a delegate has the terms that its options inherit", () => {
    const terms = { name: "helper", executionBudget: { maxCostUsd: 1 }, timeoutS: 5 };
    const lent = delegateTo(odd({ id: "a", run: async () => {} }), Object.create(terms) as DelegateOptions);
    expect(lent.hire({ task: "x" })).toMatchObject({ executionBudget: { maxCostUsd: 1 }, timeoutS: 5 });
    expect(lent.name).toBe("helper");
  });

  test("J4: a loop has what its options have of their class, or inherit", () => {
    const hooks = { has: () => false, dispatch() {} };
    const model = { id: "p/m", info: { provider: "p", model: "m" }, generate: odd(async () => {}) };
    const { hooks: kept, model: asked } = planLoop(
      "Agent",
      Object.create({ name: "a", model, hooks }) as LoopOptions,
    );
    expect([kept, asked]).toEqual([hooks, model]);
    const settings = Object.create({ maxOutputTokens: 5, temperature: 0 }) as ModelSettings;
    expect(planLoop("Agent", { name: "a", model, settings }).request).toEqual({
      maxOutputTokens: 5,
      temperature: 0,
    });
  });
});

describe("what is no text, no usage and no error is refused by name, and not by the language", () => {
  test.each<[string, () => unknown]>([
    ["agentId", () => agentName(odd(null))],
    ["agentId key", () => AgentId("a", odd({}))],
    ["agentId key", () => AgentId("a", Number.NaN)],
    ["execId parent", () => ExecId(odd(null), "k")],
    ["usage", () => addUsage(odd(null), NO_USAGE)],
    ["usage", () => addUsage(NO_USAGE, odd({}))],
    ["usage", () => totalTokens(odd(undefined))],
    ["args", () => parseJson(odd(null), "args")],
    ["args", () => parseJson(odd(5), "args")],
    ["parseJson limits", () => parseJson("{}", "args", odd(null))],
    ["parseJson limits.maxLength", () => parseJson("{}", "args", odd({ maxDepth: 5 }))],
    ["runMeta", () => RunMeta.of(odd(null))],
    ["runMeta.deadlineMs", () => RunMeta.of(odd({ deadlineMs: 5 }))],
    ["runMeta.clock", () => RunMeta.of({ clock: odd({}) })],
    ["runMeta.cancellation", () => RunMeta.of({ cancellation: odd(new AbortController()) })],
    ["runMeta.supervision", () => RunMeta.of({ supervision: odd(5) })],
    ["runMeta.child", () => RunMeta.of({}).child(odd(null))],
    ["runMeta.child.deadlineMs", () => RunMeta.of({}).child(odd({ deadlineMs: 5 }))],
    ["runMeta", () => RunMeta.standalone(odd(null))],
    ["runMeta.deadlineMs", () => RunMeta.standalone(odd({ deadlineMs: 5 }))],
    ["runMeta.clock", () => RunMeta.standalone({ clock: odd({}) })],
    ["runMeta.cancellation", () => RunMeta.standalone({ cancellation: odd(new AbortController()) })],
    ["error", () => errorFromJSON(odd(null))],
    ["error.name", () => errorFromJSON(odd({}))],
    ["error.message", () => errorFromJSON(odd({ ...written, message: { toString: () => "crafted" } }))],
    ["error.fields", () => errorFromJSON(odd({ ...written, fields: null }))],
    ["error.cause.message", () => errorFromJSON(odd({ ...written, cause: { ...written, message: 5 } }))],
  ])("T11: %s", (field, attempt) => {
    expect(attempt).toThrow(refusal(field));
  });

  test("T11: an error with causes without end comes back with as many as are ever written", () => {
    const endless = { ...written, cause: odd(null) };
    Object.assign(endless, { cause: endless });
    let causes = 0;
    for (let at: unknown = errorFromJSON(endless); at instanceof Error; at = at.cause) causes++;
    expect(causes).toBe(9);
  });

  test("T11: data that is called like a method of all objects does not stand in its place", () => {
    const fields = { toString: "x", valueOf: 5, constructor: null, reason: "why" };
    const error = errorFromJSON({ ...written, code: "CANCELLED", fields: odd(fields) });
    expect(String(error)).toBe("Error: m");
    expect(error).toMatchObject({ reason: "why" });
  });
});

test.each<[string, unknown]>([
  ["request", null],
  ["request", []],
  ["request.messages", { messages: null }],
  ["request.messages", { messages: "hello" }],
  ["request.messages[0]", { messages: [null] }],
  ["request.messages[0].role", { messages: [{ role: "developer", content: "x" }] }],
  ["request.messages[0].content", { messages: [{ role: "user" }] }],
  ["request.messages[0].content[1]", { messages: [{ role: "user", content: [{ type: "text" }, null] }] }],
  ["request.messages[0].toolCalls", { messages: [{ role: "assistant", content: "", toolCalls: {} }] }],
  [
    "request.messages[0].toolCalls[0].arguments",
    { messages: [{ role: "assistant", content: "", toolCalls: [{ id: "1", name: "a", arguments: {} }] }] },
  ],
  ["request.maxOutputTokens", { messages: [], maxOutputTokens: "x" }],
  ["request.maxOutputTokens", { messages: [], maxOutputTokens: NaN }],
  ["request.temperature", { messages: [], temperature: "warm" }],
  ["request.topP", { messages: [], topP: {} }],
  ["request.seed", { messages: [], seed: NaN }],
  ["request.stop", { messages: [], stop: "END" }],
  ["request.stop", { messages: [], stop: [5] }],
  ["request.reasoning", { messages: [], reasoning: "high" }],
  ["request.providerOptions", { messages: [], providerOptions: 5 }],
  ["request.toolChoice", { messages: [], toolChoice: "any" }],
  ["request.toolChoice", { messages: [], toolChoice: {} }],
  ["request.output", { messages: [], output: { schema: {} } }],
  ["request.tools", { messages: [], tools: {} }],
  ["request.tools[0]", { messages: [], tools: [null] }],
  ["request.tools[0].name", { messages: [], tools: [{}] }],
])("T11: a request that nobody can send is refused by its place: %s", (field, request) => {
  expect(() => checkRequest(odd(request))).toThrow(refusal(field));
});

describe("J4: what options have of their class, or inherit, is not left behind where they are copied", () => {
  const inherited = <T>(fields: T): T => Object.create(fields as object) as T;
  const idle = { id: AgentId("idle"), run: () => new Promise<never>(() => {}) };

  test("the terms of a spawn, which has to have some", async () => {
    const ctx = bareContext();
    const child = await ctx.spawn(idle, inherited({ input: "go", priority: 4 as const }));
    expect(child.agentId).toBe("idle/1");
    child.cancel("enough");
    await expect(ctx.spawn(idle, inherited({ input: "go", timeoutS: 5 }))).rejects.toThrow(
      refusal("spawn.timeoutS"),
    );
    await expect(ctx.spawn(idle, odd(undefined))).rejects.toThrow(refusal("spawn"));
    await expect(ctx.spawn(odd(undefined), { input: "" })).rejects.toThrow(refusal("spawn.agent"));
    await expect(ctx.hire(odd(undefined))).rejects.toThrow(refusal("hire.agent"));
    await expect(ctx.join(odd(undefined))).rejects.toThrow(refusal("handle"));
  });
});

describe("a misspelt field", () => {
  const known = ["beforeCall", "afterCall"];
  class Counter {
    readonly name = "counter";
    readonly beforeCalls = 3;
    afterCall(): void {}
  }

  test("is named, with the one that was meant", () => {
    expect(() => checkSpelling("guard", { beforeCal: () => {} }, known)).toThrow(/did you mean beforeCall\?/);
  });

  test("is looked for in plain objects alone: a class has fields of its own", () => {
    expect(() => checkSpelling("guard", { name: "counter", beforeCalls: 3 }, known)).toThrow(
      refusal("guard.beforeCalls"),
    );
    expect(() => checkSpelling("guard", new Counter(), known)).not.toThrow();
  });
});

test.each<[string, readonly unknown[]]>([
  ["model", [undefined]],
  ["model", [{ messages: [] }]],
  ["request", [{ generate: () => undefined }]],
  ["request", [{ generate: () => undefined }, []]],
  ["request.messages", [{ generate: () => undefined }, {}]],
])("R23: a bare context names what is wrong with a model call: %s", async (field, [model, request]) => {
  const ctx = bareContext();
  await expect(ctx.llm(odd(model), odd(request))).rejects.toThrow(refusal(field));
  expect(() => ctx.emit(odd("working"))).toThrow(refusal("event"));
});

test.each<[string, object]>([
  // Nothing here would enforce it.
  ["bareContext.executionBudget", { executionBudget: { maxTurns: 1 } }],
  ["bareContext.permissions", { permissions: { check: () => ({ allow: false, reason: "no" }) } }],
  ["bareContext.hooks", { hooks: {} }],
  ["bareContext.validator", { validator: {} }],
  ["bareContext.clock", { clock: {} }],
  ["bareContext.ids", { ids: () => "id" }],
  ["bareContext.onEvent", { onEvent: [] }],
])("R19: a bare context refuses what it would not heed: %s", (field, options) => {
  expect(() => bareContext(options)).toThrow(refusal(field));
});
