import { expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../src/index.ts";
import { withTimers } from "../src/loop.ts";

it("O5: a server's wait of weeks is waited for in full, though no timer of the platform is that long", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const clock = withTimers(systemClock, globalThis);
  const fired: string[] = [];
  const weeks = 2 ** 31 + 1_000;
  clock.setTimer(() => fired.push("kept"), weeks);
  const cancelled = clock.setTimer(() => fired.push("cancelled"), weeks);
  vi.advanceTimersByTime(weeks - 1);
  expect(fired).toEqual([]);
  cancelled.cancel();
  vi.advanceTimersByTime(1);
  expect(fired).toEqual(["kept"]);
});
