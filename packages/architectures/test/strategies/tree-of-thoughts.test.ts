import { describe, expect, test } from "vitest";
import { TreeOfThoughts } from "@ravi/architectures";
import { prune } from "../../src/strategies/beam.ts";
import { asked, broke, run, says, told, usageOf } from "../support.ts";
import type { ModelRequest } from "@ravi/kernel";

/** Three thoughts after each one; the letter says how good they are. */
function thinker(request: ModelRequest): string {
  const text = asked(request);
  const path = text.split("\n").filter((line) => /^\d+\. /.test(line));
  if (text.includes("Propose"))
    return JSON.stringify(["a", "b", "c"].map((letter) => `${letter}${path.length}`));
  if (text.includes("How promising")) return `{"score": ${path.at(-1)?.includes("b") === true ? 0.9 : 0.3}}`;
  return `answer from ${path.map((line) => line.slice(3)).join(" ")}`;
}

/** Model calls at the most: at each level one to propose and `branch` to score for each path, and one for the answer. */
function mostCalls({ branch, depth, beam }: { branch: number; depth: number; beam: number }): number {
  let calls = 1;
  for (let level = 1, paths = 1; level <= depth; level++) {
    calls += paths * (1 + branch);
    paths = Math.min(beam, paths * branch);
  }
  return calls;
}

describe("J10: TreeOfThoughts", () => {
  test("follows the two best of three, three deep, in (1 + 3) + 2 × 2 × (1 + 3) + 1 calls", async () => {
    const { result, session, model, events } = await run(new TreeOfThoughts(), (request) =>
      says(thinker(request)),
    );
    expect(result).toEqual({ status: "completed", output: "answer from b0 b1 b2", stopReason: "done" });
    expect(model.calls).toHaveLength(1 + 3 + 2 * 2 * (1 + 3) + 1);
    expect(mostCalls({ branch: 3, depth: 3, beam: 2 })).toBe(21);
    expect(asked(model.calls[0]?.request)).toContain("Propose 3 different next thoughts");
    expect(session.cumulativeUsage).toEqual(usageOf(model));
    expect(told(events, "treeOfThoughts.level")[0]).toEqual({
      level: 1,
      candidates: 3,
      kept: [
        { thought: "b0", score: 0.9 },
        { thought: "a0", score: 0.3 },
      ],
    });
  });

  test.each([
    [{ branch: 1, depth: 1, beam: 1 }],
    [{ branch: 2, depth: 2, beam: 3 }],
    [{ branch: 4, depth: 3, beam: 2 }],
  ])("calls at the most for %o, by the formula", async (shape) => {
    const letters = ["a", "b", "c", "d"];
    const { model } = await run(new TreeOfThoughts(shape), (request) =>
      asked(request).includes("Propose") ? JSON.stringify(letters) : '{"score": 0.5}',
    );
    expect(model.calls).toHaveLength(mostCalls(shape));
  });

  test("prunes by score, and keeps the first among equals", () => {
    const paths = [0.2, 0.9, 0.2, 0.9].map((score, at) => ({ thoughts: [String(at)], score }));
    expect(prune(paths, 3).map(({ thoughts }) => thoughts[0])).toEqual(["1", "3", "0"]);
  });

  test("prose instead of a list is one thought, and a score that cannot be read is none", async () => {
    const { result, model } = await run(new TreeOfThoughts({ depth: 1 }), [
      "just think",
      "very good",
      "so it is",
    ]);
    expect(result.output).toBe("so it is");
    expect(asked(model.calls[2]?.request)).toContain("1. just think");
  });

  test("when nobody thinks of anything more, the answer comes at once", async () => {
    const { result, model } = await run(new TreeOfThoughts(), ["", "the answer"]);
    expect(result.output).toBe("the answer");
    expect(model.calls).toHaveLength(2);
  });

  test("a branch whose call fails is left out", async () => {
    const { result } = await run(new TreeOfThoughts({ depth: 1 }), (request) => {
      if (asked(request).includes("1. b0")) throw new Error("overloaded");
      return thinker(request);
    });
    expect(result.output).toBe("answer from a0");
  });

  test.each([
    [0, ""],
    [1, "a0\nb0\nc0"],
    [3, "a0\nb0\nc0"],
    [4, "b0"],
    [12, "b0\nb1"],
    [20, "b0\nb1\nb2"],
  ])(
    "when the money ends after %i calls, the last turn answers from the best way so far",
    async (after, way) => {
      const { result } = await run(new TreeOfThoughts(), broke(thinker, after));
      const from = way === "" ? "the task" : `What was found so far:\n\n${way}`;
      expect(result).toEqual({ status: "partial", output: `landed from: ${from}`, stopReason: "budget" });
    },
  );
});
