import { describe, expect, test } from "vitest";
import { SelfRefine } from "@ravi/architectures";
import { asked, broke, run, says, told, usageOf } from "../support.ts";

const NO = '{"satisfied": false, "feedback": "too long"}';
const YES = 'Here you go:\n```json\n{"satisfied": true, "feedback": ""}\n```';

describe("J10: SelfRefine", () => {
  test.each(["refused", "filtered"] as const)(
    "a critique that was %s is no criticism: the draft stands",
    async (finishReason) => {
      const { result, model, events } = await run(new SelfRefine(), [
        "a draft",
        { text: "I cannot criticise this.", finishReason },
      ]);
      expect(result).toEqual({ status: "completed", output: "a draft", stopReason: "done" });
      expect(model.calls).toHaveLength(2);
      expect(told(events, "selfRefine.kept")).toEqual([{ round: 1, because: finishReason }]);
    },
  );

  test("stops as soon as there is nothing to criticise", async () => {
    const { result, model, events } = await run(new SelfRefine(), ["one", NO, "two", YES]);
    expect(result).toEqual({ status: "completed", output: "two", stopReason: "done" });
    expect(model.calls).toHaveLength(4);
    expect(asked(model.calls[2]?.request)).toContain("too long");
    expect(told(events, "selfRefine.critique")).toEqual([
      { round: 1, satisfied: false },
      { round: 2, satisfied: true },
    ]);
  });

  test("makes 1 + 2 × 3 calls at the most, and the last draft stands", async () => {
    const { result, session, model } = await run(new SelfRefine(), [
      says("1"),
      says(NO),
      says("2"),
      says(NO),
      says("3"),
      says(NO),
      says("4"),
    ]);
    expect(result).toMatchObject({ status: "completed", output: "4" });
    expect(model.calls).toHaveLength(1 + 2 * 3);
    expect(session.metadata["selfRefine"]).toEqual({ rounds: 3, satisfied: false });
    expect(session.cumulativeUsage).toEqual(usageOf(model));
  });

  test("criticism that is no JSON is criticism all the same", async () => {
    const { model } = await run(new SelfRefine({ maxRounds: 1 }), ["one", "I do not like the tone.", "two"]);
    expect(asked(model.calls[2]?.request)).toContain("I do not like the tone.");
  });

  test("criticism that begins like a yes is criticism", async () => {
    const { session } = await run(new SelfRefine({ maxRounds: 1 }), [
      "one",
      "Complete\nrewrite needed",
      "two",
    ]);
    expect(session.metadata["selfRefine"]).toEqual({ rounds: 1, satisfied: false });
    expect(session.output).toBe("two");
  });

  test("a refinement that was cut off does not replace a whole draft", async () => {
    const { result } = await run(new SelfRefine(), ["one", NO, { text: "tw", finishReason: "length" }]);
    expect(result).toEqual({ status: "completed", output: "one", stopReason: "done" });
  });

  test("a draft that was refused is not refined, and not called a success", async () => {
    const { result, model } = await run(new SelfRefine(), [{ text: "I cannot", finishReason: "refused" }]);
    expect(result).toEqual({ status: "partial", output: "I cannot", stopReason: "refused" });
    expect(model.calls).toHaveLength(1);
  });

  test.each([
    [1, "draft 0"],
    [2, "draft 0"],
    [3, "draft 2"],
    [4, "draft 2"],
  ])(
    "when the money ends after %i calls, the best draft so far is a partial result",
    async (after, output) => {
      const script = broke(
        (request, call) => (asked(request).includes("Criticise") ? NO : `draft ${call}`),
        after,
      );
      const { result } = await run(new SelfRefine(), script);
      expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
    },
  );

  test("a critic who says nothing is not paid for again, and neither is a draft that heeds nothing", async () => {
    const { result, model, events } = await run(new SelfRefine(), [
      "a draft",
      { text: "", finishReason: "filtered" },
    ]);
    expect(result).toEqual({ status: "completed", output: "a draft", stopReason: "done" });
    expect(model.calls).toHaveLength(2);
    expect(told(events, "selfRefine.kept")).toEqual([{ round: 1, because: "filtered" }]);
  });
});
