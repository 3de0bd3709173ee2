import { describe, expect, test, vi } from "vitest";
import { BudgetExhaustedError, defineTool, NO_USAGE } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { type Answer, scriptedModel, virtualClock } from "@ravi/testing";
import * as z from "zod";
import { dynamicHiring } from "../src/team/helpers.ts";
import { agent, hands, lead, toldIn } from "./support.ts";

const count = defineTool({
  name: "count",
  description: "Counts the letters of a text.",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text.length,
});
const erase = defineTool({ name: "erase", description: "", input: z.object({}), execute: () => "gone" });

const hires = (...helpers: readonly object[]): Answer => ({
  toolCalls: helpers.map((helper) => ({
    name: "hire_helper",
    arguments: { name: "counter", instructions: "You count.", task: "Count Bern.", ...helper },
  })),
});

describe("dynamic hiring", () => {
  test("is off unless it is switched on", async () => {
    const { told } = await lead([hires({}), "ok"], [{ agent: agent("a") }]);
    expect(told[0]?.text).toMatch(/unknown tool "hire_helper"/);
  });

  test("a helper's raw JSON Schemas are checked by the orchestrator's validator", async () => {
    const raw = defineTool({ name: "raw", description: "", input: { type: "object" }, execute: () => "ran" });
    const model = scriptedModel([{ toolCalls: [{ name: "raw", arguments: {} }] }, "Done."]);
    const { told } = await lead([hires({ tools: ["raw"] }), "ok"], [], {
      dynamicHiring: { tools: [raw], model },
      validator: () => [],
    });
    expect(told).toEqual([{ text: "Done.", isError: false }]);
    expect(model.calls[1]?.request.messages.at(-1)).toMatchObject({ content: "ran" });
  });

  test("the model defines a helper, which works with the tools it was given", async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: "count", arguments: { text: "Bern" } }] },
      "It has 4 letters.",
    ]);
    const { result, told, events } = await lead([hires({ tools: ["count"] }), "Four."], [], {
      dynamicHiring: { tools: [count, erase], model },
    });
    expect(result.output).toBe("Four.");
    expect(told).toEqual([{ text: "It has 4 letters.", isError: false }]);
    expect(model.calls[0]?.request).toMatchObject({
      messages: [
        { role: "system", content: "You count." },
        { role: "user", content: "Count Bern." },
      ],
      tools: [{ name: "count" }],
    });
    expect(events.map(({ event }) => event)).toContainEqual({
      type: "handoff",
      to: "helper:counter",
      task: "Count Bern.",
    });
  });

  test("without tools it has none, and it can hire nobody", async () => {
    const model = scriptedModel([hands(["a", "x"]), "alone"]);
    await lead([hires({}), "ok"], [{ agent: agent("a") }], { dynamicHiring: { tools: [count], model } });
    expect(model.calls[0]?.request.tools).toBeUndefined();
  });

  test.each([
    [
      "a tool that is not on the list",
      { tools: ["shell"] },
      /a helper may not have the tool "shell"; allowed tools: count/,
    ],
    ["no task", { task: "" }, /task: expected a non-empty string/],
    ["no instructions", { instructions: " " }, /instructions: expected a non-empty string/],
    ["a name of signs alone", { name: "??" }, /name: expected a short name/],
    ["a task that is no text", { task: 5 }, /task: expected a non-empty string/],
    ["a name that is no text", { name: 5 }, /name: expected a short name/],
    ["a field too many", { budget: 100 }, /budget: unknown field/],
    ["tools as a text", { tools: "count" }, /tools: expected an array/],
  ])("%s is an error for the model, and nobody is hired", async (_, helper, problem) => {
    const { told, events } = await lead([hires(helper), "ok"], [], { dynamicHiring: { tools: [count] } });
    expect(told).toEqual([{ text: expect.stringMatching(problem), isError: true }]);
    expect(events.some(({ event }) => event.type === "handoff")).toBe(false);
  });

  test("arguments that nobody has checked are refused with the field that is wrong", () => {
    const { tool } = dynamicHiring("hiring", {}, { model: scriptedModel([]) });
    expect(() => tool.hire({ name: "??" })).toThrow(
      "hire_helper is an object; expected valid arguments (name: expected a short name with letters or digits)",
    );
    for (const args of [null, "count", ["count"]])
      expect(() => tool.hire(args as never)).toThrow(
        /expected an object \{ name, instructions, tools, task \}/,
      );
  });

  test("no more than maxHelpers of a run, also within one turn; who was refused for bad arguments does not count", async () => {
    const model = scriptedModel(() => "done");
    const script = [hires({ task: "" }, {}, {}), hires({}, {}), "ok"];
    const { told } = await lead(script, [], { dynamicHiring: { model, maxHelpers: 3 } });
    expect(told.map(({ isError }) => isError)).toEqual([true, false, false, false, true]);
    expect(told.at(-1)?.text).toMatch(/^error: no more helpers can be hired: the limit of 3 is reached/);
  });

  test("R16: by default five helpers may be hired, each for twenty model calls", async () => {
    const calls = hires({}, {}, {}, {}, {}, {});
    const { told } = await lead([calls, "ok"], [], { dynamicHiring: { model: scriptedModel(() => "done") } });
    expect(told.map(({ isError }) => isError)).toEqual([false, false, false, false, false, true]);
    expect(told[5]?.text).toContain("the limit of 5 is reached");

    const texts = Array.from({ length: 30 }, (_, n) => "x".repeat(n));
    const restless = scriptedModel(({ tools }, n) =>
      tools === undefined
        ? "cut off"
        : { toolCalls: [{ name: "count", arguments: { text: texts[n] ?? "" } }] },
    );
    await lead([hires({ tools: ["count"] }), "ok"], [], {
      dynamicHiring: { model: restless, tools: [count] },
    });
    expect(restless.calls.filter(({ request }) => request.tools !== undefined)).toHaveLength(20);
  });

  test("a helper that was denied a slot does not count, so another may be hired later", async () => {
    const model = scriptedModel([hires({}), hires({}), hires({}), "ok"]);
    const orchestrator = new OrchestratorAgent({
      name: "lead",
      model,
      dynamicHiring: { model: scriptedModel(() => "done"), maxHelpers: 1 },
    });
    const ctx = bareContext({ clock: virtualClock() });
    const error = new BudgetExhaustedError({ dimension: "agents", used: 1, limit: 1, scope: "lead" });
    vi.spyOn(ctx, "batch").mockResolvedValueOnce([{ status: "denied", error, usage: NO_USAGE, costUsd: 0 }]);
    await orchestrator.run(ctx, ctx.inbox("go"));
    expect(toldIn(ctx.window()).map(({ text }) => text)).toEqual([
      expect.stringContaining("helper:counter was not hired"),
      "done",
      expect.stringContaining("no more helpers can be hired"),
    ]);
  });

  test("a helper that goes on and on is cut off at its steps, and that is no success", async () => {
    const model = scriptedModel((_, call) =>
      call < 2 ? { toolCalls: [{ name: "count", arguments: { text: "x".repeat(call) } }] } : "so far: 1",
    );
    const { told } = await lead([hires({ tools: ["count"] }), "ok"], [], {
      dynamicHiring: { tools: [count], model, maxSteps: 2 },
    });
    expect(told).toEqual([
      {
        text: "error: helper:counter was cut off before it finished (it reached its maximum number of steps). Its result so far: so far: 1",
        isError: true,
      },
    ]);
  });
});
