import { HookEvent } from "@ravi/kernel";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type HookCallback, HookManager } from "../src/index.ts";
import { dispatchSample } from "./sample.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 500;
const EVENTS = [HookEvent.STEP_START, HookEvent.LLM_END] as const;

/** What a callback does when it is called, besides being noted down. */
type Act =
  | { readonly kind: "nothing" | "leave" | "clear" | "join" }
  | { readonly kind: "remove"; readonly which: number };

type Step =
  | { readonly kind: "on"; readonly event: number; readonly act: Act }
  | { readonly kind: "onAny" }
  | { readonly kind: "again" | "off" | "unregister"; readonly which: number }
  | { readonly kind: "clear"; readonly event: number | undefined }
  | { readonly kind: "dispatch"; readonly event: number };

const eventIndex = fc.nat({ max: EVENTS.length - 1 });
const which = fc.nat({ max: 6 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "nothing" } as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { kind: "leave" } as const,
      { kind: "clear" } as const,
      { kind: "join" } as const,
    ),
  },
  { weight: 3, arbitrary: which.map((index) => ({ kind: "remove", which: index }) as const) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("on"), event: eventIndex, act }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("onAny") }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("again", "off", "unregister"), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("clear"), event: fc.option(eventIndex, { nil: undefined }) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("dispatch"), event: eventIndex }) },
);

/** One registration: the oracle's own book, a plain list in the order of registration. */
interface Entry {
  readonly id: number;
  readonly events: readonly HookEvent[];
  readonly callback: HookCallback;
  readonly act: Act;
  /** The events on which it is still to be called. */
  readonly live: Set<HookEvent>;
  off: () => void;
}

/** Plays the steps on a manager and on a list, and says where the two first differ. */
function play(hooks: HookManager, steps: readonly Step[]): string | undefined {
  const book: Entry[] = [];
  let heard: number[] = [];

  const enter = (events: readonly HookEvent[], doing: Act, reuse?: Entry): void => {
    const id = book.length;
    const entry: Entry = {
      id,
      events,
      act: doing,
      live: new Set(events),
      off: () => {},
      callback: reuse?.callback ?? (() => called(entry)),
    };
    const [only] = events;
    // One callback added twice cannot tell who it is; both note the first's number.
    entry.off =
      events.length === 1 && only !== undefined
        ? hooks.on(only, entry.callback)
        : hooks.onAny(() => called(entry));
    book.push(reuse === undefined ? entry : { ...entry, id: reuse.id });
  };
  const leave = (entry: Entry): void => {
    entry.live.clear();
    entry.off();
  };
  const clear = (event: HookEvent | undefined): void => {
    for (const entry of book) {
      if (event === undefined) entry.live.clear();
      else entry.live.delete(event);
    }
    hooks.clear(event);
  };
  const called = (entry: Entry): void => {
    heard.push(entry.id);
    if (entry.act.kind === "leave") leave(entry);
    if (entry.act.kind === "clear") clear(undefined);
    if (entry.act.kind === "join") enter([EVENTS[0]], { kind: "nothing" });
    if (entry.act.kind === "remove") {
      const other = book[entry.act.which];
      if (other !== undefined) leave(other);
    }
  };
  const unregister = (entry: Entry): void => {
    const [event] = entry.events;
    if (event === undefined || entry.events.length > 1) return;
    for (const other of book) if (other.callback === entry.callback) other.live.delete(event);
    hooks.unregister(event, entry.callback);
  };
  /** What the list says of a dispatch, given what the callbacks do to it meanwhile. */
  const foretell = (event: HookEvent): number[] => {
    const shadow = book.map((entry) => ({ entry, live: entry.live.has(event) }));
    const calls: number[] = [];
    for (const [at, row] of shadow.entries()) {
      if (!row.live) continue;
      calls.push(row.entry.id);
      const actor = shadow.find(({ entry }) => entry.callback === row.entry.callback)?.entry ?? row.entry;
      const gone = (index: number): void => {
        const other = shadow[index];
        if (other !== undefined && index > at) other.live = false;
      };
      if (actor.act.kind === "clear") shadow.forEach((_, index) => gone(index));
      if (actor.act.kind === "remove") gone(actor.act.which);
      if (actor.act.kind === "leave") gone(shadow.findIndex(({ entry }) => entry === actor));
    }
    return calls;
  };

  for (const [at, now] of steps.entries()) {
    const entry = "which" in now ? book[now.which] : undefined;
    if (now.kind === "on") enter([EVENTS[now.event] ?? EVENTS[0]], now.act);
    if (now.kind === "onAny") enter(EVENTS, { kind: "nothing" });
    if (now.kind === "again" && entry?.events.length === 1) enter(entry.events, entry.act, entry);
    if (now.kind === "off" && entry !== undefined) leave(entry);
    if (now.kind === "unregister" && entry !== undefined) unregister(entry);
    if (now.kind === "clear") clear(now.event === undefined ? undefined : EVENTS[now.event]);
    if (now.kind === "dispatch") {
      const event = EVENTS[now.event] ?? EVENTS[0];
      const foretold = foretell(event);
      heard = [];
      void dispatchSample(hooks, event);
      if (heard.join() !== foretold.join())
        return `step ${at}: ${event} called ${heard.join()}, not ${foretold.join()}`;
    }
    for (const event of EVENTS) {
      const listens = book.some((row) => row.live.has(event));
      if (hooks.has(event) !== listens) return `step ${at}: has(${event}) is not ${listens}`;
    }
  }
  return undefined;
}

function assertHolds(make: () => HookManager): void {
  const steps = fc.array(step, { maxLength: 40, size: "max" });
  fc.assert(
    fc.property(steps, (list) => {
      expect(play(make(), list)).toBeUndefined();
    }),
    { numRuns: RUNS },
  );
}

test("R20: any interleaving calls every live listener once per dispatch, in its order, and none that left", () => {
  assertHolds(() => new HookManager());
});

class OffForgets extends HookManager {
  override on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void {
    super.on(event, callback);
    return () => {};
  }
}
class CallsTwice extends HookManager {
  override on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void {
    return super.on(event, (payload) => [callback(payload), callback(payload)]);
  }
}
class ClearSparesOne extends HookManager {
  override clear(event?: HookEvent): void {
    super.clear(event ?? HookEvent.LLM_END);
  }
}
class UnregisterDoesNothing extends HookManager {
  override unregister(): boolean {
    return false;
  }
}
/** Who left during a dispatch is still called in it. */
class OffComesLate extends HookManager {
  private depth = 0;
  private readonly later: (() => void)[] = [];
  override on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void {
    const off = super.on(event, callback);
    return () => (this.depth > 0 ? void this.later.push(off) : off());
  }
  override dispatch: HookManager["dispatch"] = (event, payload) => {
    this.depth++;
    const result = super.dispatch(event, payload);
    this.depth--;
    for (const off of this.later.splice(0)) off();
    return result;
  };
}
/** The newest is called first. */
class Reversed extends HookManager {
  private readonly all: { readonly event: HookEvent; readonly callback: HookCallback }[] = [];
  override on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void {
    const own = { event, callback: callback as HookCallback };
    this.all.unshift(own);
    const rebuild = (): void => {
      super.clear(event);
      for (const each of this.all) if (each.event === event) super.on(event, each.callback);
    };
    rebuild();
    return () => {
      this.all.splice(this.all.indexOf(own), 1);
      rebuild();
    };
  }
}

test.each([OffForgets, CallsTwice, ClearSparesOne, UnregisterDoesNothing, OffComesLate, Reversed])(
  "R20: the property bites: %o is caught",
  (Broken) => {
    expect(() => assertHolds(() => new Broken())).toThrow(/Property failed/);
  },
);
