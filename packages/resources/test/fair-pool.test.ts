import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  CancellationToken,
  isPromiseLike,
  type Limiter,
  type Permit,
  Priority,
  systemClock,
} from "@ravi/kernel";
import { FairPool } from "@ravi/resources";
import { virtualClock } from "@ravi/testing";
import { complaint } from "./helpers.ts";

const NORMAL = { priority: Priority.NORMAL };

function now(permit: ReturnType<Limiter["acquire"]>): Permit {
  if (isPromiseLike(permit)) throw new Error("it had to wait");
  return permit;
}

/** Notes who was let in, in order. */
function queue(pool: FairPool, order: string[], name: string, priority: Priority, tokens?: number): void {
  void Promise.resolve(pool.acquire({ priority, tokens })).then(async (permit) => {
    order.push(name);
    await Promise.resolve();
    permit.release();
  });
}

describe("FairPool: calls at once", () => {
  test("a permit is given at once while there is room, and in turn afterwards", async () => {
    const pool = new FairPool({ concurrency: 2, clock: virtualClock() });
    const [first, second] = [now(pool.acquire(NORMAL)), now(pool.acquire(NORMAL))];
    const third = pool.acquire(NORMAL);
    expect(isPromiseLike(third)).toBe(true);
    expect([pool.active, pool.waiting]).toEqual([2, 1]);
    second.release();
    (await third).release();
    first.release();
    expect([pool.active, pool.waiting]).toEqual([0, 0]);
  });

  test("releasing twice frees one place, and `using` frees it too", () => {
    const pool = new FairPool({ concurrency: 3, clock: virtualClock() });
    const permit = now(pool.acquire(NORMAL));
    now(pool.acquire(NORMAL));
    permit.release();
    permit.release();
    permit[Symbol.dispose]();
    expect(pool.active).toBe(1);
    {
      using _ = now(pool.acquire(NORMAL));
      expect(pool.active).toBe(2);
    }
    expect(pool.active).toBe(1);
  });

  test("a permit with which nothing was sent counts as no request", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ requestsPerMinute: 2, tokensPerMinute: 100, clock });
    for (const none of [{ tokens: 0 }, { tokens: undefined }, {}])
      now(pool.acquire({ tokens: 100 })).release({ ...none, sent: false });
    for (const sent of [true, undefined]) now(pool.acquire(NORMAL)).release({ sent });
    const third = pool.acquire(NORMAL);
    expect(isPromiseLike(third)).toBe(true);
    await clock.advance(30_000);
    (await third).release();
  });

  test("it gives back the one request that it took, and no other", () => {
    const pool = new FairPool({ requestsPerMinute: 3, clock: virtualClock() });
    const [first] = [now(pool.acquire()), now(pool.acquire())];
    first.release({ sent: false });
    for (let n = 0; n < 2; n++) now(pool.acquire());
    expect(isPromiseLike(pool.acquire())).toBe(true);
  });

  test("the smallest limits are limits, and a call that names no tokens takes none", () => {
    const limits = { concurrency: 1, requestsPerMinute: 2, tokensPerMinute: 1, agingMs: 0 };
    const pool = new FairPool({ ...limits, clock: virtualClock() });
    now(pool.acquire({ tokens: 1 })).release();
    const second = now(pool.acquire());
    expect(isPromiseLike(pool.acquire()), "one at once").toBe(true);
    second.release();
    expect(pool.waiting, "two a minute").toBe(1);
    const least = new FairPool({ requestsPerMinute: 1, clock: virtualClock() });
    now(least.acquire()).release();
    expect(isPromiseLike(least.acquire())).toBe(true);
  });

  test("without limits nobody waits", () => {
    const pool = new FairPool();
    for (let n = 0; n < 1000; n++) now(pool.acquire(NORMAL));
    expect(pool.active).toBe(1000);
  });

  test("whoever says nothing about its priority waits like NORMAL", async () => {
    const orderOf = async (unsaid: Priority | undefined): Promise<string> => {
      const pool = new FairPool({ concurrency: 1, clock: virtualClock() });
      const held = now(pool.acquire());
      const order: string[] = [];
      const waiting = [Priority.LOW, unsaid, Priority.HIGH, unsaid, Priority.LOW, unsaid].map(
        async (priority, n) => {
          const permit = await pool.acquire(priority === undefined ? {} : { priority });
          order.push(`${n}`);
          permit.release();
        },
      );
      held.release();
      await Promise.all(waiting);
      return order.join("");
    };
    const orders = await Promise.all([undefined, ...Object.values(Priority)].map(orderOf));
    const [unsaid] = orders;
    const like = Object.keys(Priority).filter((_, at) => orders[at + 1] === unsaid);
    expect(like).toEqual(["NORMAL"]);
  });

  test("wrong options and requests are refused", () => {
    expect(complaint(() => new FairPool({ concurrency: 0 })).field).toBe("concurrency");
    expect(complaint(() => new FairPool({ requestsPerMinute: 0.5 })).field).toBe("requestsPerMinute");
    expect(complaint(() => new FairPool({ agingMs: -1 })).field).toBe("agingMs");
    const odd: object = { priority: 3 };
    expect(complaint(() => new FairPool().acquire(odd as { priority: Priority })).field).toBe("priority");
    expect(complaint(() => new FairPool().acquire({ ...NORMAL, tokens: -1 })).field).toBe("tokens");
    for (const wrong of [Number.NaN, -1, Infinity, "5"])
      expect(complaint(() => new FairPool().slowDown(wrong as number)).field).toBe("retryAfterMs");
    new FairPool().slowDown(0);
  });
});

/** A signal that counts who listens on it. */
function watched(signal: AbortSignal): { signal: AbortSignal; listening: () => number } {
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (...args: Parameters<typeof add>) => {
      listeners.add(args[1]);
      add(...args);
    },
    removeEventListener: (...args: Parameters<typeof remove>) => {
      listeners.delete(args[1]);
      remove(...args);
    },
  });
  return { signal, listening: () => listeners.size };
}

describe("FairPool: cancelling", () => {
  test("who gives up leaves nothing: no place, no listener, no timer, and the next moves up", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ concurrency: 1, requestsPerMinute: 60, clock });
    const holder = now(pool.acquire(NORMAL));
    const token = new CancellationToken();
    const { signal, listening } = watched(token.signal);
    const given = pool.acquire({ ...NORMAL, signal });
    holder.release();
    const permit = await given;
    expect(listening()).toBe(0);
    const waiting = pool.acquire({ ...NORMAL, signal });
    const next = pool.acquire(NORMAL);
    token.cancel("enough");
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", reason: "enough" });
    expect(pool.waiting).toBe(1);
    permit.release();
    (await next).release();
    expect([pool.waiting, pool.active, clock.pending]).toEqual([0, 0, 0]);
  });

  test("the last who gives up takes the timer along", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ clock });
    pool.slowDown(5000);
    const stop = new AbortController();
    const waiting = pool.acquire({ ...NORMAL, signal: stop.signal });
    expect(clock.pending).toBe(1);
    stop.abort("no longer");
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", reason: "no longer" });
    expect([pool.waiting, clock.pending]).toEqual([0, 0]);
  });

  test("with what is no signal nobody stands in line: a place that nobody holds would be lost for good", async () => {
    const pool = new FairPool({ concurrency: 1 });
    const permit = now(pool.acquire(NORMAL));
    const wrong: object = { ...NORMAL, signal: new AbortController() };
    expect(complaint(() => pool.acquire(wrong as typeof NORMAL)).field).toBe("signal");
    permit.release();
    expect([pool.waiting, pool.active]).toEqual([0, 0]);
  });

  test("nor with a signal that cannot be listened to", async () => {
    const pool = new FairPool({ concurrency: 1 });
    const permit = now(pool.acquire(NORMAL));
    const { signal } = new AbortController();
    Object.assign(signal, {
      addEventListener() {
        throw new Error("not today");
      },
    });
    await expect(pool.acquire({ ...NORMAL, signal })).rejects.toThrow("not today");
    permit.release();
    expect([pool.waiting, pool.active]).toEqual([0, 0]);
  });

  test("a signal that is aborted already is refused at once", () => {
    const stop = new AbortController();
    stop.abort();
    const pool = new FairPool();
    expect(() => pool.acquire({ ...NORMAL, signal: stop.signal })).toThrow("cancelled");
    expect(pool.active).toBe(0);
  });
});

describe("FairPool: rates", () => {
  test("a call that is said to have taken more than can be true holds the others for five minutes at most", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ tokensPerMinute: 1000, clock });
    now(pool.acquire({ ...NORMAL, tokens: 10 })).release({ tokens: Number.MAX_SAFE_INTEGER });
    const next = pool.acquire({ ...NORMAL, tokens: 1000 });
    await clock.advance(299_000);
    expect([pool.active, pool.waiting]).toEqual([0, 1]);
    await clock.advance(1_000);
    expect([pool.active, pool.waiting]).toEqual([1, 0]);
    (await next).release();
  });

  test("of 60 requests a minute, 60 go at once and then one a second", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ requestsPerMinute: 60, clock });
    for (let n = 0; n < 60; n++) now(pool.acquire(NORMAL)).release();
    const times: number[] = [];
    for (let n = 0; n < 3; n++) {
      void Promise.resolve(pool.acquire(NORMAL)).then((permit) => {
        times.push(clock.now());
        permit.release();
      });
    }
    await clock.runAll();
    expect(times).toEqual([1000, 2000, 3000]);
    expect(clock.pending).toBe(0);
  });

  test("tokens that a call did not use come back when it ends, and those it used beyond are owed", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ tokensPerMinute: 60_000, clock });
    const call = now(pool.acquire({ ...NORMAL, tokens: 60_000 }));
    const next = pool.acquire({ ...NORMAL, tokens: 30_000 });
    expect(clock.pending).toBe(1);
    call.release({ tokens: 10_000 });
    const second = await next;
    expect(clock.now()).toBe(0);
    second.release({ tokens: 80_000 });
    const third = pool.acquire({ ...NORMAL, tokens: 1_000 });
    await clock.advance(30_000);
    expect(pool.waiting).toBe(1);
    await clock.advance(1_000);
    (await third).release();
  });

  test("what a call does not say it used stays charged as it was asked for", () => {
    const clock = virtualClock();
    const pool = new FairPool({ tokensPerMinute: 100, clock });
    now(pool.acquire({ ...NORMAL, tokens: 100 })).release();
    expect(isPromiseLike(pool.acquire({ ...NORMAL, tokens: 1 }))).toBe(true);
  });

  test("a call that could never start is refused at once, with what to do", () => {
    const pool = new FairPool({ tokensPerMinute: 1000 });
    expect(complaint(() => pool.acquire({ ...NORMAL, tokens: 1001 })).message).toContain("could never start");
    expect(pool.waiting).toBe(0);
  });

  test("a figure that makes no sense is an error, but the place is free", () => {
    for (const wrong of [Number.NaN, -1, Infinity]) {
      const pool = new FairPool({ concurrency: 1, tokensPerMinute: 100, clock: virtualClock() });
      const permit = now(pool.acquire({ ...NORMAL, tokens: 60 }));
      expect(complaint(() => permit.release({ tokens: wrong })).field).toBe("actual.tokens");
      expect(pool.active).toBe(0);
      now(pool.acquire({ ...NORMAL, tokens: 40 })).release();
      expect(isPromiseLike(pool.acquire({ ...NORMAL, tokens: 1 }))).toBe(true);
    }
  });

  test("a call that used nothing gives all of its tokens back", () => {
    const pool = new FairPool({ tokensPerMinute: 100, clock: virtualClock() });
    now(pool.acquire({ ...NORMAL, tokens: 100 })).release({ tokens: 0 });
    expect(isPromiseLike(pool.acquire({ ...NORMAL, tokens: 100 }))).toBe(false);
  });

  test("after a call that does not say what it used, the next still waits for its tokens", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ tokensPerMinute: 600, clock });
    now(pool.acquire({ ...NORMAL, tokens: 600 })).release();
    const order: string[] = [];
    queue(pool, order, "next", Priority.NORMAL, 300);
    await clock.advance(29_999);
    expect(order).toEqual([]);
    await clock.advance(1);
    expect(order).toEqual(["next"]);
  });

  test("a small call does not pass a large one that waits for its tokens", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ tokensPerMinute: 600, clock });
    const order: string[] = [];
    now(pool.acquire({ ...NORMAL, tokens: 300 })).release();
    queue(pool, order, "large", Priority.NORMAL, 600);
    queue(pool, order, "small", Priority.NORMAL, 10);
    await clock.runAll();
    expect(order).toEqual(["large", "small"]);
  });
});

describe("FairPool: a 429 slows everybody down", () => {
  test("nobody starts before Retry-After, whatever the priority, and a shorter one does not shorten it", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ concurrency: 5, clock });
    pool.slowDown(2000);
    pool.slowDown(500);
    const order: string[] = [];
    queue(pool, order, "low", Priority.LOW);
    queue(pool, order, "critical", Priority.CRITICAL);
    await clock.advance(1999);
    expect(order).toEqual([]);
    await clock.advance(1);
    expect(order).toEqual(["critical", "low"]);
    expect(clock.pending).toBe(0);
  });

  test("a server that says a day, as it has no more for today, holds those who ask another for five minutes", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ clock });
    pool.slowDown(24 * 3_600_000);
    const order: string[] = [];
    queue(pool, order, "next", Priority.NORMAL);
    await clock.advance(299_999);
    expect(order).toEqual([]);
    await clock.advance(1);
    expect(order).toEqual(["next"]);
    expect(clock.pending).toBe(0);
  });

  test("a pool that is told so while calls wait holds them, too", async () => {
    const clock = virtualClock();
    const pool = new FairPool({ concurrency: 1, clock });
    const holder = now(pool.acquire(NORMAL));
    const order: string[] = [];
    queue(pool, order, "next", Priority.NORMAL);
    pool.slowDown(1000);
    holder.release();
    await clock.advance(999);
    expect(order).toEqual([]);
    await clock.advance(1);
    expect(order).toEqual(["next"]);
  });

  test("T4: a real timer goes with the last who gives up", async () => {
    vi.useFakeTimers();
    try {
      const pool = new FairPool();
      pool.slowDown(5000);
      const stop = new AbortController();
      const waiting = pool.acquire({ ...NORMAL, signal: stop.signal });
      expect(vi.getTimerCount()).toBe(1);
      stop.abort();
      await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a clock without timers gets real ones", async () => {
    const pool = new FairPool({ clock: systemClock });
    pool.slowDown(2);
    (await pool.acquire(NORMAL)).release();
    const other = new FairPool();
    other.slowDown(2);
    (await other.acquire(NORMAL)).release();
    expect([pool.active, other.active]).toEqual([0, 0]);
  });

  test("without a clock, a wait does not become longer when the time of day is set back", async () => {
    const pool = new FairPool();
    pool.slowDown(2);
    const timeOfDay = vi.spyOn(Date, "now").mockReturnValue(0);
    onTestFinished(() => timeOfDay.mockRestore());
    (await pool.acquire(NORMAL)).release();
    expect(pool.active).toBe(0);
  });
});

test("T4: many who wait under one signal share a listener, and all of them leave the line with it", async () => {
  const pool = new FairPool({ concurrency: 1, clock: virtualClock() });
  await pool.acquire({ priority: Priority.NORMAL });
  const stop = new AbortController();
  const { signal } = stop;
  const added = vi.spyOn(signal, "addEventListener");
  const waiting = Array.from({ length: 50 }, async () => pool.acquire({ priority: Priority.NORMAL, signal }));
  expect([added.mock.calls.length, pool.waiting]).toEqual([1, 50]);
  stop.abort();
  const ends = await Promise.allSettled(waiting);
  expect(ends.every(({ status }) => status === "rejected")).toBe(true);
  expect(pool.waiting).toBe(0);
});
