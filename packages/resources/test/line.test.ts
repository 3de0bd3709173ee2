import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { isPromiseLike, isRaviError, type ReserveOptions, type Spend } from "@ravi/kernel";
import { ExecutionTracker, type OpenReservation, reserveAll } from "@ravi/resources";
import { virtualClock } from "@ravi/testing";
import { complaint, exhaustion } from "./helpers.ts";

// A call that does not fit beside those under way may wait until they give back what they have not used.

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 300;

/** A call that is reserved with `onFull: "queue"`, and what it has come to. */
class Queued {
  is: "waiting" | "granted" | "closed" | "refused" | "cancelled" = "waiting";
  readonly wanted: Partial<Spend>;
  private reservation: OpenReservation | undefined;

  constructor(tracker: ExecutionTracker, wanted: Partial<Spend>, more: Omit<ReserveOptions, "onFull"> = {}) {
    this.wanted = wanted;
    try {
      const reserved = tracker.reserve(wanted, { ...more, onFull: "queue" });
      if (!isPromiseLike(reserved)) this.grant(reserved);
      else
        reserved.then(
          (reservation) => this.grant(reservation),
          (error: unknown) => this.refuse(error),
        );
    } catch (error) {
      this.refuse(error);
    }
  }

  settle(actual: Partial<Spend>): void {
    if (this.reservation === undefined) throw new Error(`it is ${this.is}`);
    this.reservation.settle(actual);
    this.is = "closed";
  }

  cancel(): void {
    this.reservation?.cancel();
    this.is = "closed";
  }

  private grant(reservation: OpenReservation): void {
    this.is = "granted";
    this.reservation = reservation;
  }

  private refuse(error: unknown): void {
    if (isRaviError(error, "BUDGET_EXHAUSTED")) this.is = "refused";
    else if (isRaviError(error, "CANCELLED")) this.is = "cancelled";
    else throw error;
  }
}

async function outcomes(...calls: readonly Queued[]): Promise<string[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return calls.map((call) => call.is);
}

describe("R18: a call that does not fit beside those under way may wait for them", () => {
  test("R18: it gets its money in the tick in which they give enough back", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    const open = tracker.reserve({ tokens: 90 });
    const call = new Queued(tracker, { tokens: 80 });
    expect(await outcomes(call)).toEqual(["waiting"]);
    expect(tracker.open, "who waits holds nothing").toBe(1);
    open.settle({ tokens: 20 });
    expect(tracker.remaining().tokens, "nobody can come between").toBe(0);
    expect(await outcomes(call)).toEqual(["granted"]);
    call.settle({ tokens: 80 });
    expect([tracker.used.tokens, tracker.open]).toEqual([100, 0]);
  });

  test("R18: dollars are waited for as well, and a call that was never sent gives all of it back", async () => {
    const tracker = new ExecutionTracker({ maxCostUsd: 0.02 });
    const open = tracker.reserve({ tokens: 1, cost: 0.015 });
    const call = new Queued(tracker, { tokens: 1, cost: 0.015 });
    open.cancel();
    expect(await outcomes(call)).toEqual(["granted"]);
  });

  test("R18: without being asked to, it is refused, and the refusal says whether waiting would help", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100, maxTurns: 2 });
    tracker.reserve({ tokens: 90, turns: 1 });
    expect(exhaustion(() => tracker.reserve({ tokens: 80 })).waitable).toBe(true);
    expect(exhaustion(() => tracker.reserve({ tokens: 101 })).waitable).toBeUndefined();
    expect(exhaustion(() => tracker.reserve({ tokens: 1, turns: 2 })).waitable).toBeUndefined();
  });

  test.each<[string, Partial<Spend>]>([
    ["it is larger than the whole limit", { tokens: 101 }],
    ["it is larger than what was not spent yet", { tokens: 91 }],
    ["turns are missing, which no call gives back", { tokens: 1, turns: 2 }],
    ["tool calls are missing", { toolCalls: 2 }],
  ])("R18: it is refused at once if %s", (_, wanted) => {
    const budget = { maxTokens: 100, maxTurns: 2, maxToolCalls: 2 };
    const tracker = new ExecutionTracker(budget, { reserve: false });
    tracker.consume({ tokens: 10 });
    tracker.reserve({ tokens: 50, turns: 1, toolCalls: 1 });
    expect(exhaustion(() => tracker.reserve(wanted, { onFull: "queue" })).waitable).toBeUndefined();
  });

  test("R18: it is refused as soon as those under way have used too much", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { reserve: false });
    const [one, two] = [tracker.reserve({ tokens: 50 }), tracker.reserve({ tokens: 50 })];
    const [large, small] = [new Queued(tracker, { tokens: 80 }), new Queued(tracker, { tokens: 60 })];
    one.settle({ tokens: 30 });
    expect(await outcomes(large, small)).toEqual(["refused", "waiting"]);
    two.settle({ tokens: 10 });
    expect(await outcomes(small)).toEqual(["granted"]);
  });

  test.each<[string, (tracker: ExecutionTracker) => void]>([
    ["charged", (tracker) => tracker.charge({ tokens: 50 })],
    ["consumed", (tracker) => tracker.consume({ tokens: 50 })],
  ])("R18: it is refused as soon as too much is %s without a reservation", async (_, spend) => {
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { reserve: false });
    tracker.reserve({ tokens: 30 });
    const call = new Queued(tracker, { tokens: 80 });
    expect(await outcomes(call)).toEqual(["waiting"]);
    spend(tracker.child({}, "helper"));
    expect(await outcomes(call)).toEqual(["refused"]);
  });

  test("R18: what is held back for a last turn is not waited for, except by that turn", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { reserve: { tokens: 30 } });
    const open = tracker.reserve({ tokens: 70 });
    expect(exhaustion(() => tracker.reserve({ tokens: 71 }, { onFull: "queue" })).hint).toMatch(/held back/);
    const last = new Queued(tracker, { tokens: 100 }, { wrapUp: true });
    expect(await outcomes(last)).toEqual(["waiting"]);
    open.cancel();
    expect(await outcomes(last)).toEqual(["granted"]);
  });

  test("R18: first come, first served, however large the first one is", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    const [one, two] = [tracker.reserve({ tokens: 40 }), tracker.reserve({ tokens: 50 })];
    const calls = [90, 20, 15].map((tokens) => new Queued(tracker, { tokens }));
    one.settle({ tokens: 0 });
    expect(await outcomes(...calls)).toEqual(["waiting", "waiting", "waiting"]);
    two.settle({ tokens: 0 });
    expect(await outcomes(...calls)).toEqual(["granted", "waiting", "waiting"]);
    calls[0]?.settle({ tokens: 0 });
    expect(await outcomes(...calls)).toEqual(["closed", "granted", "granted"]);
  });

  test("R18: each ledger of a chain has its own line, and who is let through one may have to wait in the next", async () => {
    const lead = new ExecutionTracker({ maxTokens: 100 }, { scope: "lead" });
    const [ann, ben] = [lead.child({ maxTokens: 50 }, "ann"), lead.child({}, "ben")];
    const [anns, bens] = [ann.reserve({ tokens: 50 }), ben.reserve({ tokens: 50 })];
    const [byAnn, byBen] = [new Queued(ann, { tokens: 30 }), new Queued(ben, { tokens: 20 })];
    anns.settle({ tokens: 10 });
    expect(await outcomes(byAnn, byBen), "ann has 40 left, and so has the lead").toEqual([
      "granted",
      "waiting",
    ]);
    bens.settle({ tokens: 10 });
    expect(await outcomes(byBen)).toEqual(["granted"]);

    const more = [ann.reserve({ tokens: 10 }), ben.reserve({ tokens: 20 })];
    const moved = new Queued(ann, { tokens: 10 });
    expect(lead.remaining().tokens).toBe(0);
    more[0]?.cancel();
    expect(await outcomes(moved)).toEqual(["granted"]);
  });

  test("R18: who is let through one line is served by the next, in the tick in which there is room in it", async () => {
    const lead = new ExecutionTracker({ maxTokens: 100 });
    const [ann, ben] = [lead.child({ maxTokens: 50 }, "ann"), lead.child({}, "ben")];
    const [anns, bens] = [ann.reserve({ tokens: 50 }), ben.reserve({ tokens: 50 })];
    const call = new Queued(ann, { tokens: 20 });
    anns.settle({ tokens: 0 });
    expect(await outcomes(call)).toEqual(["granted"]);
    call.cancel();

    const more = [ann.reserve({ tokens: 40 }), ben.reserve({ tokens: 10 })];
    const moved = new Queued(ann, { tokens: 30 });
    more[0]?.settle({ tokens: 15 });
    expect(await outcomes(moved), "ann has 35 left, and the lead 25").toEqual(["waiting"]);
    bens.settle({ tokens: 40 });
    expect(await outcomes(moved)).toEqual(["granted"]);
  });

  test("R18: when its ten minutes are over it has what it asked for, if only somebody before it kept it waiting", async () => {
    const clock = virtualClock();
    const lead = new ExecutionTracker({ maxTokens: 100 }, { clock });
    const [ann, ben] = [lead.child({ maxTokens: 40 }, "ann"), lead.child({}, "ben")];
    const anns = ann.reserve({ tokens: 25 });
    const bens = [ben.reserve({ tokens: 30 }), ben.reserve({ tokens: 45 })];
    const small = new Queued(ann, { tokens: 20 });
    await clock.advance(1_000);
    const large = new Queued(ben, { tokens: 60 });
    // Now the small one stands behind the large one, which came later.
    anns.settle({ tokens: 15 });
    bens[1]?.cancel();
    expect(await outcomes(small, large)).toEqual(["waiting", "waiting"]);
    await clock.advance(599_000);
    expect(await outcomes(small, large)).toEqual(["granted", "waiting"]);
  });

  test("R18: those that have waited have reservations of their own, each with its id", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 10 });
    const open = tracker.reserve({ tokens: 10 });
    const waiting = [3, 4].map(async (tokens) => tracker.reserve({ tokens }, { onFull: "queue" }));
    open.cancel();
    const got = await Promise.all(waiting);
    expect(got.map(({ id }) => tracker.reservation(id)?.reserved.tokens)).toEqual([3, 4]);
  });

  test("R18: a small call of one helper is not held up by another helper that has reached its own limit", async () => {
    const lead = new ExecutionTracker({ maxTokens: 100 });
    const [ann, ben] = [lead.child({ maxTokens: 50 }, "ann"), lead.child({}, "ben")];
    ann.reserve({ tokens: 50 });
    const bens = ben.reserve({ tokens: 50 });
    const [byAnn, byBen] = [new Queued(ann, { tokens: 40 }), new Queued(ben, { tokens: 30 })];
    bens.settle({ tokens: 0 });
    expect(await outcomes(byAnn, byBen)).toEqual(["waiting", "granted"]);
  });

  test("R18: it goes on when somebody raises the limit", async () => {
    const lead = new ExecutionTracker({ maxTokens: 100 });
    const helper = lead.child({}, "helper");
    helper.reserve({ tokens: 100 });
    const [call, other] = [new Queued(helper, { tokens: 60 }), new Queued(helper, { tokens: 60 })];
    helper.raise({ tokens: 60 });
    expect(await outcomes(call, other)).toEqual(["granted", "waiting"]);
  });

  test("R18: who is aborted leaves the line at once, and lets those behind it through", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    tracker.reserve({ tokens: 60 });
    const abort = new AbortController();
    const large = new Queued(tracker, { tokens: 90 }, { signal: abort.signal });
    const small = new Queued(tracker, { tokens: 50 });
    tracker.reserve({ tokens: 20 }).cancel();
    expect(await outcomes(large, small), "the small one does not overtake").toEqual(["waiting", "waiting"]);
    expect(tracker.remaining().tokens).toBe(40);
    const third = new Queued(tracker, { tokens: 41 });
    abort.abort();
    expect(await outcomes(large, small, third)).toEqual(["cancelled", "waiting", "waiting"]);
    expect(new Queued(tracker, { tokens: 90 }, { signal: abort.signal }).is).toBe("cancelled");
    expect(tracker.open).toBe(1);
  });

  test("R18: if one signal aborts several, none of them gets what the first one leaves", async () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    const [, other] = [tracker.reserve({ tokens: 50 }), tracker.reserve({ tokens: 20 })];
    const abort = new AbortController();
    const { signal } = abort;
    const calls = [90, 40].map((tokens) => new Queued(tracker, { tokens }, { signal }));
    const third = new Queued(tracker, { tokens: 50 });
    other.cancel();
    abort.abort();
    expect(await outcomes(...calls, third)).toEqual(["cancelled", "cancelled", "granted"]);
  });

  test("R18: it waits ten minutes at most, so a reservation that nobody closes holds nobody for ever", async () => {
    const clock = virtualClock();
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { clock });
    tracker.reserve({ tokens: 60 });
    const [large, small] = [
      new Queued(tracker, { tokens: 90 }),
      new Queued(tracker.child({}, "b"), { tokens: 50 }),
    ];
    await clock.advance(599_999);
    expect(await outcomes(large, small)).toEqual(["waiting", "waiting"]);
    await clock.advance(1);
    expect(await outcomes(large, small)).toEqual(["refused", "refused"]);
    expect([clock.pending, tracker.open]).toEqual([0, 1]);
  });

  test("R18: and longer in a line that moves, of which nobody knows how long it is", async () => {
    const clock = virtualClock();
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { clock });
    const open = tracker.reserve({ tokens: 60 });
    const calls = [60, 60, 60].map((tokens) => new Queued(tracker, { tokens }));
    await clock.advance(540_000);
    open.settle({ tokens: 0 });
    await clock.advance(540_000);
    expect(await outcomes(...calls)).toEqual(["granted", "waiting", "waiting"]);
    calls[0]?.settle({ tokens: 0 });
    await clock.advance(599_999);
    expect(await outcomes(...calls)).toEqual(["closed", "granted", "waiting"]);
    await clock.advance(1);
    expect(await outcomes(...calls)).toEqual(["closed", "granted", "refused"]);
    expect([clock.pending, tracker.open]).toEqual([0, 1]);
  });

  test("R18: a call that needs a second ledger as well, and does not get it, moves no line", async () => {
    const clock = virtualClock();
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { clock });
    const [open, other] = [tracker.reserve({ tokens: 40 }), tracker.reserve({ tokens: 60 })];
    const onTurn = (): void => void new ExecutionTracker({ maxTokens: 1 }).reserve({ tokens: 2 });
    const [both, behind] = [
      new Queued(tracker, { tokens: 40 }, { onTurn }),
      new Queued(tracker, { tokens: 60 }),
    ];
    await clock.advance(300_000);
    open.cancel();
    await clock.advance(300_000);
    expect(await outcomes(both, behind)).toEqual(["refused", "refused"]);
    expect([clock.pending, tracker.open, other.isOpen]).toEqual([0, 1, true]);
  });

  test("R18: when the first in line gives up, the next one takes what has become free", async () => {
    const clock = virtualClock();
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { clock });
    const [one] = [tracker.reserve({ tokens: 60 }), tracker.reserve({ tokens: 30 })];
    const large = new Queued(tracker, { tokens: 90 });
    await clock.advance(1);
    const small = new Queued(tracker, { tokens: 50 });
    one.cancel();
    await clock.advance(599_998);
    expect(await outcomes(large, small)).toEqual(["waiting", "waiting"]);
    await clock.advance(1);
    expect(await outcomes(large, small)).toEqual(["refused", "granted"]);
  });

  test("R18: nobody who has what it asked for leaves a timer or a listener behind", async () => {
    const clock = virtualClock();
    const tracker = new ExecutionTracker({ maxTokens: 100 }, { clock });
    const open = tracker.reserve({ tokens: 100 });
    const abort = new AbortController();
    const { signal } = abort;
    const listeners = new Set<unknown>();
    vi.spyOn(signal, "addEventListener").mockImplementation((_, listener) => void listeners.add(listener));
    vi.spyOn(signal, "removeEventListener").mockImplementation(
      (_, listener) => void listeners.delete(listener),
    );
    const call = new Queued(tracker, { tokens: 50 }, { signal });
    expect([clock.pending, listeners.size]).toEqual([1, 1]);
    open.cancel();
    expect([clock.pending, listeners.size]).toEqual([0, 0]);
    abort.abort();
    expect(await outcomes(call)).toEqual(["granted"]);
  });

  test.each(["wait", true])("R18: onFull %j is no choice", (onFull) => {
    const tracker = new ExecutionTracker({ maxTokens: 1 });
    const reserve = (): unknown => Reflect.apply(tracker.reserve, tracker, [{ tokens: 2 }, { onFull }]);
    expect(complaint(reserve).message).toMatch(/onFull.*"deny".*"queue"/);
  });

  test("R18: who needs a second ledger as well takes from it in its turn, or leaves the line without anything", async () => {
    const [one, two] = [new ExecutionTracker({ maxTokens: 100 }), new ExecutionTracker({ maxTokens: 50 })];
    const open = one.reserve({ tokens: 90 });
    const both = (): Promise<string> => {
      const onTurn = (): void => void two.reserve({ tokens: 40 });
      const asked = one.reserve({ tokens: 40 }, { onFull: "queue", onTurn });
      return Promise.resolve(asked).then(
        () => "granted",
        (error: unknown) => (isRaviError(error, "BUDGET_EXHAUSTED") ? error.dimension : "failed"),
      );
    };
    const calls = [both(), both()];
    const behind = new Queued(one, { tokens: 60 });
    open.cancel();
    expect([one.remaining().tokens, two.remaining().tokens], "in one tick").toEqual([0, 10]);
    expect(await Promise.all(calls)).toEqual(["granted", "tokens"]);
    expect(await outcomes(behind), "who left held up nobody").toEqual(["granted"]);
    expect([one.open, two.open]).toEqual([2, 1]);
  });

  test("R18: of several ledgers nobody waits, because what is held in one could be what the other waits for", () => {
    const [one, two] = [new ExecutionTracker({ maxTokens: 100 }), new ExecutionTracker({ maxTokens: 100 })];
    two.reserve({ tokens: 60 });
    const refusal = exhaustion(() => reserveAll([one, two], { tokens: 50 }, { onFull: "queue" }));
    expect([refusal.waitable, one.open, two.open]).toEqual([true, 0, 1]);
  });
});

describe("T2: whoever waits, however calls come and go", () => {
  const nth = fc.nat(9);
  const amounts = { tokens: fc.nat(60), nano: fc.nat(30) };
  const ask = fc.record({ do: fc.constant("ask" as const), at: fc.nat(3), ...amounts });
  const settle = fc.record({ do: fc.constant("settle" as const), nth, part: fc.nat(10) });
  const command = fc.oneof(
    { weight: 5, arbitrary: ask },
    { weight: 4, arbitrary: settle },
    fc.record({ do: fc.constant("cancel" as const), nth }),
    fc.record({ do: fc.constant("abort" as const), nth }),
    fc.record({ do: fc.constant("raise" as const), at: fc.nat(3), tokens: fc.nat(20) }),
  );
  type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;
  const cap = (min: number) => fc.integer({ min, max: 300 });
  const games = fc.record({
    caps: fc.tuple(cap(60), cap(0), cap(0), cap(0)),
    isTree: fc.boolean(),
    commands: fc.array(command, { minLength: 20, maxLength: 80 }),
  });

  /** Some calls of one ledger, or of a tree of four. */
  class Game {
    readonly clock = virtualClock();
    readonly ledgers: readonly ExecutionTracker[];
    readonly calls: Queued[] = [];
    private readonly aborts = new Map<Queued, AbortController>();

    constructor([most, left, right, low]: readonly [number, number, number, number], isTree: boolean) {
      const root = new ExecutionTracker({ maxTokens: most, maxCostUsd: 1e-7 }, { clock: this.clock });
      const one = root.child({ maxTokens: left }, "left");
      const other = root.child({ maxCostUsd: right * 1e-9 }, "right");
      this.ledgers = isTree ? [root, one, other, one.child({ maxTokens: low }, "low")] : [root];
    }

    get waiting(): Queued[] {
      return this.calls.filter((call) => call.is === "waiting");
    }

    get open(): Queued[] {
      return this.calls.filter((call) => call.is === "granted");
    }

    at(index: number): ExecutionTracker {
      const ledger = this.ledgers[index % this.ledgers.length];
      if (ledger === undefined) throw new Error("there is no ledger");
      return ledger;
    }

    ask(ledger: ExecutionTracker, wanted: Partial<Spend>): void {
      const abort = new AbortController();
      const call = new Queued(ledger, wanted, { signal: abort.signal });
      this.calls.push(call);
      this.aborts.set(call, abort);
    }

    play(one: Command): void {
      if (one.do === "ask") this.ask(this.at(one.at), { tokens: one.tokens + 1, cost: one.nano * 1e-9 });
      else if (one.do === "raise") this.at(one.at).raise({ tokens: one.tokens });
      else {
        const among = one.do === "abort" ? this.waiting : this.open;
        const call = among[one.nth % Math.max(1, among.length)];
        if (call === undefined) return;
        if (one.do === "abort") this.aborts.get(call)?.abort();
        else if (one.do === "cancel") call.cancel();
        else call.settle({ tokens: Math.floor(((call.wanted.tokens ?? 0) * one.part) / 10), cost: 0 });
      }
    }

    /** What is wrong now; nothing if all is well. */
    *faults(): Generator<string> {
      const { waiting, open, clock } = this;
      for (const ledger of this.ledgers)
        if (ledger.overrun().tokens > 0 || ledger.overrun().cost > 0) yield "a limit is passed";
      if (this.at(0).open !== open.length) yield `${this.at(0).open} are open instead of ${open.length}`;
      if (clock.pending !== waiting.length) yield `${clock.pending} timers for ${waiting.length} that wait`;
      if (open.length === 0 && waiting.length > 0) yield "somebody waits for nothing";
      // In a tree, the first to come may wait for another ledger than those that came later.
      const [first] = waiting;
      if (first !== undefined && this.ledgers.length === 1 && !isRefused(this.at(0), first.wanted))
        yield "the first in line has no reason to wait";
    }
  }

  function isRefused(ledger: ExecutionTracker, wanted: Partial<Spend>): boolean {
    try {
      ledger.reserve(wanted).cancel();
      return false;
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED")) return true;
      throw error;
    }
  }

  test(
    "T2: no limit is passed, nobody waits for nothing, and in the end nobody waits",
    { timeout: 600_000 },
    async () => {
      let waited = 0;
      await fc.assert(
        fc.asyncProperty(games, async ({ caps, isTree, commands }) => {
          const game = new Game(caps, isTree);
          for (const one of commands) {
            const before = game.waiting;
            game.play(one);
            waited += game.waiting.length > before.length ? 1 : 0;
            await outcomes();
            if (!isTree && one.do !== "abort") {
              const left = before.map((call) => call.is === "waiting");
              expect(left, "first come, first served").toEqual(
                left.toSorted((a, b) => Number(a) - Number(b)),
              );
            }
            expect([...game.faults()]).toEqual([]);
          }
          for (let [call] = game.open; call !== undefined; [call] = game.open) {
            call.settle({ tokens: 0, cost: 0 });
            await outcomes();
            expect([...game.faults()]).toEqual([]);
          }
        }),
        { numRuns: RUNS },
      );
      expect(waited, "they did wait").toBeGreaterThan(RUNS);
    },
  );
});
