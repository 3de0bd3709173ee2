import { describe, expect, test } from "vitest";
import type { Memory } from "@ravi/kernel";
import { Reflexion } from "@ravi/architectures";
import { asked, broke, run, says, told, usageOf } from "../support.ts";

const scored = (score: unknown): string => JSON.stringify({ score, feedback: "say more" });

/** A memory that keeps what it is told, for each user apart. */
function notebook(): Memory & { readonly kept: Map<string | null, string[]>; limit: number | undefined } {
  const kept = new Map<string | null, string[]>();
  const of = (userId: string | null): string[] => kept.get(userId) ?? kept.set(userId, []).get(userId) ?? [];
  return {
    isNoop: false,
    kept,
    limit: undefined,
    remember(scope, text) {
      of(scope.userId).push(text);
      return { id: text, text, at: 0 };
    },
    recall(scope, _, limit) {
      this.limit = limit;
      return of(scope.userId)
        .slice(0, limit)
        .map((text) => ({ id: text, text, at: 0 }));
    },
    forget() {},
  };
}

describe("J10: Reflexion", () => {
  test.each(["refused", "length"] as const)(
    "a lesson that was %s is not kept for later runs",
    async (finishReason) => {
      const memory = notebook();
      const lesson = { text: "I cannot do tha", finishReason };
      const { result, model } = await run(new Reflexion(), ["one", scored(0.1), lesson, "two", scored(0.9)], {
        memory,
      });
      expect(result.output).toBe("two");
      expect([...memory.kept.values()].flat()).toEqual([]);
      expect(asked(model.calls[3]?.request)).toBe("the task");
    },
  );

  test("a memory is left out only if it says so clearly: untyped code may have a method there", async () => {
    const memory = Object.assign(notebook(), { isNoop: () => false } as object);
    await run(new Reflexion(), ["one", scored(0.1), "lesson", "two", scored(0.9)], { memory });
    expect([...memory.kept.values()].flat()).toEqual(["lesson"]);
    expect(memory.limit).toBeGreaterThan(0);
  });

  test("stops at the first attempt that reaches 0.8", async () => {
    const { result, model, events } = await run(new Reflexion(), [
      "one",
      scored(0.5),
      "lesson",
      "two",
      scored("8/10"),
    ]);
    expect(result).toEqual({ status: "completed", output: "two", stopReason: "done" });
    expect(model.calls).toHaveLength(5);
    expect(asked(model.calls[3]?.request)).toContain("- lesson");
    expect(told(events, "reflexion.score")).toEqual([
      { attempt: 1, score: 0.5 },
      { attempt: 2, score: 0.8 },
    ]);
  });

  test("0.799 is not enough", async () => {
    const { result } = await run(new Reflexion(), ["one", scored(0.799), "lesson", "two", scored(0.8)]);
    expect(result.output).toBe("two");
  });

  test("makes 3 × 2 + 2 calls at the most; the best attempt stands, and is called partial", async () => {
    const { result, session, model } = await run(new Reflexion(), [
      says("one"),
      says(scored(0.3)),
      says("lesson"),
      says("two"),
      says(scored(0.6)),
      says("lesson"),
      says("three"),
      says(scored(0.4)),
    ]);
    expect(result).toEqual({ status: "partial", output: "two", stopReason: "steps" });
    expect(model.calls).toHaveLength(3 * 2 + 2);
    expect(session.metadata["reflexion"]).toEqual({ tries: 3, score: 0.6 });
    expect(session.cumulativeUsage).toEqual(usageOf(model));
  });

  test("a score that cannot be read is never a pass", async () => {
    const { result, events } = await run(new Reflexion({ maxTries: 1 }), ["one", "Splendid!"]);
    expect(result).toEqual({ status: "partial", output: "one", stopReason: "steps" });
    expect(told(events, "reflexion.score")).toEqual([{ attempt: 1, score: null }]);
  });

  test("an attempt whose score cannot be read is worse than one with a score", async () => {
    const { result } = await run(new Reflexion({ maxTries: 2 }), [
      "one",
      scored(0.1),
      "lesson",
      "two",
      "Splendid!",
    ]);
    expect(result).toEqual({ status: "partial", output: "one", stopReason: "steps" });
  });

  test("tells how many lessons were recalled, if there are any", async () => {
    const memory = notebook();
    memory.kept.set("ann", ["a", "b"]);
    const ann = await run(new Reflexion(), ["one", scored(1)], { memory, userId: "ann" });
    expect(told(ann.events, "reflexion.lessons")).toEqual([{ count: 2 }]);
    const bob = await run(new Reflexion(), ["one", scored(1)], { memory, userId: "bob" });
    expect(told(bob.events, "reflexion.lessons")).toEqual([]);
  });

  test("J5: lessons are kept for the user, the top 5 come back, and nobody else sees them", async () => {
    const memory = notebook();
    memory.kept.set("ann", ["a", "b", "c", "d", "e", "f"]);
    const ann = await run(new Reflexion(), ["one", scored(0.1), "new lesson", "two", scored(1)], {
      memory,
      userId: "ann",
    });
    expect(memory.limit).toBe(5);
    expect(asked(ann.model.calls[0]?.request)).toContain("- e");
    expect(asked(ann.model.calls[0]?.request)).not.toContain("- f");
    expect(memory.kept.get("ann")).toContain("new lesson");
    const bob = await run(new Reflexion(), ["one", scored(1)], { memory, userId: "bob" });
    expect(asked(bob.model.calls[0]?.request)).toBe("the task");
    const nobody = await run(new Reflexion(), ["one", scored(1)], { memory });
    expect(asked(nobody.model.calls[0]?.request)).toBe("the task");
  });

  test.each([
    [2, 2],
    [0, undefined],
  ])("as many lessons are recalled as it is told: %s", async (lessons, limit) => {
    const memory = notebook();
    await run(new Reflexion({ lessons }), ["one", scored(0.9)], { memory });
    expect(memory.limit).toBe(limit);
  });

  test("a memory that fails costs its lessons, and nothing else", async () => {
    const memory: Memory = {
      isNoop: false,
      remember: () => Promise.reject(new Error("full")),
      recall: () => Promise.reject(new Error("down")),
      forget() {},
    };
    const { result, events } = await run(new Reflexion(), ["one", scored(0), "lesson", "two", scored(1)], {
      memory,
    });
    expect(result.output).toBe("two");
    expect(told(events, "reflexion.lesson")).toEqual([{ attempt: 1, lesson: "lesson", kept: false }]);
  });

  test.each([
    [1, "answer 0"],
    [2, "answer 0"],
    [3, "answer 0"],
    [4, "answer 0"],
    [5, "answer 3"],
  ])(
    "when the money ends after %i calls, the best attempt so far is a partial result",
    async (after, output) => {
      const script = broke((request, call) => {
        const text = asked(request);
        if (text.includes("How well")) return scored(text.includes("answer 3") ? 0.7 : 0.2);
        return text.includes("Give the lesson") ? "lesson" : `answer ${call}`;
      }, after);
      const { result } = await run(new Reflexion(), script);
      expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
    },
  );
});
