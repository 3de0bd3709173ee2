import { describe, expect, test } from "vitest";
import { Blackboard } from "@ravi/architectures";
import { solutionIn } from "../../src/strategies/blackboard.ts";
import { asked, broke, run, says, told, usageOf, worker } from "../support.ts";

describe("J10: Blackboard", () => {
  test("without a coordinator they write in turn, each seeing the board, until one has the solution", async () => {
    const experts = { a: worker("a", [says("x is 3")]), b: worker("b", [says("SOLUTION: 3 apples")]) };
    const { result, session, model } = await run(new Blackboard({ experts }), []);
    expect(result).toEqual({ status: "completed", output: "3 apples", stopReason: "done" });
    expect(asked(experts.b.model.calls[0]?.request)).toContain("[a] x is 3");
    expect(session.cumulativeUsage).toEqual(usageOf(model, experts.a.model, experts.b.model));
  });

  test("when a whole circle of them has nothing to add, the answer comes from the board", async () => {
    const experts = { a: worker("a", ["x is 3", "PASS"]), b: worker("b", ["Pass."]) };
    const { result, model } = await run(new Blackboard({ experts }), ["three"]);
    expect(result).toEqual({ status: "completed", output: "three", stopReason: "done" });
    expect(asked(model.calls[0]?.request)).toContain("[a] x is 3");
  });

  test("a coordinator says who writes next, and when it is enough", async () => {
    const experts = { a: worker("a", []), b: worker("b", ["y is 4"]) };
    const { result, events } = await run(new Blackboard({ experts, coordinator: true }), [
      '{"next": "b"}',
      '{"done": true}',
      "four",
    ]);
    expect(result).toMatchObject({ status: "completed", output: "four" });
    expect(told(events, "blackboard.next")).toMatchObject([{ name: "b", by: "coordinator" }, { done: true }]);
  });

  test("what the coordinator says illegibly is decided by turn", async () => {
    const experts = { a: worker("a", ["SOLUTION: 1"]), b: worker("b", []) };
    const { result, events } = await run(new Blackboard({ experts, coordinator: true }), ["whoever likes"]);
    expect(result.output).toBe("1");
    expect(told(events, "blackboard.next")).toMatchObject([{ name: "a", by: "turn" }]);
  });

  test("10 rounds at the most: 10 × (1 + 1) + 1 calls; an unfinished board is a partial result", async () => {
    const experts = { a: worker("a", () => says("and another thing")) };
    const { result, model, session } = await run(new Blackboard({ experts, coordinator: true }), (request) =>
      says(asked(request).includes("Who should write next") ? '{"next": "a"}' : "so far"),
    );
    expect(result).toEqual({ status: "partial", output: "so far", stopReason: "steps" });
    expect(model.calls.length + experts.a.model.calls.length).toBe(10 * (1 + 1) + 1);
    expect(session.cumulativeUsage).toEqual(usageOf(model, experts.a.model));
  });

  test("one who passes again and again is not a whole circle of them", async () => {
    const experts = { a: worker("a", ["x is 3"]), b: worker("b", () => "PASS") };
    const next = ["a", "b", "b", "b"];
    const { result, events } = await run(
      new Blackboard({ experts, coordinator: true, maxRounds: 4 }),
      (request) => (asked(request).includes("Who should write next") ? (next.shift() ?? "") : "so far"),
    );
    expect(told(events, "blackboard.next")).toHaveLength(4);
    expect(result).toEqual({ status: "partial", output: "so far", stopReason: "steps" });
  });

  test("an expert who fails, or was cut off, is not taken for one who solved it", async () => {
    const experts = {
      a: worker("a", () => new Error("ill")),
      b: worker("b", [{ text: "SOLUTION: hal", finishReason: "length" }, "PASS"]),
    };
    const { result, events, model } = await run(new Blackboard({ experts, maxRounds: 4 }), [
      "half an answer",
    ]);
    // A circle of whom one has failed has not said that nothing is to be added.
    expect(result).toEqual({ status: "partial", output: "half an answer", stopReason: "steps" });
    expect(told(events, "blackboard.failed")).toHaveLength(2);
    expect(asked(model.calls[0]?.request)).toContain("(only a part, cut off: length)");
  });

  test("what is no PASS and no SOLUTION in another script is a contribution", async () => {
    const experts = { a: worker("a", ["не pass", "нет solution: x", "PASS"]) };
    const { result, model } = await run(new Blackboard({ experts }), ["done"]);
    expect(result.status).toBe("completed");
    expect(asked(model.calls[0]?.request)).toContain("[a] не pass\n[a] нет solution: x");
  });

  test.each([
    ["I see no final answer yet.\nSolution: unknown, PASS", undefined],
    ["SOLUTION: not yet known", undefined],
    ["SOLUTION: (pending)", undefined],
    ["SOLUTION: I have none. PASS.", undefined],
    ["We add them up.\n**Solution:** 42", "42"],
    ["SOLUTION: No, they all pass", "No, they all pass"],
  ])("%j is solved: %j", (text, expected) => {
    expect(solutionIn(text)).toBe(expected);
  });

  test.each([
    ["PASS", true],
    ["**PASS**.", true],
    ["PASS. I have nothing to add.", true],
    ["PASS - nothing new from me", true],
    ["PASS: there is no more to say", true],
    ["**PASS:** nothing further to add to the board at this point.", true],
    ["PASS (no more ideas)", true],
    ["PASS. Nothing else!", true],
    ["PASS: nothing", true],
    ["PASS: nothing to fix in the code", false],
    ["PASS: all tests are green", false],
    ["PASS: nothing is wrong with the code; the outage came from the DNS entry.", false],
    ["PASS: nothing is wrong with the code", false],
    ["Pass - no further tests fail. Root cause: DNS.", false],
    ["PASS. Nothing to add. But the sum is 7.", false],
    ["PASS: nothing to add from me but the sum is 7", false],
    ["PASS: nothing to add from me but the sum is wrong", false],
    ["PASS: nothing new, except that the sum is 7", false],
    ["PASS. Nothing to add\nfor now the sum is enough", false],
    ["Pass nothing on to the guests", false],
    ["PASS. Nothing to add.\nBut the sum is 7.", false],
  ])("an expert who writes %j passes: %s", async (text, passes) => {
    const experts = { a: worker("a", ["x is 3", text]) };
    const { events } = await run(new Blackboard({ experts, maxRounds: 3 }), ["so far"]);
    expect(told(events, "blackboard.next")).toHaveLength(passes ? 2 : 3);
  });

  test("nothing on the board is no success", async () => {
    const experts = { a: worker("a", () => "PASS") };
    const { result } = await run(new Blackboard({ experts }), ["I made it up"]);
    expect(result).toEqual({ status: "partial", output: "I made it up", stopReason: "steps" });
  });

  test.each([
    [0, "landed from: the task"],
    [1, "landed from: What was found so far:\n\n[a] fact"],
  ])("when the money ends after %i calls, the last turn answers from the board", async (after, output) => {
    const experts = { a: worker("a", () => "fact") };
    const script = broke(() => '{"next": "a"}', after);
    const { result } = await run(new Blackboard({ experts, coordinator: true }), script);
    expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
  });
});
