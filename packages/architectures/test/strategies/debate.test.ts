import { describe, expect, test } from "vitest";
import { type Agent, AgentId, DeadlineExceededError } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { Debate } from "@ravi/architectures";
import { agreementOf, answerIn, candidatesOf, countVotes } from "../../src/strategies/agreement.ts";
import { asked, broke, run, says, told, usageOf, worker } from "../support.ts";

describe("J10: Debate", () => {
  test("ends early when the answers agree, without a vote", async () => {
    const { result, model, events } = await run(new Debate(), () => says("I think so.\nAnswer: forty-two"));
    expect(result).toEqual({ status: "completed", output: "forty-two", stopReason: "done" });
    expect(model.calls).toHaveLength(3);
    expect(told(events, "debate.round")).toEqual([{ round: 1, agreement: 1 }]);
  });

  test.each([
    ["17 of 20 words in common are 0.85, and enough", 17, 20, 1],
    ["16 of 19 are 0.84, and not enough", 16, 19, 2],
  ])("%s", async (_, common, all, rounds) => {
    const words = (count: number): string =>
      `Answer: ${Array.from({ length: count }, (__, n) => `w${n}`).join(" ")}`;
    const debaters = {
      a: worker("a", [words(common), words(common), "1"]),
      b: worker("b", [words(all), words(all), "1"]),
    };
    const { events } = await run(new Debate({ debaters }), []);
    expect(told(events, "debate.round")).toHaveLength(rounds);
  });

  test("two rounds, then a vote where there is no judge: n × (2 + 1) calls at the most", async () => {
    let n = 0;
    const { result, model, session, events } = await run(new Debate(), (request) => {
      const text = asked(request);
      if (text.includes("Which is the best?")) return says('{"vote": "2"}');
      return says(`Answer: ${["red", "green", "blue"][n++ % 3]}`);
    });
    expect(result.output).toBe("green");
    expect(model.calls).toHaveLength(3 * (2 + 1));
    expect(told(events, "debate.vote")).toEqual([{ votes: [2, 2, 2], winner: 2 }]);
    expect(session.cumulativeUsage).toEqual(usageOf(model));
    expect(asked(model.calls[3]?.request)).toContain("green");
  });

  test("a judge decides instead: n × 2 + 1 calls at the most", async () => {
    const debaters = {
      a: worker("a", [says("red"), says("red")]),
      b: worker("b", [says("blue"), says("blue")]),
    };
    const judge = worker("judge", [says("purple")]);
    const { result, session } = await run(new Debate({ debaters, judge }), []);
    expect(result.output).toBe("purple");
    expect(session.cumulativeUsage).toEqual(usageOf(debaters.a.model, debaters.b.model, judge.model));
    expect(session.cumulativeUsage.inputTokens).toBe(10 * (2 * 2 + 1));
  });

  test("a judge who fails is replaced by the vote", async () => {
    const debaters = { a: worker("a", ["red", "1"]), b: worker("b", ["blue", "1"]) };
    const judge = worker("judge", () => new Error("asleep"));
    const { result, events } = await run(new Debate({ debaters, judge, rounds: 1 }), []);
    expect(result.output).toBe("red");
    expect(told(events, "debate.noJudge")).toHaveLength(1);
  });

  test("a debater who fails is left out; when nobody is left, the debate has failed", async () => {
    const mute = (name: string) => worker(name, () => new Error("no voice"));
    const debaters = { a: mute("a"), b: worker("b", ["blue", "1"]) };
    const { result, events } = await run(new Debate({ debaters, rounds: 1 }), []);
    expect(result.output).toBe("blue");
    expect(told(events, "debate.failed")).toMatchObject([{ debater: 1 }]);
    await expect(run(new Debate({ debaters: { a: mute("a"), b: mute("b") } }), [])).rejects.toThrow(
      "no voice",
    );
  });

  test("each is shown who of the others said what, and all are shown where an answer begins that is a list", async () => {
    const debaters = {
      ann: worker("ann", ["Tea.\n\nAnswer: 1. tea\n2. milk", "Answer: 1. tea\n2. milk", "2"]),
      bob: worker("bob", ["Answer: beer", "Answer: beer", "2"]),
    };
    const { result } = await run(new Debate({ debaters }), []);
    expect(asked(debaters.bob.model.calls[1]?.request)).toContain("The others said:\n[ann] Tea.");
    expect(asked(debaters.ann.model.calls[2]?.request)).toContain(
      "Answer 1:\n1. tea\n2. milk\n\nAnswer 2:\nbeer",
    );
    expect(result.output).toBe("beer");
    const { model } = await run(
      new Debate({ stances: ["a cook", "a guest"] }),
      (_, call) => `Answer: ${call}`,
    );
    expect(asked(model.calls[2]?.request)).toContain("[a guest] Answer: 1");
  });

  test("a single debater agrees with nobody, however little agreement is asked for", async () => {
    const debaters = { a: worker("a", ["red", "blue"]), b: worker("b", () => new Error("no voice")) };
    const { result } = await run(new Debate({ debaters, agreement: 0 }), []);
    expect(result.output).toBe("blue");
  });

  test("nobody is paid for a vote on one answer", async () => {
    const debaters = { a: worker("a", ["red"]), b: worker("b", () => new Error("no voice")) };
    const { result, events } = await run(new Debate({ debaters, rounds: 1 }), []);
    expect(result).toEqual({ status: "completed", output: "red", stopReason: "done" });
    expect(told(events, "debate.vote")).toEqual([]);
    expect(debaters.a.model.calls).toHaveLength(1);
  });

  test("where nobody says anything, nobody is paid for a vote on nothing", async () => {
    const { result, model, events } = await run(new Debate({ rounds: 1 }), () => says(" "));
    expect(result).toMatchObject({ status: "partial", stopReason: "steps" });
    expect(model.calls).toHaveLength(3);
    expect(told(events, "debate.round")).toEqual([{ round: 1, agreement: 0 }]);
    const mute = (name: string) => worker(name, () => "");
    const judge = worker("judge", ["purple"]);
    await run(new Debate({ debaters: { a: mute("a"), b: mute("b") }, judge }), []);
    expect(judge.model.calls).toEqual([]);
  });

  test("votes that cannot be read are not counted, and the first among equals wins", () => {
    expect(countVotes([undefined, 1, 1, 0], 3)).toBe(1);
    expect(countVotes([2, 1], 3)).toBe(1);
    expect(countVotes([undefined, 7], 3)).toBe(0);
  });

  test("the same answer twice is one candidate, and what more have said comes first", () => {
    expect(candidatesOf(["red", "Blue!", "blue", "green"])).toEqual([1, 0, 3]);
    expect(candidatesOf([])).toEqual([]);
    expect(candidatesOf(["Ann beat Bob", "Bob beat Ann", "a draw", "Ann beat Bob."])).toEqual([0, 1, 2]);
  });

  test("without a legible vote, what more have said is the answer", async () => {
    const debaters = {
      a: worker("a", ["red", "hm"]),
      b: worker("b", ["blue", "well"]),
      c: worker("c", ["blue", "ah"]),
    };
    const { result, events } = await run(new Debate({ debaters, rounds: 1 }), []);
    expect(result.output).toBe("blue");
    expect(told(events, "debate.vote")).toEqual([{ votes: [null, null, null], winner: 1 }]);
  });

  test("when the time ends in the first round, the answer of whoever was in time is given", async () => {
    const late = new DeadlineExceededError({ deadline: 1 });
    const ctx = bareContext();
    const slow: Agent = {
      id: AgentId("slow"),
      run: async () => {
        ctx.check = () => {
          throw late;
        };
        throw late;
      },
    };
    const debaters = { ann: worker("ann", ["Answer: red"]), slow };
    const { result } = await run(new Debate({ debaters }), [], { ctx });
    expect(result).toEqual({ status: "partial", output: "red", stopReason: "deadline" });
  });

  test("when the time ends in the first round, the first to answer need not be the first who was asked", async () => {
    const { result } = await run(new Debate(), (_, call) => {
      if (call === 1) return says("Answer: green");
      throw new DeadlineExceededError({ deadline: 1 });
    });
    expect(result).toEqual({ status: "partial", output: "green", stopReason: "deadline" });
  });

  test("agreement is the mean over all pairs of what they share", () => {
    expect(agreementOf(["Yes!", "yes", "YES."])).toBe(1);
    expect(agreementOf(["a b", "c d"])).toBe(0);
    expect(agreementOf(["alone"])).toBe(0);
    expect(agreementOf([])).toBe(0);
    expect(agreementOf(["a b", "a c"])).toBeCloseTo(1 / 3);
    expect(answerIn("because\nAnswer: first\n**Final answer:** second")).toBe("second");
  });

  test.each([
    ["because\n**Answer: 16**", "16"],
    ["because\n**Answer:** 16", "16"],
    ["because\n**Answer**: **16**", "**16**"],
    ["because\nAnswer: **16** apples", "**16** apples"],
    ["because\nMy current answer: 16", "16"],
    ["because\n- _The final answer: 16_", "16"],
    ["My answer follows.\nAnswer: 16", "16"],
    ["my answer is: 16", "my answer is: 16"],
    ["because\n**Answer: 2**10 = 1024**", "2**10 = 1024"],
    ["because\n**Answer:** 2**10 = 1024", "2**10 = 1024"],
    ["because\n*Answer: 3*4=12*", "3*4=12"],
    ["because\n_Answer: snake_case_name_", "snake_case_name"],
  ])("%j has the answer %j, with no half of a pair of stars", (text, expected) => {
    expect(answerIn(text)).toBe(expected);
  });

  test("an answer of several lines is not cut down to its first", () => {
    expect(answerIn("because\nAnswer: an old pond\na frog jumps in\n\nI hope you like it!")).toBe(
      "an old pond\na frog jumps in",
    );
    const code = "```js\nconst a = 1;\n\nreturn a;\n```";
    expect(answerIn(`because\nAnswer:\n${code}\n\nI hope it runs!`)).toBe(code);
    expect(answerIn("no reasons\nAnswer:")).toBe("no reasons\nAnswer:");
    const letter = "Dear Sir,\n\nit rains.\n\nYours";
    expect(answerIn(`because\n**Answer:**\n\n${letter}\n`)).toBe(letter);
  });

  test.each([
    [0, "landed from: the task"],
    [2, "red"],
    [4, "red"],
    [7, "red"],
  ])(
    "when the money ends after %i calls, the answer most shared so far is a partial result",
    async (after, output) => {
      let n = 0;
      const script = broke(() => `Answer: ${["red", "red", "blue"][n++ % 3]}`, after);
      const { result } = await run(new Debate(), script);
      expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
    },
  );
});
