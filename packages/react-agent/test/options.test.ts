import { describe, expect, test } from "vitest";
import { defineTool, InvalidValueError, type Ledger, NO_HOOKS, type Pipeline } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, asks, run } from "./support.ts";

const model = scriptedModel(["x"]);
/** As somebody without a compiler would write it. */
const make = (options: object): ReActAgent =>
  Reflect.construct(ReActAgent, [{ name: "a", model, ...options }]);

describe("a bad option is refused at once, by name", () => {
  test.each([
    [
      "instruction",
      { instruction: "x" },
      /ReActAgent\.instruction is "x"; expected no field of that name; known fields: name/,
    ],
    ["maxStep", { maxStep: 3 }, /ReActAgent\.maxStep /],
    ["name", { name: "" }, /^ReActAgent\.name is ""/],
    ["no name", { name: undefined }, /^ReActAgent\.name is undefined/],
    ["name with a slash", { name: "a/b" }, /^ReActAgent\.name is "a\/b"; expected a name without '\/'/],
    [
      "model",
      { model: "gpt" },
      /ReActAgent\.model is "gpt"; expected an LLMClient .* model\("openai:gpt-5-mini"\) of @ravi\/sdk$/,
    ],
    ["instructions", { instructions: 7 }, /ReActAgent\.instructions is 7/],
    ["tools", { tools: add }, /ReActAgent\.tools .* an array of tools/],
    ["one of the tools", { tools: [add, {}] }, /ReActAgent\.tools\[1\]/],
    ["maxSteps 0", { maxSteps: 0 }, /ReActAgent\.maxSteps is 0/],
    ["maxSteps NaN", { maxSteps: Number.NaN }, /ReActAgent\.maxSteps is NaN/],
    ["toolConcurrency", { toolConcurrency: 0 }, /ReActAgent\.toolConcurrency is 0/],
    ["maxToolResultChars", { maxToolResultChars: 10 }, /ReActAgent\.maxToolResultChars is 10/],
    ["outputRetries", { outputRetries: -1 }, /ReActAgent\.outputRetries is -1/],
    ["hooks", { hooks: {} }, /ReActAgent\.hooks .* HookManager/],
    ["middleware as a list", { middleware: [] }, /ReActAgent\.middleware/],
    ["a level as a list", { middleware: { chat: [] } }, /ReActAgent\.middleware\.chat .* MiddlewarePipeline/],
    ["an unknown level", { middleware: { tool: undefined } }, /ReActAgent\.middleware\.tool/],
    ["executionBudget", { executionBudget: { maxToken: 5 } }, /executionBudget\.maxToken /],
    ["executionBudget as a number", { executionBudget: 5 }, /executionBudget is 5/],
    ["context", { context: {} }, /ReActAgent\.context .* getPromptWindow/],
    ["output", { output: "json" }, /ReActAgent\.output is "json"; expected a Standard Schema/],
    ["output without JSON Schema", { output: z.date() }, /ReActAgent\.output .* converted to JSON Schema/],
    ["settings", { settings: { temprature: 1 } }, /ReActAgent\.settings\.temprature/],
    ["settings with tools", { settings: { toolChoice: "required" } }, /ReActAgent\.settings\.toolChoice/],
    ["loopDetection", { loopDetection: { sameTool: { block: 1 } } }, /loopDetection\.sameTool\.block/],
  ])("%s", (_, options, message) => {
    expect(() => make(options)).toThrow(InvalidValueError);
    expect(() => make(options)).toThrow(message);
  });

  test("no options at all", () => {
    expect(() => Reflect.construct(ReActAgent, [])).toThrow(InvalidValueError);
  });

  test("an agent among the tools, with what makes a tool of it", () => {
    const other = new ReActAgent({ name: "other", model });
    // @ts-expect-error -- an agent is no tool
    const both = () => new ReActAgent({ name: "a", model, tools: [add, other] });
    expect(both).toThrow(
      /^ReActAgent\.tools\[1\] .* made with tool\(\) or defineTool\(\), .*agent\.asDelegate\(\)/,
    );
  });

  test("two tools of one name, also where one is an agent", () => {
    const other = new ReActAgent({ name: "add", model });
    expect(() => new ReActAgent({ name: "a", model, tools: [add, other.asDelegate()] })).toThrow(
      'ReActAgent.tools[1].name is "add"; expected a unique name; another tool already has this one',
    );
  });

  test("a tool whose arguments are no object, with what they are", () => {
    const shout = defineTool({
      name: "shout",
      description: "Shouts.",
      input: z.string(),
      execute: (text) => text,
    });
    expect(() => make({ tools: [shout] })).toThrow(
      /^tool shout: input .* an object schema, such as z\.object\(\{ … \}\), .*; this is one of a string$/,
    );
  });

  test("a tool whose schema has no JSON form", () => {
    const when = defineTool({
      name: "when",
      description: "",
      input: z.object({ at: z.date() }),
      execute: () => "",
    });
    expect(() => new ReActAgent({ name: "a", model, tools: [when] })).toThrow(/^tool when: input/);
  });
});

test("a text in place of a context and an inbox is refused with how an agent is run", () => {
  const agent = make({});
  for (const args of [["Hello"], []]) {
    expect(() => Reflect.apply(agent.run, agent, args)).toThrow(
      /^a\.run: inbox is undefined; expected an inbox: .* call run\(agent, input\) of @ravi\/sdk/,
    );
  }
});

describe("what a runtime reads off it", () => {
  test("hooks, pipelines, defaults, version and description", () => {
    const chat: Pipeline<never> = { isNoop: false, admit: () => {}, run: (_, core) => core() };
    const agent = new ReActAgent({
      name: "a",
      model,
      hooks: NO_HOOKS,
      middleware: { chat },
      executionBudget: { maxTokens: 50_000, maxTurns: 20 },
      version: "2",
      description: "Adds.",
    });
    expect(agent).toMatchObject({ id: "a", version: "2", description: "Adds.", pipelines: { chat } });
    expect(agent.hooks).toBe(NO_HOOKS);
    expect(agent.defaults).toEqual({ executionBudget: { maxTokens: 50_000, maxTurns: 20 } });
  });

  test("a ledger is handed on as it is", () => {
    const ledger: Ledger = {
      reserve: () => ({ settle: () => ({ warnings: [], exceeded: [] }), cancel: () => {} }),
      charge: () => ({ warnings: [], exceeded: [] }),
      child: () => ledger,
      remaining: () => ({ tokens: null, cost: null, turns: null, toolCalls: null }),
      used: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 },
      snapshot: () => ({}),
    };
    expect(new ReActAgent({ name: "a", model, executionBudget: ledger }).defaults?.executionBudget).toBe(
      ledger,
    );
  });

  test("nothing is said where nothing was given", () => {
    const { hooks, pipelines, defaults, output, version } = new ReActAgent({ name: "a", model });
    expect([hooks, pipelines, defaults, output, version]).toEqual(Array(5).fill(undefined));
  });

  test("a list of tools that is changed afterwards changes nothing", async () => {
    const tools = [add];
    const asking = scriptedModel([asks("add", { a: 1, b: 1 }), "2"]);
    const agent = new ReActAgent({ name: "a", model: asking, tools });
    tools.length = 0;
    const { ctx } = await run(agent);
    expect(ctx.window()[2]).toMatchObject({ role: "tool", content: "2" });
  });
});
