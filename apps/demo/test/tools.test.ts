import { expect, test } from "vitest";
import { evaluate } from "../src/arithmetic.ts";

test("an expression is worked out with its brackets and in the order of its operators", () => {
  expect(evaluate("1200 * 3.95 + 60")).toBeCloseTo(4800);
  expect(evaluate("2 * (3 + 4) - 10 / 4")).toBe(11.5);
  expect(evaluate("-(2 - 5)")).toBe(3);
});

test.each(["", "2 +", "(1", "1 2", "process.exit()", "1 / 0", "2 ** 3"])(
  "%o is refused, and never handed to anything that would run it",
  (expression) => {
    expect(() => evaluate(expression)).toThrow(expect.objectContaining({ code: "INVALID_VALUE" }));
  },
);
