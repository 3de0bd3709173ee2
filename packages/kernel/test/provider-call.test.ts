import { describe, expect, test } from "vitest";
import { type Clock, isRaviError, type TimerHandle } from "@ravi/kernel";
import { type PlatformTimers, type ProviderCall, startCall, untilAborted } from "@ravi/kernel/provider";

interface Hand extends Clock {
  /** Turns the clock on, and lets fire what is due. */
  turn(ms: number): void;
  readonly timers: Map<object, { readonly at: number; readonly callback: () => void }>;
  /** How many were ever set. */
  set: number;
}

function handClock(): Hand {
  let now = 0;
  const timers: Hand["timers"] = new Map();
  const hand: Hand = {
    set: 0,
    timers,
    now: () => now,
    setTimer(callback, delayMs): TimerHandle {
      const key = {};
      hand.set++;
      timers.set(key, { at: now + delayMs, callback });
      return { cancel: () => void timers.delete(key) };
    },
    turn(ms) {
      now += ms;
      for (const [key, { at, callback }] of timers) {
        if (at > now) continue;
        timers.delete(key);
        callback();
      }
    },
  };
  return hand;
}

const unused: PlatformTimers = {
  setTimeout: () => expect.unreachable("the clock has timers"),
  clearTimeout: () => undefined,
};

const never = new Promise<never>(() => undefined);

function begin(clock: Clock, signal?: AbortSignal, timers = unused): ProviderCall {
  return startCall({ signal }, { provider: "p", model: "m", idleTimeoutMs: 100, clock, timers });
}

describe("a call under way", () => {
  test("T10: silence ends it, also where the promise never settles", async () => {
    const clock = handClock();
    const call = begin(clock);
    const waiting = call.wait(never);
    clock.turn(100);
    await expect(waiting).rejects.toMatchObject({
      kind: "TIMEOUT",
      message: /the server sent nothing for 100 ms/,
    });
    expect([call.stopped?.retryable, call.signal.aborted]).toEqual([true, true]);
    await expect(call.wait(Promise.resolve(1))).rejects.toBe(call.stopped);
  });

  test("T10: each sign of life begins the time anew, with one timer for many", async () => {
    const clock = handClock();
    const call = begin(clock);
    for (let piece = 0; piece < 10; piece++) {
      const waiting = call.wait(Promise.resolve(piece));
      clock.turn(9);
      expect(await waiting).toBe(piece);
    }
    expect([clock.set, call.stopped]).toEqual([1, undefined]);
    const waiting = call.wait(never);
    clock.turn(99);
    expect(call.stopped).toBeUndefined();
    clock.turn(1);
    await expect(waiting).rejects.toMatchObject({ kind: "TIMEOUT" });
  });

  test("T10: nobody waits: a slow reader is not the server's silence", async () => {
    const clock = handClock();
    const call = begin(clock);
    await call.wait(Promise.resolve());
    clock.turn(1_000);
    expect([call.stopped, clock.timers.size]).toEqual([undefined, 0]);
  });

  test("T10: the caller's abort ends it, before it began or in the middle", async () => {
    const controller = new AbortController();
    const call = begin(handClock(), controller.signal);
    const waiting = call.wait(never);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toSatisfy((error) => isRaviError(error, "CANCELLED"));
    const late = begin(handClock(), controller.signal);
    expect([isRaviError(late.stopped, "CANCELLED"), late.signal.aborted]).toEqual([true, true]);
  });

  test("T10: what ended it first is why it ended, whatever comes later", async () => {
    const controller = new AbortController();
    const clock = handClock();
    const call = begin(clock, controller.signal);
    const waiting = call.wait(never);
    clock.turn(100);
    controller.abort(new Error("too late"));
    await expect(waiting).rejects.toMatchObject({ kind: "TIMEOUT" });
    expect(call.stopped).toMatchObject({ kind: "TIMEOUT" });
  });

  test("T10: closing leaves neither timer nor listener, and keeps a connection only if all was read", async () => {
    for (const isRead of [false, true]) {
      const clock = handClock();
      const controller = new AbortController();
      const call = begin(clock, controller.signal);
      await call.wait(Promise.resolve());
      if (isRead) call.complete();
      call.close();
      expect([clock.timers.size, call.signal.aborted]).toEqual([0, !isRead]);
      controller.abort();
      expect(call.stopped).toBeUndefined();
    }
  });

  test("T10: a clock without timers uses the platform's, and never asks for more than they can", async () => {
    const asked: number[] = [];
    const cleared: unknown[] = [];
    const timers: PlatformTimers = {
      setTimeout: (_, delayMs) => asked.push(delayMs),
      clearTimeout: (timer) => cleared.push(timer),
    };
    const setup = { provider: "p", model: "m", clock: { now: () => 0 }, timers };
    const call = startCall(undefined, { ...setup, idleTimeoutMs: 2 ** 40 });
    await call.wait(Promise.resolve());
    call.close();
    expect([asked, cleared]).toEqual([[2 ** 31 - 1], [1]]);
  });

  test("T10: a clock that was set back does not make the wait longer", async () => {
    let now = 1_000;
    const due: (readonly [number, () => void])[] = [];
    const clock: Clock = {
      now: () => now,
      setTimer(callback, delayMs) {
        due.push([delayMs, callback]);
        return { cancel: () => undefined };
      },
    };
    const call = begin(clock);
    const waiting = call.wait(never);
    now = 0;
    due[0]?.[1]();
    expect(due.map(([delayMs]) => delayMs)).toEqual([100, 100]);
    now = 1_100;
    due[1]?.[1]();
    await expect(waiting).rejects.toMatchObject({ kind: "TIMEOUT" });
  });
});

describe("a promise under a signal", () => {
  test("T10: ends as it would, and leaves no listener behind", async () => {
    const listeners = new Set<unknown>();
    const signal = new AbortController().signal;
    signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
    signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
    const pending = untilAborted(Promise.resolve(1), signal);
    expect(listeners.size).toBe(1);
    expect(await pending).toBe(1);
    await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    await Promise.resolve();
    expect(listeners.size).toBe(0);
    expect(await untilAborted(Promise.resolve(2), null)).toBe(2);
  });

  test("T10: ends with the signal where it would not by itself", async () => {
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    await expect(untilAborted(never, controller.signal)).rejects.toMatchObject({ name: "AbortError" });
  });
});
