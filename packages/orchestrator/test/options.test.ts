import { describe, expect, expectTypeOf, test } from "vitest";
import { type Agent, defineTool, type Hooks, InvalidValueError, NO_HOOKS, Priority } from "@ravi/kernel";
import { OrchestratorAgent, type OrchestratorAgentOptions } from "@ravi/orchestrator";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { agent, hands, lead } from "./support.ts";

const model = scriptedModel([]);
/** As somebody without a compiler would write it. */
const make = (options: object): OrchestratorAgent =>
  Reflect.construct(OrchestratorAgent, [
    { name: "lead", model, subAgents: [{ agent: agent("a") }], ...options },
  ]);

describe("a bad option is refused at once, by name", () => {
  test.each([
    [
      "a misspelt one",
      { subAgent: [] },
      /OrchestratorAgent\.subAgent .* known fields: subAgents, spawnBudget/,
    ],
    [
      "a misspelt one instead of the sub-agents",
      { subAgents: undefined, members: [agent("a")] },
      /OrchestratorAgent\.members .* known fields: subAgents/,
    ],
    ["nobody to hand work to", { subAgents: [] }, /OrchestratorAgent\.subAgents .* at least one sub-agent/],
    ["no list", { subAgents: { agent: agent("a") } }, /OrchestratorAgent\.subAgents .* an array/],
    [
      "an agent without its config",
      { subAgents: [agent("a")] },
      /subAgents\[0\] is an object; expected \{ agent: … \}/,
    ],
    ["a hole", { subAgents: Array(2) }, /subAgents\[0\] is undefined; expected an object/],
    ["no agent", { subAgents: [{ agent: "a" }] }, /subAgents\[0\]\.agent is "a"; expected an agent/],
    [
      "no agent, under a name",
      { subAgents: [{ name: "a", description: "" }] },
      /subAgents\[0\]\.agent is und/,
    ],
    ["no id", { subAgents: [{ agent: { ...agent("a"), id: 7 } }] }, /subAgents\[0\]\.agent .* an agent/],
    ["a name", { subAgents: [{ agent: agent("a"), name: 5 }] }, /subAgents\[0\]\.name is 5/],
    ["a description", { subAgents: [{ agent: agent("a"), description: 5 }] }, /\[0\]\.description is 5/],
    ["a misspelt term", { subAgents: [{ agent: agent("a"), askTimeout: 3 }] }, /subAgents\[0\]\.askTimeout /],
    [
      "askTimeoutS",
      { subAgents: [{ agent: agent("a"), askTimeoutS: 0 }] },
      /subAgents\[0\]\.askTimeoutS is 0/,
    ],
    [
      "askTimeoutS without an end",
      { subAgents: [{ agent: agent("a"), askTimeoutS: Infinity }] },
      /askTimeoutS is Infinity; expected .* null for no limit/,
    ],
    ["priority", { subAgents: [{ agent: agent("a"), priority: 3 }] }, /subAgents\[0\]\.priority is 3/],
    ["onFull", { subAgents: [{ agent: agent("a"), onFull: "wait" }] }, /onFull is "wait".*"queue"/],
    ["onTimeout", { subAgents: [{ agent: agent("a"), onTimeout: "kill" }] }, /onTimeout is "kill"/],
    ["onPreempt", { subAgents: [{ agent: agent("a"), onPreempt: "die" }] }, /onPreempt is "die"/],
    ["retention", { subAgents: [{ agent: agent("a"), retention: "all" }] }, /retention is "all"/],
    ["a budget", { subAgents: [{ agent: agent("a"), executionBudget: { maxToken: 1 } }] }, /maxToken/],
    ["spawnBudget", { spawnBudget: { maxAgent: 3 } }, /spawnBudget\.maxAgent/],
    ["retryPolicy", { retryPolicy: 3 }, /OrchestratorAgent\.retryPolicy is 3; expected a RestartPolicy/],
    ["half a retryPolicy", { retryPolicy: { shouldRetry: () => true } }, /retryPolicy .* delayMs, reset/],
    ["dynamicHiring that is null", { dynamicHiring: null }, /OrchestratorAgent\.dynamicHiring is null/],
    ["dynamicHiring that is false", { dynamicHiring: false }, /OrchestratorAgent\.dynamicHiring is false/],
    ["tools", { tools: {} }, /OrchestratorAgent\.tools .* an array of tools/],
    ["maxSteps", { maxSteps: 0 }, /OrchestratorAgent\.maxSteps is 0/],
    ["dynamicHiring", { dynamicHiring: { tool: [] } }, /OrchestratorAgent\.dynamicHiring\.tool /],
    ["maxHelpers", { dynamicHiring: { maxHelpers: 0 } }, /dynamicHiring\.maxHelpers is 0/],
    ["a helper's tool", { dynamicHiring: { tools: [{}] } }, /OrchestratorAgent\.dynamicHiring\.tools\[0\]/],
    ["a helper's model", { dynamicHiring: { model: "x" } }, /OrchestratorAgent\.dynamicHiring\.model is "x"/],
  ])("%s", (_, options, message) => {
    expect(() => make(options)).toThrow(InvalidValueError);
    expect(() => make(options)).toThrow(message);
  });

  test("no options at all", () => {
    expect(() => Reflect.construct(OrchestratorAgent, [])).toThrow(InvalidValueError);
  });
});

describe("R16: the names of hand-offs", () => {
  const toolsOf = async (...names: string[]): Promise<string[]> => {
    const asked = scriptedModel(["done"]);
    await lead(
      [],
      names.map((name) => ({ agent: agent(name) })),
      { model: asked },
    );
    return asked.calls[0]?.request.tools?.map(({ name }) => name) ?? [];
  };

  test("are made safe for models", async () => {
    expect(await toolsOf("web researcher", "Zürich.expert", "x".repeat(80))).toEqual([
      "handoff_web_researcher",
      "handoff_Z_rich_expert",
      `handoff_${"x".repeat(56)}`,
    ]);
  });

  test("that clash are refused, and say how to part them", () => {
    const subAgents = [{ agent: agent("a b") }, { agent: agent("a_b") }];
    expect(() => make({ subAgents })).toThrow(
      /subAgents\[1\]\.name is "a_b"; .* its tool would be called handoff_a_b, like that of OrchestratorAgent\.subAgents\[0\]/,
    );
    expect(make({ subAgents: [{ agent: agent("a b") }, { agent: agent("a_b"), name: "second" }] }).id).toBe(
      "lead",
    );
  });

  test("that leave nothing a model could call are refused", () => {
    expect(() => make({ subAgents: [{ agent: agent("研究") }] })).toThrow(/letter or digit/);
    expect(make({ subAgents: [{ agent: agent("研究"), name: "research" }] }).id).toBe("lead");
  });

  test("that clash with a tool are refused", () => {
    const tool = defineTool({ name: "handoff_a", description: "", input: z.object({}), execute: () => "" });
    expect(() => make({ tools: [tool] })).toThrow(/OrchestratorAgent\.tools\[1\]\.name is "handoff_a"/);
  });

  test("the description is the config's, else the agent's, else one that says enough", async () => {
    const asked = scriptedModel(["done"]);
    const subAgents = [
      { agent: { ...agent("a"), description: "Finds facts." }, description: "Asks the archive." },
      { agent: { ...agent("b"), description: "Finds facts." } },
      { agent: agent("c") },
    ];
    await lead([], subAgents, { model: asked });
    expect(asked.calls[0]?.request.tools?.map(({ description }) => description)).toEqual([
      "Asks the archive.",
      "Hands a task to b: Finds facts.",
      "Hands a task to c and returns its answer.",
    ]);
  });
});

test("R16: a hand-off is a hire on the terms given, with 120 seconds to answer", async () => {
  const terms: object[] = [];
  const { ctx } = await lead(
    [hands(["a", "x"], ["b", "y"]), "ok"],
    [
      { agent: agent("a") },
      {
        agent: agent("b"),
        priority: Priority.HIGH,
        askTimeoutS: null,
        onFull: "queue",
        executionBudget: { maxTurns: 3 },
      },
    ],
    {
      hooks: NO_HOOKS,
    },
  );
  const orchestrator = make({
    subAgents: [
      { agent: agent("a") },
      { agent: agent("b"), priority: Priority.HIGH, askTimeoutS: null, onFull: "queue" },
    ],
    model: scriptedModel([hands(["a", "x"], ["b", "y"]), "ok"]),
  });
  ctx.batch = async (leaves) => {
    terms.push(...leaves);
    return [] as never;
  };
  await orchestrator.run(ctx, ctx.inbox("go"));
  expect(terms).toMatchObject([
    { kind: "hire", input: "x", timeoutS: 120 },
    { kind: "hire", input: "y", priority: Priority.HIGH, onFull: "queue" },
  ]);
  expect(terms[1]).not.toHaveProperty("timeoutS");
});

test("what a runtime reads off it", () => {
  const made = new OrchestratorAgent({
    name: "lead",
    model,
    subAgents: [{ agent: agent("a") }],
    spawnBudget: { maxAgents: 10 },
    executionBudget: { maxTurns: 5 },
    output: z.object({ n: z.number() }),
    version: "2",
    description: "Leads.",
  });
  expectTypeOf(made).toExtend<Agent<{ n: number }>>();
  expect(made).toMatchObject({ id: "lead", version: "2", description: "Leads." });
  expect(made.defaults).toMatchObject({ spawnBudget: { maxAgents: 10 }, executionBudget: { maxTurns: 5 } });
  expect(made.asDelegate().name).toBe("lead");
});

test("J4: a lead has what its options have of their class, or inherit", () => {
  const given = {
    name: "lead",
    model,
    subAgents: [{ agent: agent("a") }],
    executionBudget: { maxCostUsd: 1 },
    spawnBudget: { maxAgents: 2 },
  };
  class Options implements OrchestratorAgentOptions {
    readonly name = given.name;
    readonly model = model;
    readonly subAgents = given.subAgents;
    get hooks(): Hooks {
      return NO_HOOKS;
    }
    get executionBudget(): { readonly maxCostUsd: number } {
      return given.executionBudget;
    }
    get spawnBudget(): { readonly maxAgents: number } {
      return given.spawnBudget;
    }
  }
  for (const options of [new Options(), Object.create({ ...given, hooks: NO_HOOKS }) as Options]) {
    const { id, hooks, defaults } = new OrchestratorAgent(options);
    expect({ id, hooks, defaults }).toMatchObject({
      id: "lead",
      hooks: NO_HOOKS,
      defaults: { executionBudget: { maxCostUsd: 1 }, spawnBudget: { maxAgents: 2 } },
    });
  }
});
