import { describe, expect, expectTypeOf, test } from "vitest";
import { type DelegateTool, type HireLeaf, InvalidValueError, Priority } from "@ravi/kernel";
import { toolSpec } from "@ravi/kernel/loop";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { asks, listening, run } from "./support.ts";

const researcher = (script: Parameters<typeof scriptedModel>[0] = ["Bern has 146,000 people."]) =>
  new ReActAgent({ name: "researcher", model: scriptedModel(script), description: "Finds facts." });

describe("asDelegate", () => {
  test("is a hire on the terms given, with the result's type", () => {
    const agent = new ReActAgent({
      name: "r",
      model: scriptedModel([]),
      output: z.object({ n: z.number() }),
    });
    const delegate = agent.asDelegate({
      priority: Priority.HIGH,
      executionBudget: { maxTurns: 3 },
      timeoutS: 60,
    });
    expectTypeOf(delegate).toEqualTypeOf<DelegateTool<{ n: number }>>();
    const leaf = delegate.hire({ task: "count" });
    expectTypeOf(leaf).toEqualTypeOf<HireLeaf<{ n: number }>>();
    expect(leaf).toEqual({
      kind: "hire",
      agent,
      input: "count",
      priority: Priority.HIGH,
      executionBudget: { maxTurns: 3 },
      timeoutS: 60,
    });
  });

  test("says what it is to the model", () => {
    expect(toolSpec(researcher().asDelegate())).toMatchObject({
      name: "researcher",
      description: "Finds facts.",
      parameters: { type: "object", required: ["task"], additionalProperties: false },
    });
    expect(toolSpec(researcher().asDelegate({ name: "ask", description: "Asks." }))).toMatchObject({
      name: "ask",
      description: "Asks.",
    });
  });

  test("a name that no provider accepts, and a misspelt term, are refused", () => {
    const agent = new ReActAgent({ name: "web researcher", model: scriptedModel([]) });
    expect(() => agent.asDelegate()).toThrow(/tool name is "web researcher"/);
    expect(agent.asDelegate({ name: "web_researcher" }).name).toBe("web_researcher");
    const misspelt: object = { name: "w", prioritty: 1 };
    expect(() => agent.asDelegate(misspelt)).toThrow(/asDelegate\.prioritty/);
    expect(() => agent.asDelegate({ name: "w" }).hire({ tsk: "x" })).toThrow(InvalidValueError);
  });

  test.each([
    ["timeoutS", -5],
    ["priority", 3],
    ["retention", "all"],
    ["onTimeout", "kill"],
    ["onPreempt", "die"],
    ["onFull", "wait"],
    ["executionBudget", { turns: 5 }],
    ["description", 5],
  ])("a mistake in its terms is found when it is made: %s", (term, value) => {
    const make = () => researcher().asDelegate({ [term]: value });
    expect(make).toThrow(InvalidValueError);
    expect(make).toThrow(term);
  });

  test("a lead hands a task over and gets the answer; it is told as an event and as a hook", async () => {
    const model = scriptedModel([asks("researcher", { task: "How many live in Bern?" }), "146,000"]);
    const { hooks, heard } = listening();
    const lead = new ReActAgent({ name: "lead", model, tools: [researcher().asDelegate()] });
    const { result, events, ctx } = await run(lead, "Bern?", { hooks });
    expect(result.output).toBe("146,000");
    expect(ctx.window().at(-2)).toMatchObject({ role: "tool", content: "Bern has 146,000 people." });
    expect(events).toContainEqual({ type: "handoff", to: "researcher", task: "How many live in Bern?" });
    expect(heard.filter(([event]) => event === "handoff")).toMatchObject([
      ["handoff", { agentName: "agent", to: "researcher", task: "How many live in Bern?" }],
    ]);
  });

  test.each([
    ["no object", '"do it"', /expected an object/],
    ["no task", "{}", /task: expected a non-empty string/],
    ["an empty task", '{"task":" "}', /task: expected a non-empty string/],
    ["a field too many", '{"task":"x","until":"noon"}', /until: unknown field; put everything into task/],
    ["a prototype", '{"task":"x","__proto__":{}}', /__proto__/],
  ])("%s is an error result; nobody is hired", async (_, args, problem) => {
    const model = scriptedModel([asks("researcher", args), "done"]);
    const child = scriptedModel([]);
    const tools = [new ReActAgent({ name: "researcher", model: child }).asDelegate()];
    const { ctx, events } = await run(new ReActAgent({ name: "lead", model, tools }));
    expect(ctx.window()[2]).toMatchObject({ isError: true, content: expect.stringMatching(problem) });
    expect(child.calls).toEqual([]);
    expect(events.some(({ type }) => type === "handoff")).toBe(false);
  });

  test("a child that was cut off is never a success to its parent", async () => {
    const model = scriptedModel([asks("researcher", { task: "x" }), "done"]);
    const child = researcher([{ text: "Bern has", finishReason: "length" }]);
    const { ctx } = await run(new ReActAgent({ name: "lead", model, tools: [child.asDelegate()] }));
    expect(ctx.window()[2]).toMatchObject({
      isError: true,
      content: "error: only a partial result (length): Bern has",
    });
  });
});
