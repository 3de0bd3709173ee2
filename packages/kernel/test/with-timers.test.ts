import { expect, it, onTestFinished, vi } from "vitest";
import { type Clock, systemClock } from "../src/index.ts";
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

it("a clock that has timers keeps its own, and gets none of the platform beside them, even if it returns no handle", () => {
  class Own implements Clock {
    readonly asked: number[] = [];
    now(): number {
      return 7;
    }
    setTimer(_callback: () => void, delayMs: number): never {
      this.asked.push(delayMs);
      return undefined as never;
    }
  }
  const own = new Own();
  const setTimeout = vi.fn<() => number>();
  const clock = withTimers(own, { setTimeout, clearTimeout() {} });
  clock.setTimer(() => {}, 5);
  expect([clock.now(), own.asked, setTimeout.mock.calls]).toEqual([7, [5], []]);
});
