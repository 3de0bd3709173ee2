import { backoffMs } from "@ravi/kernel/loop";
import { expect, test } from "vitest";

const PLAN = { baseMs: 1_000, maxMs: 30_000, random: 0.5 };

test("O5: the ceiling of the wait doubles with each retry, up to the maximum", () => {
  const waits = [0, 1, 2, 3, 5, 6, 7, Number.MAX_SAFE_INTEGER].map((retry) => backoffMs({ ...PLAN, retry }));
  expect(waits).toEqual([500, 500, 1_000, 2_000, 8_000, 15_000, 15_000, 15_000]);
});

test("O5: the wait is a whole number below its ceiling", () => {
  expect(backoffMs({ ...PLAN, retry: 1, random: 0 })).toBe(0);
  expect(backoffMs({ ...PLAN, retry: 1, random: 0.999_999 })).toBe(999);
});

test("O5: a base of 0 is no wait, however many retries there were", () => {
  expect(backoffMs({ ...PLAN, retry: 5_000, baseMs: 0 })).toBe(0);
});
