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

it("a timer that is late already asks the platform for none below 0, of which Node would warn", () => {
  const asked: number[] = [];
  const setTimeout = (_callback: () => void, delayMs: number): number => asked.push(delayMs);
  const clock = withTimers(systemClock, { setTimeout, clearTimeout: () => {} });
  clock.setTimer(() => {}, -5);
  expect(asked).toEqual([0]);
});

it("`ref` and `unref` reach the platform's timer, unless it is a number as in a browser", () => {
  const calls: string[] = [];
  const started = { ref: () => calls.push("ref"), unref: () => calls.push("unref") };
  for (const handle of [started, 7, undefined]) {
    const clock = withTimers(systemClock, { setTimeout: () => handle, clearTimeout: () => {} });
    const timer = clock.setTimer(() => {}, 5);
    timer.unref?.();
    timer.ref?.();
  }
  expect(calls).toEqual(["unref", "ref"]);
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
