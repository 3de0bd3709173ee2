import { describe, expect, test } from "vitest";
import type { ChatContext, Clock } from "@ravi/kernel";
import { MiddlewarePipeline, timeout } from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import { chatContext } from "./support.ts";

/** A call that never answers, with a limit of a hundred seconds. A test says how long it has waited for money by now. */
function limited() {
  const clock = virtualClock();
  const seen = { timers: 0, overAt: [] as number[] };
  const counted: Clock = {
    now: clock.now,
    setTimer: (callback, delayMs) => {
      seen.timers++;
      return clock.setTimer(callback, delayMs);
    },
  };
  const money = { waitedMs: (): number => 0 };
  const context = chatContext({ clock: counted });
  Object.defineProperty(context, "waitedMs", { get: () => money.waitedMs() });
  const begin = (): void => {
    new MiddlewarePipeline<ChatContext>([timeout({ timeoutMs: 100_000 })])
      .run(context, () => new Promise(() => {}))
      .catch(() => void seen.overAt.push(clock.now()));
  };
  return { clock, seen, money, begin };
}

describe("R16: the limit of a call that waits for money", () => {
  test("R16: does not count its waits, nor those in the time that it was given for them", async () => {
    const { clock, seen, money, begin } = limited();
    begin();
    money.waitedMs = () => 30_000;
    await clock.advance(100_000);
    money.waitedMs = () => 42_000;
    await clock.runAll();
    expect(seen).toEqual({ timers: 3, overAt: [142_000] });
  });

  test("R16: counts on from the waits of earlier attempts", async () => {
    const { clock, seen, money, begin } = limited();
    money.waitedMs = () => 70_000;
    begin();
    await clock.runAll();
    expect(seen).toEqual({ timers: 1, overAt: [100_000] });
  });

  test("R16: is not looked at each millisecond if the wait began just before it was up", async () => {
    const { clock, seen, money, begin } = limited();
    begin();
    await clock.advance(99_999);
    money.waitedMs = () => Math.min(clock.now() - 99_999, 600_000);
    await clock.advance(600_000);
    expect(seen, "once a second, a hundredth of the limit").toEqual({ timers: 601, overAt: [] });
    await clock.runAll();
    expect(seen.overAt).toEqual([701_000]);
    expect(clock.pending).toBe(0);
  });

  test("R16: is not given more than the time that has passed, if the clock was put forward during the wait", async () => {
    const { clock, seen, money, begin } = limited();
    begin();
    money.waitedMs = () => 8 * 3_600_000;
    await clock.runAll();
    expect(seen.overAt).toEqual([200_000]);
  });
});
