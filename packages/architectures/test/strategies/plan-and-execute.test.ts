import { describe, expect, test } from "vitest";
import { PlanAndExecute } from "@ravi/architectures";
import { add, asked, broke, EACH, run, says, told, usageOf } from "../support.ts";

const plan = (steps: number): string =>
  JSON.stringify({ steps: Array.from({ length: steps }, (_, at) => ({ task: `do ${at + 1}` })) });

describe("J10: PlanAndExecute", () => {
  test("does its steps one after the other, each with tools, and answers from all of them", async () => {
    const { result, model, events } = await run(
      new PlanAndExecute(),
      [
        says("Sure!\n1. add the numbers\n2) tell the sum"),
        { toolCalls: [{ name: "add", arguments: { a: 2, b: 2 } }], usage: EACH },
        says("the sum is 4"),
        says("told"),
        says("4"),
      ],
      { tools: [add] },
    );
    expect(result).toEqual({ status: "completed", output: "4", stopReason: "done" });
    expect(told(events, "planAndExecute.plan")).toEqual([
      { steps: ["add the numbers", "tell the sum"], left: 0 },
    ]);
    expect(asked(model.calls[3]?.request)).toContain("the sum is 4");
    expect(asked(model.calls[4]?.request)).toContain("told");
  });

  test("makes 1 + 8 + 1 calls at the most, and says what was left out of a longer plan", async () => {
    const { result, model, session, events } = await run(new PlanAndExecute(), (request) =>
      says(asked(request).includes("Make a plan") ? plan(12) : "done"),
    );
    expect(result).toEqual({ status: "partial", output: "done", stopReason: "steps" });
    expect(model.calls).toHaveLength(1 + 8 + 1);
    expect(told(events, "planAndExecute.plan")).toMatchObject([{ left: 4 }]);
    expect(asked(model.calls[9]?.request)).toContain("(not done, the plan was too long) do 12");
    expect(session.cumulativeUsage).toEqual(usageOf(model));
  });

  test("a step that comes twice is done twice, and one that speaks of a list is no list", async () => {
    const turns = ["turn left", "go straight", "turn left"];
    const script = [JSON.stringify(turns), "left", "straight", "left", "there"];
    const { result, events } = await run(new PlanAndExecute(), script);
    expect(told(events, "planAndExecute.plan")).toEqual([{ steps: turns, left: 0 }]);
    expect(result.output).toBe("there");
    const text = "1. Look at item [0] of the list\n2. Compare it";
    const other = await run(new PlanAndExecute(), [text, "seen", "compared", "the same"]);
    expect(told(other.events, "planAndExecute.plan")).toEqual([
      { steps: ["Look at item [0] of the list", "Compare it"], left: 0 },
    ]);
  });

  test("a plan that cannot be read is told, and the task is done in one go", async () => {
    const { result, model, events } = await run(new PlanAndExecute(), [
      "No idea how to plan this.",
      "did it",
      "the answer",
    ]);
    expect(result.output).toBe("the answer");
    expect(model.calls).toHaveLength(3);
    expect(told(events, "planAndExecute.unreadable")).toHaveLength(1);
  });

  test("of a plan that was cut off by its length the last step is not done, and the answer is a part", async () => {
    const { result, model, events } = await run(new PlanAndExecute(), [
      { text: "1. make a copy\n2. delete all that", finishReason: "length" },
      "copied",
      "one copy",
    ]);
    expect(told(events, "planAndExecute.plan")).toEqual([{ steps: ["make a copy"], left: 0 }]);
    expect(asked(model.calls[2]?.request)).toContain("the plan was cut off");
    expect(result).toEqual({ status: "partial", output: "one copy", stopReason: "length" });
  });

  test("a plan that was cut off in its first step is none: the task is done in one go, and whole", async () => {
    const { result, events } = await run(new PlanAndExecute(), [
      { text: "1. delete all that", finishReason: "length" },
      "did it",
      "the answer",
    ]);
    expect(told(events, "planAndExecute.step")).toEqual([{ step: 1, task: "the task" }]);
    expect(result).toEqual({ status: "completed", output: "the answer", stopReason: "done" });
  });

  test("a step that was cut off is shown as that to whoever answers, and the answer is a part", async () => {
    const { result, model } = await run(new PlanAndExecute(), [
      "1. only step",
      { text: "half", finishReason: "length" },
      "answer",
    ]);
    expect(asked(model.calls[2]?.request)).toContain("(only a part, cut off: length) half");
    expect(result).toEqual({ status: "partial", output: "answer", stopReason: "length" });
  });

  test("an answer that was refused after a step was cut off says that it was refused", async () => {
    const { result } = await run(new PlanAndExecute(), [
      "1. only step",
      { text: "half", finishReason: "length" },
      { text: "no", finishReason: "refused" },
    ]);
    expect(result).toMatchObject({ status: "partial", stopReason: "refused" });
  });

  test.each([
    [0, "the task"],
    [1, "the task"],
    [2, "What was found so far:\n\n1. do 1\ndid 1"],
    [3, "What was found so far:\n\n1. do 1\ndid 1\n\n2. do 2\ndid 2"],
  ])(
    "when the money ends after %i calls, the last turn answers from the steps so far",
    async (after, from) => {
      const script = broke(
        (request, call) => (asked(request).includes("Make a plan") ? plan(2) : `did ${call}`),
        after,
      );
      const { result } = await run(new PlanAndExecute(), script);
      expect(result).toEqual({ status: "partial", output: `landed from: ${from}`, stopReason: "budget" });
    },
  );
});
