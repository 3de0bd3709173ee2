import { expect, test } from "vitest";
import { AgentId, type AgentResult, type StopReason } from "../src/index.ts";
import { bareContext, hireAll, readResult } from "../src/loop.ts";

const id = AgentId("child");
const WRONG: readonly (readonly [string, unknown, RegExp])[] = [
  ["nothing", undefined, /result is undefined/],
  ["a text", "done", /result is "done"/],
  ["a status that is none", { status: "ok", output: "" }, /result\.status is "ok"/],
  ["no output", { status: "completed", stopReason: "done" }, /result\.output is undefined/],
  ["a problem without words", { status: "partial", output: "", problem: 7 }, /result\.problem is 7/],
];

test.each(WRONG)("R12: %s is no result", (_, value, message) => {
  expect(() => readResult(id, value as AgentResult)).toThrow(message);
});

test("R12: a result is given back as it is, unless it says itself that it was cut off", () => {
  const result = (stopReason: StopReason): AgentResult => ({ status: "completed", output: "x", stopReason });
  const whole = result("done");
  expect(readResult(id, whole)).toBe(whole);
  for (const why of [
    "budget",
    "deadline",
    "steps",
    "length",
    "refused",
    "filtered",
    "loop",
    "paused",
  ] as const)
    expect(readResult(id, result(why))).toEqual({ ...result(why), status: "partial" });
});

test("R12: nor is it one for a parent in memory", async () => {
  const ctx = bareContext();
  const leaf = { kind: "hire", agent: { id, run: async () => ({}) as AgentResult }, input: "" } as const;
  expect((await hireAll(ctx, [leaf]))[0]?.status).toBe("failed");
  expect((await ctx.hire(leaf)).status).toBe("failed");
});
