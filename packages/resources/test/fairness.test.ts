import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPromiseLike, type Permit, Priority } from "@ravi/kernel";
import { FairPool } from "@ravi/resources";
import { virtualClock } from "@ravi/testing";
import { FairQueue } from "../src/pool/parts/fair-queue.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 200;
const WEIGHTED = [Priority.LOW, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL] as const;

/** Serves a queue in which `lines` always have somebody waiting, and counts the cost that each line got. */
function serve(lines: readonly Priority[], turns: number, costOf: () => number): Map<Priority, number> {
  const queue = new FairQueue<Priority>(60_000);
  const got = new Map<Priority, number>(lines.map((line) => [line, 0]));
  for (const line of lines) for (let n = 0; n < 3; n++) queue.add(line, line, costOf(), 0);
  for (let turn = 0; turn < turns; turn++) {
    const place = queue.peek(0);
    if (place === undefined) throw new Error("nobody waits");
    queue.serve(place);
    got.set(place.value, (got.get(place.value) ?? 0) + place.cost);
    queue.add(place.value, place.value, costOf(), 0);
  }
  return got;
}

/** How far the lines are apart in what they got for their weight. */
function spread(got: ReadonlyMap<Priority, number>): number {
  const shares = [...got].map(([line, cost]) => cost / line);
  return Math.max(...shares) - Math.min(...shares);
}

describe("FairPool: shares by priority", () => {
  test("lines that always have somebody waiting share 8 : 4 : 2 : 1, whatever their calls cost", () => {
    const cases = fc.record({
      lines: fc.subarray([...WEIGHTED], { minLength: 2 }),
      costs: fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }),
    });
    fc.assert(
      fc.property(cases, ({ lines, costs }) => {
        let at = 0;
        const got = serve(lines, 2_000, () => costs[at++ % costs.length] ?? 1);
        // Start-time fair queueing keeps any two lines within one call of each, divided by their weights.
        expect(spread(got)).toBeLessThanOrEqual(2 * Math.max(...costs) + 1e-6);
      }),
      { numRuns: RUNS },
    );
  });

  test("the oracle bites: turn and turn about, or first come first served, is far outside of it", () => {
    const equal = new Map<Priority, number>(WEIGHTED.map((line) => [line, 500]));
    expect(spread(equal)).toBeGreaterThan(100 * 2);
    expect(spread(serve(WEIGHTED, 2_000, () => 1))).toBeLessThanOrEqual(2);
  });

  test("a line that was idle is owed nothing for it", () => {
    const queue = new FairQueue<string>(60_000);
    for (let n = 0; n < 200; n++) queue.add("high", Priority.HIGH, 1, 0);
    for (let n = 0; n < 100; n++) {
      const place = queue.peek(0);
      if (place !== undefined) queue.serve(place);
    }
    for (let n = 0; n < 100; n++) queue.add("low", Priority.LOW, 1, 0);
    const next = Array.from({ length: 50 }, () => {
      const place = queue.peek(0);
      if (place !== undefined) queue.serve(place);
      return place?.value;
    });
    expect(next.filter((name) => name === "low").length).toBe(10);
  });

  test("of two lines that were idle the heavier goes first, also if the lighter one never had anything", () => {
    const queue = new FairQueue<string>(60_000);
    const serveNext = (): string | undefined => {
      const place = queue.peek(0);
      if (place !== undefined) queue.serve(place);
      return place?.value;
    };
    for (const priority of [Priority.HIGH, ...Array.from({ length: 20 }, () => Priority.CRITICAL)]) {
      queue.add("earlier", priority, 1, 0);
      serveNext();
    }
    queue.add("low", Priority.LOW, 1, 0);
    queue.add("high", Priority.HIGH, 1, 0);
    expect([serveNext(), serveNext()]).toEqual(["high", "low"]);
  });

  test("a line in which only one waits at a time gets no more than its share either", () => {
    const queue = new FairQueue<string>(60_000);
    for (let n = 0; n < 100; n++) queue.add("high", Priority.HIGH, 1, 0);
    queue.add("low", Priority.LOW, 1, 0);
    let low = 0;
    for (let n = 0; n < 50; n++) {
      const place = queue.peek(0);
      if (place === undefined) throw new Error("nobody waits");
      queue.serve(place);
      if (place.value !== "low") continue;
      low++;
      queue.add("low", Priority.LOW, 1, 0);
    }
    expect(low).toBe(10);
  });

  test.each([
    ["tokens, where they are limited", 1_000, ["n1", "l1", "l2", "l3", "l4", "l5", "n2", "l6"]],
    ["calls, where they are not", undefined, ["n1", "l1", "n2", "l2", "l3", "l4", "l5", "l6"]],
  ])("a priority is charged for %s", async (_what, tokensPerMinute, expected) => {
    const pool = new FairPool({ concurrency: 1, tokensPerMinute, clock: virtualClock() });
    const holder = await pool.acquire({ priority: Priority.NORMAL });
    const order: string[] = [];
    const ask = async (name: string, priority: Priority, tokens: number): Promise<void> => {
      const permit = await pool.acquire({ priority, tokens });
      order.push(name);
      permit.release({ tokens });
    };
    const large = ["n1", "n2"].map((name) => ask(name, Priority.NORMAL, 100));
    const small = ["l1", "l2", "l3", "l4", "l5", "l6"].map((name) => ask(name, Priority.LOW, 10));
    holder.release();
    await Promise.all([...large, ...small]);
    expect(order).toEqual(expected);
  });

  test("the lowest is served soon among any crowd of the highest: nothing starves", async () => {
    const pool = new FairPool({ concurrency: 1, clock: virtualClock() });
    const order: string[] = [];
    const holder = await pool.acquire({ priority: Priority.CRITICAL });
    const calls = Array.from({ length: 500 }, async (_, index) => {
      const isLow = index === 499;
      const permit = await pool.acquire({ priority: isLow ? Priority.LOW : Priority.CRITICAL });
      order.push(isLow ? "low" : "critical");
      permit.release();
    });
    holder.release();
    await Promise.all(calls);
    expect(order.indexOf("low")).toBeLessThanOrEqual(9);
  });

  test("BACKGROUND goes only when nobody else waits", async () => {
    const pool = new FairPool({ concurrency: 1, clock: virtualClock() });
    const order: string[] = [];
    const holder = await pool.acquire({ priority: Priority.LOW });
    const calls = [Priority.BACKGROUND, Priority.LOW, Priority.NORMAL, Priority.BACKGROUND, Priority.LOW].map(
      async (priority) => {
        const permit = await pool.acquire({ priority });
        order.push(priority === Priority.BACKGROUND ? "background" : "other");
        permit.release();
      },
    );
    holder.release();
    await Promise.all(calls);
    expect(order).toEqual(["other", "other", "other", "background", "background"]);
  });

  test("how long BACKGROUND has waited is counted from when it came", () => {
    const queue = new FairQueue<string>(60_000);
    queue.add("background", Priority.BACKGROUND, 1, 100_000);
    for (let n = 0; n < 3; n++) queue.add("high", Priority.HIGH, 1, 100_000);
    const served = (now: number): string | undefined => {
      const place = queue.peek(now);
      if (place !== undefined) queue.serve(place);
      return place?.value;
    };
    expect([served(100_000), served(159_999), served(160_000)]).toEqual(["high", "high", "background"]);
  });

  test("BACKGROUND that has waited long enough takes part like LOW", () => {
    const queue = new FairQueue<string>(1000);
    queue.add("old", Priority.BACKGROUND, 1, 0);
    for (let n = 0; n < 50; n++) queue.add("critical", Priority.CRITICAL, 1, 0);
    const servedBefore = (time: number): number => {
      for (let served = 0; served < 50; served++) {
        const place = queue.peek(time);
        if (place === undefined || place.value === "old") return served;
        queue.serve(place);
      }
      return 50;
    };
    for (let n = 0; n < 20; n++) {
      const place = queue.peek(999);
      expect(place?.value).toBe("critical");
      if (place !== undefined) queue.serve(place);
    }
    expect(servedBefore(1000)).toBeLessThanOrEqual(8);
  });
});

describe("FairPool: any order of asking, ending, giving up, waiting and slowing down", () => {
  type Step = {
    kind: "ask" | "end" | "stop" | "wait" | "slow";
    priority: Priority;
    tokens: number;
    pick: number;
  };
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.record({
      kind: fc.constantFrom("ask", "ask", "ask", "end", "end", "stop", "wait", "slow"),
      priority: fc.constantFrom(...Object.values(Priority)),
      tokens: fc.nat(100),
      pick: fc.nat(1000),
    }),
    { maxLength: 40, size: "max" },
  );

  test("limits hold at every moment, everybody is served or gave up, and nothing is left", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (script, concurrency) => {
        const clock = virtualClock();
        const rate = { requestsPerMinute: 30, tokensPerMinute: 500 };
        const pool = new FairPool({ ...rate, concurrency, clock });
        const held: Permit[] = [];
        const stops: AbortController[] = [];
        let asked = 0;
        let served = 0;
        let stopped = 0;
        let tokens = 0;
        let closedUntil = 0;
        const got = (permit: Permit, wanted: number): void => {
          served++;
          tokens += wanted;
          held.push(permit);
          expect(held.length).toBeLessThanOrEqual(concurrency);
          expect(clock.now()).toBeGreaterThanOrEqual(closedUntil);
          const minutes = clock.now() / 60_000;
          expect(served).toBeLessThanOrEqual(rate.requestsPerMinute * (1 + minutes) + 0.001);
          expect(tokens).toBeLessThanOrEqual(rate.tokensPerMinute * (1 + minutes) + 0.001);
        };
        const failures: unknown[] = [];
        for (const step of script) {
          if (step.kind === "ask") {
            asked++;
            const stop = new AbortController();
            stops.push(stop);
            const permit = pool.acquire({
              priority: step.priority,
              tokens: step.tokens,
              signal: stop.signal,
            });
            if (isPromiseLike(permit)) {
              permit
                .then(
                  (later) => got(later, step.tokens),
                  (error: unknown) => void (stop.signal.aborted ? stopped++ : failures.push(error)),
                )
                .then(undefined, (error: unknown) => failures.push(error));
            } else got(permit, step.tokens);
          } else if (step.kind === "end") held.splice(step.pick % Math.max(1, held.length), 1)[0]?.release();
          else if (step.kind === "stop") stops[step.pick % Math.max(1, stops.length)]?.abort();
          else if (step.kind === "slow") {
            pool.slowDown(step.pick * 10);
            closedUntil = Math.max(closedUntil, clock.now() + step.pick * 10);
          }
          // What was granted in this step is seen in this step.
          await clock.advance(step.kind === "wait" ? step.pick * 20 : 0);
        }
        for (let rounds = 0; rounds < 500 && (pool.waiting > 0 || pool.active > 0); rounds++) {
          for (const permit of held.splice(0)) permit.release();
          await clock.advance(60_000);
        }
        await clock.advance(0);
        expect(failures).toEqual([]);
        expect(served + stopped).toBe(asked);
        expect([pool.active, pool.waiting, clock.pending]).toEqual([0, 0, 0]);
      }),
      { numRuns: RUNS },
    );
  }, 600_000);
});
