import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { virtualClock } from "../src/index.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 100;

describe("virtualClock", () => {
  test("stands still until it is moved", async () => {
    const clock = virtualClock({ now: 1_000 });
    const fired: number[] = [];
    clock.setTimer(() => fired.push(clock.now()), 5);
    await Promise.resolve();
    expect([clock.now(), clock.pending, fired]).toEqual([1_000, 1, []]);
    await clock.advance(4);
    expect([clock.now(), fired]).toEqual([1_004, []]);
    await clock.advance(1);
    expect([clock.now(), clock.pending, fired]).toEqual([1_005, 0, [1_005]]);
  });

  test("fires in the order of time, and of setting where the time is the same", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 30 }), async (delays) => {
        const clock = virtualClock();
        const fired: [number, number][] = [];
        for (const [index, delay] of delays.entries()) {
          clock.setTimer(() => fired.push([clock.now(), index]), delay);
        }
        await clock.runAll();
        const expected = delays.map((delay, index) => [delay, index] as [number, number]);
        expect(fired).toEqual(expected.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]));
        expect(clock.pending).toBe(0);
      }),
      { numRuns: RUNS },
    );
  });

  test("a cancelled timer does not fire, also when an earlier one cancels it at the same moment", async () => {
    const clock = virtualClock();
    const fired: string[] = [];
    const never = clock.setTimer(() => fired.push("never"), 1);
    clock.setTimer(() => second.cancel(), 2);
    const second = clock.setTimer(() => fired.push("second"), 2);
    never.cancel();
    never.cancel();
    await clock.advance(10);
    expect(fired).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("a timer set by a timer fires in the same advance when it falls due there, and not otherwise", async () => {
    const clock = virtualClock();
    const fired: number[] = [];
    clock.setTimer(() => {
      clock.setTimer(() => fired.push(clock.now()), 3);
      clock.setTimer(() => fired.push(clock.now()), 30);
    }, 2);
    await clock.advance(10);
    expect(fired).toEqual([5]);
    expect([clock.now(), clock.pending]).toEqual([10, 1]);
  });

  test("promises settle between two timers, so that what they set is seen", async () => {
    const clock = virtualClock();
    const seen: string[] = [];
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(resolve, ms));
    const worker = (async () => {
      for (const step of ["a", "b", "c"]) {
        await sleep(1);
        await Promise.resolve();
        seen.push(`${step}${clock.now()}`);
      }
    })();
    clock.setTimer(() => seen.push("other"), 2);
    await clock.advance(3);
    await worker;
    expect(seen).toEqual(["a1", "other", "b2", "c3"]);
  });

  test("moves asked for at once take their turns and add up", async () => {
    const clock = virtualClock();
    const fired: number[] = [];
    clock.setTimer(() => fired.push(clock.now()), 15);
    clock.setTimer(() => void clock.advance(100), 1);
    await Promise.all([clock.advance(10), clock.advance(10)]);
    expect([clock.now(), fired]).toEqual([20, [15]]);
    await clock.advance(0);
    expect(clock.now()).toBe(120);
  });

  test("a callback that throws fails the move, and the clock goes on afterwards", async () => {
    const clock = virtualClock();
    clock.setTimer(() => {
      throw new Error("broken callback");
    }, 5);
    await expect(clock.advance(10)).rejects.toThrow("broken callback");
    expect(clock.now()).toBe(5);
    await clock.advance(1);
    expect(clock.now()).toBe(6);
  });

  test("runAll refuses to run for ever", async () => {
    const clock = virtualClock();
    let fired = 0;
    const again = (): void => {
      fired++;
      clock.setTimer(again, 1);
    };
    clock.setTimer(again, 1);
    await expect(clock.runAll(25)).rejects.toThrow(
      /expected at most 25; either something keeps starting timers/,
    );
    expect(fired).toBe(25);
  });

  test.each([Number.NaN, Infinity])(
    "a delay of %s is refused, since a real timer would fire at once",
    (delay) => {
      expect(() => virtualClock().setTimer(() => {}, delay)).toThrow(/delayMs is .*finite/);
    },
  );

  test("time does not go back", async () => {
    await expect(virtualClock().advance(-1)).rejects.toThrow(/the clock cannot go back/);
    expect(() => virtualClock({ now: Number.NaN })).toThrow(/now is NaN/);
  });

  test("an option that it does not know is refused by name", () => {
    const misspelt = { start: 5 };
    expect(() => virtualClock(misspelt as object)).toThrow(/^virtualClock\.start is 5; .*known fields: now/);
  });

  test("works while a test runner has replaced the timers", async () => {
    vi.useFakeTimers();
    try {
      const clock = virtualClock();
      const fired: number[] = [];
      clock.setTimer(() => fired.push(clock.now()), 5);
      await clock.advance(5);
      expect(fired).toEqual([5]);
    } finally {
      vi.useRealTimers();
    }
  });
});
