import { wallClock } from "@ravi/runtime";
import { afterEach, expect, test, vi } from "vitest";
import { eventLoopTurn } from "../src/engine/waiting.ts";

afterEach(() => {
  // In this order: whoever is spied on last is put back first.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const DAY_MS = 86_400_000;

test("weeks are waited for in steps, and each of them keeps the process or lets it go, as it was told", () => {
  vi.useFakeTimers();
  const set = vi.spyOn(globalThis, "setTimeout");
  const isRef = (): boolean | undefined => {
    const newest = set.mock.results.at(-1)?.value as NodeJS.Timeout | undefined;
    return newest?.hasRef();
  };
  let fired = 0;
  const timer = wallClock.setTimer(() => fired++, 80 * DAY_MS);
  timer.unref?.();
  vi.advanceTimersByTime(30 * DAY_MS);
  expect([set.mock.calls.length, isRef(), fired]).toEqual([2, false, 0]);
  timer.ref?.();
  vi.advanceTimersByTime(30 * DAY_MS);
  expect([set.mock.calls.length, isRef(), fired]).toEqual([3, true, 0]);
  vi.advanceTimersByTime(20 * DAY_MS);
  expect(fired).toBe(1);
});

test("a turn of the event loop passes although a test runner has replaced the timers", async () => {
  vi.useFakeTimers();
  const turn = eventLoopTurn();
  expect(vi.getTimerCount()).toBe(0);
  expect(await turn).toBe(undefined);
});
