import { expect, onTestFinished, test, vi } from "vitest";
import { wallClock } from "../src/wall-clock.ts";

test("a timer of weeks does not fire early, though no timer of the platform is that long", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const weeks = 2 ** 31 + 1_000;
  let fired = 0;
  wallClock.setTimer?.(() => fired++, weeks);
  vi.advanceTimersByTime(weeks - 1);
  expect(fired).toBe(0);
  vi.advanceTimersByTime(1);
  expect(fired).toBe(1);
});
