import { describe, expect, test } from "vitest";
import { InvalidValueError, NO_HOOKS, type Pipeline, Priority } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ConditionalFlow, InformationAgent, ParallelFlow, SequentialFlow } from "@ravi/flow";
import { readStep } from "../src/steps.ts";
import { done, says } from "./support.ts";

const a = says("a", "x");
type Constructor = new (options: never) => object;
/** As somebody without a compiler would write it. */
const make = (constructor: Constructor, options: object): object => Reflect.construct(constructor, [options]);

describe("a bad option is refused at once, by name", () => {
  test.each<[string, Constructor, object, RegExp]>([
    [
      "R25: an empty list",
      SequentialFlow,
      { steps: [] },
      /SequentialFlow\.steps .* a non-empty array of agents/,
    ],
    [
      "R25: an empty list",
      ParallelFlow,
      { branches: [] },
      /ParallelFlow\.branches .* a non-empty array of agents/,
    ],
    ["no list", SequentialFlow, { steps: a }, /SequentialFlow\.steps/],
    [
      "a list of holes",
      ParallelFlow,
      { branches: Object.assign([], { length: 3 }) },
      /ParallelFlow\.branches\[0\]/,
    ],
    ["no branch", ConditionalFlow, { if: () => true }, /ConditionalFlow\.whenTrue/],
    ["no predicate", ConditionalFlow, { if: true, whenTrue: a }, /ConditionalFlow\.if is true/],
    ["no agent", ParallelFlow, { branches: [{ agent: {} }] }, /ParallelFlow\.branches\[0\]\.agent/],
    [
      "an agent whose id is a number",
      SequentialFlow,
      { steps: [{ id: 5, run: a.run }] },
      /SequentialFlow\.steps\[0\] is an object; expected an agent: an object with an id/,
    ],
    [
      "a misspelt field",
      ParallelFlow,
      { branch: [a] },
      /ParallelFlow\.branch .* known fields: branches, combine/,
    ],
    ["a misspelt term", SequentialFlow, { steps: [{ agent: a, timeout: 3 }] }, /steps\[0\]\.timeout /],
    ["timeoutS", SequentialFlow, { steps: [{ agent: a, timeoutS: -1 }] }, /steps\[0\]\.timeoutS is -1/],
    ["no time", SequentialFlow, { steps: [{ agent: a, timeoutS: 0 }] }, /steps\[0\]\.timeoutS is 0/],
    ["endless time", ParallelFlow, { branches: [{ agent: a, timeoutS: Infinity }] }, /timeoutS is Infinity/],
    ["priority", SequentialFlow, { steps: [{ agent: a, priority: 3 }] }, /steps\[0\]\.priority is 3/],
    ["retention", SequentialFlow, { steps: [{ agent: a, retention: "x" }] }, /steps\[0\]\.retention/],
    ["a step's name", SequentialFlow, { steps: [{ agent: a, name: 5 }] }, /steps\[0\]\.name is 5/],
    ["onFull", SequentialFlow, { steps: [{ agent: a, onFull: "queu" }] }, /steps\[0\]\.onFull is "queu"/],
    ["onPreempt", SequentialFlow, { steps: [{ agent: a, onPreempt: 5 }] }, /steps\[0\]\.onPreempt is 5/],
    ["a step's budget", SequentialFlow, { steps: [{ agent: a, executionBudget: { max: 1 } }] }, /max/],
    ["combine", ParallelFlow, { branches: [a], combine: "best" }, /ParallelFlow\.combine is "best"/],
    ["accumulate", SequentialFlow, { steps: [a], accumulate: "all" }, /SequentialFlow\.accumulate is "all"/],
    ["description", SequentialFlow, { steps: [a], description: 5 }, /SequentialFlow\.description is 5/],
    ["version", ParallelFlow, { branches: [a], version: 2 }, /ParallelFlow\.version is 2/],
    ["hooks", SequentialFlow, { steps: [a], hooks: {} }, /SequentialFlow\.hooks/],
    [
      "middleware",
      SequentialFlow,
      { steps: [a], middleware: { tool: 1 } },
      /SequentialFlow\.middleware\.tool/,
    ],
    ["a budget", SequentialFlow, { steps: [a], executionBudget: { maxToken: 1 } }, /maxToken/],
    ["spawnBudget", SequentialFlow, { steps: [a], spawnBudget: { agents: 1 } }, /spawnBudget\.agents/],
    ["its description", InformationAgent, { description: 5 }, /InformationAgent\.description is 5/],
    ["maxRuns", InformationAgent, { maxRuns: 0 }, /InformationAgent\.maxRuns is 0/],
  ])("%s", (_, constructor, options, message) => {
    expect(() => make(constructor, { name: "f", ...options })).toThrow(InvalidValueError);
    expect(() => make(constructor, { name: "f", ...options })).toThrow(message);
  });

  test("a name with a slash", () => {
    expect(() => new SequentialFlow({ name: "a/b", steps: [a] })).toThrow(/without '\/'/);
  });
});

test("a text in place of a context and an inbox is refused with how a flow is run", async () => {
  const flow = new SequentialFlow({ name: "tour", steps: [a] });
  await expect(Reflect.apply(flow.run, flow, ["Hello"])).rejects.toThrow(
    /^tour\.run: inbox is undefined; .* call run\(agent, input\) of @ravi\/sdk/,
  );
});

test("what a runtime reads off it", () => {
  const chat: Pipeline<never> = { isNoop: false, admit: () => {}, run: (_, core) => core() };
  const flow = new ParallelFlow({
    name: "f",
    branches: [a],
    description: "Asks all.",
    version: "2",
    hooks: NO_HOOKS,
    middleware: { chat },
    executionBudget: { maxTurns: 3 },
    spawnBudget: { maxAgents: 4 },
  });
  expect(flow).toMatchObject({
    id: "f",
    version: "2",
    description: "Asks all.",
    hooks: NO_HOOKS,
    pipelines: { chat },
    defaults: { executionBudget: { maxTurns: 3 }, spawnBudget: { maxAgents: 4 } },
  });
});

test("a flow always has defaults, also for the compiler, though they may be empty", () => {
  expect(Object.keys(new SequentialFlow({ name: "f", steps: [a] }).defaults)).toEqual([]);
});

test.each([
  ["its own", (terms: object): object => terms],
  ["inherited", (terms: object): object => Object.create(terms) as object],
])("a step's terms, %s, are those of its hire", async (_, inTheirWay) => {
  const leaves: object[] = [];
  const ctx = bareContext();
  ctx.batch = async (given: readonly object[]) => {
    leaves.push(...given);
    return [{ status: "completed", result: done("x") }] as never;
  };
  const step = { agent: a, priority: Priority.HIGH, timeoutS: 9, onFull: "queue", name: "first" } as const;
  const flow = new SequentialFlow({ name: "f", steps: [inTheirWay(step) as typeof step] });
  const { structured } = await flow.run(ctx, ctx.inbox("go"));
  expect(leaves).toEqual([
    { kind: "hire", agent: a, input: "go", priority: Priority.HIGH, timeoutS: 9, onFull: "queue" },
  ]);
  expect(structured).toEqual([{ name: "first", status: "completed", output: "x" }]);
});

test.each<[string, unknown]>([
  ["nothing", null],
  ["no events", { runId: "r" }],
  ["no run", { events: async function* () {} }],
])("T11: what cannot be watched is refused at once: %s", (_what, watched) => {
  expect(() => new InformationAgent().watch(watched as never)).toThrow(InvalidValueError);
});

test("R25: a step keeps to the terms that it inherits", () => {
  const terms = { agent: a, timeoutS: 5, executionBudget: { maxTokens: 7 } };
  const step = readStep("steps[0]", Object.create(terms) as typeof terms);
  expect(step.leaf("go")).toMatchObject({ agent: a, timeoutS: 5, executionBudget: { maxTokens: 7 } });
});
