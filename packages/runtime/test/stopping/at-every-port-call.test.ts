import { describe, expect, test } from "vitest";
import {
  isRaviError,
  type Journal,
  type Logger,
  type RunEvent,
  type RunResult,
  type Telemetry,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, done, turns, within } from "../support/helpers.ts";
import { SlowHouse } from "../support/slow-house.ts";

type Ports = (house: SlowHouse) => RuntimeOptions;

const SETTINGS: readonly (readonly [string, Ports])[] = [
  ["bare", () => ({})],
  ["permissions", ({ permissions }) => ({ permissions })],
  ["a limiter", ({ limiter }) => ({ limiter })],
  ["a ledger", ({ ledger }) => ({ ledger })],
  ["layers", ({ pipelines }) => ({ pipelines })],
  [
    "all of them",
    ({ permissions, limiter, ledger, pipelines }) => ({ permissions, limiter, ledger, pipelines }),
  ],
];

interface Stopped {
  readonly house: SlowHouse;
  readonly result: RunResult;
}

/** The run once for each call of a port, stopped at just that call. */
async function* stoppedAtEach(ports: Ports, how: "cancel" | "close"): AsyncGenerator<Stopped> {
  for (let at = 1; ; at++) {
    const house = new SlowHouse(at);
    const runtime = new Runtime({ ...ports(house), agents: [house.lead] });
    const handle = runtime.run(house.lead, "go", { runId: "r" });
    house.stop = () => {
      if (how === "cancel") handle.cancel("enough");
      else void runtime.close();
    };
    const result = await handle.result;
    await turns(10);
    if (house.stoppedAfter === undefined) {
      expect(result, "nobody stopped it").toMatchObject({ status: "completed", output: "all of it" });
      expect(at).toBeGreaterThan(3);
      return;
    }
    yield { house, result };
  }
}

const onJournal =
  (ports: Ports): Ports =>
  (house) => ({ ...ports(house), journal: house.journal() });

describe("stopped at every call of every port", () => {
  const cases = SETTINGS.flatMap(([name, ports]) => [
    [name, "without a journal", ports] as const,
    [name, "on a journal that takes its time", onJournal(ports)] as const,
  ]);

  test.each(cases)(
    "R18: a cancelled run sends and runs nothing more, and leaves no money and no place in a line behind, with %s, %s",
    async (_name, _on, ports) => {
      for await (const { house, result } of stoppedAtEach(ports, "cancel")) {
        const { late, open } = house;
        expect({ late, open }, `after ${house.log.join()}`).toEqual({ late: [], open: 0 });
        expect(["cancelled", "completed"]).toContain(result.status);
      }
    },
  );

  test.each(SETTINGS)(
    "R24: a runtime that is closed sends nothing more, and its run goes on later without being asked about what was not run, with %s",
    async (_, ports) => {
      for await (const { house, result } of stoppedAtEach(onJournal(ports), "close")) {
        const sent = house.late.filter((what) => what === "sent");
        expect({ sent, open: house.open }, `after ${house.log.join()}`).toEqual({ sent: [], open: 0 });
        if (result.status !== "suspended") continue;
        const wasRun = house.log.includes("run");
        house.stop = undefined;
        const runtime = new Runtime({ ...onJournal(ports)(house), agents: [house.lead] });
        const { status, output, error } = await runtime.resume("r").result;
        const isAsked = isRaviError(error, "NEEDS_DECISION") && wasRun;
        expect(isAsked ? "all of it" : output, `${status} after ${house.log.join()}`).toBe("all of it");
      }
    },
  );
});

describe("failing at every call of every port", () => {
  const cases = SETTINGS.flatMap(([name, ports]) => [
    [name, "without a journal", ports] as const,
    [name, "on a journal", onJournal(ports)] as const,
  ]);

  test.each(cases)(
    "R18: a run ends, and leaves no money and no place in a line behind, with %s, %s",
    async (_name, _on, ports) => {
      for (let at = 1; ; at++) {
        const house = new SlowHouse(at);
        let failed: string | undefined;
        house.stop = () => {
          failed = house.log.at(-1);
          throw new Error(`${failed}: out of order`);
        };
        const runtime = new Runtime(ports(house));
        const result = await runtime.run(house.lead, "go").result.catch((error: unknown) => error);
        await turns(10);
        if (failed === undefined) break;
        // What a ledger did not take back is its own.
        const kept = failed === "settle" || failed === "give back" ? 1 : 0;
        expect(house.open, `${failed}: ${String(result)} after ${house.log.join()}`).toBe(kept);
      }
    },
  );
});

describe("R24: an agent's end is heard in any case", () => {
  const broken = (): never => {
    throw new Error("out of order");
  };
  const telemetry: Telemetry = {
    isNoop: false,
    startSpan: () => ({ setAttribute: () => {}, recordError: () => {}, end: broken }),
    metric: () => {},
  };
  const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: broken };

  test.each([
    ["suspended", "completed"],
    ["cancelled", "cancelled"],
    ["completed", "completed"],
    ["failed", "failed"],
  ])(
    "R24: where telemetry and the log both fail, a run that is %s is that, and its claim is given back",
    async (how, atLast) => {
      const journal = new MemoryJournal();
      const waits = agent("waits", async (ctx) => {
        if (how === "failed") throw new Error("oops");
        return done(how === "completed" ? "" : String(await ctx.waitFor("word")));
      });
      const runtime = new Runtime({ journal, telemetry, logger, agents: [waits] });
      const handle = runtime.run(waits, "", { runId: "r" });
      await turns();
      if (how === "cancelled") handle.cancel("enough");
      if (how === "suspended") await within(runtime.close());
      expect(await within(handle.result)).toMatchObject({ status: how });
      const later = new Runtime({ journal, agents: [waits] }).resume("r");
      await within(new Runtime({ journal }).deliver("r", "word", "hello"));
      expect(await within(later.result)).toMatchObject({ status: atLast });
    },
  );

  test("R24: what an agent does after it was given up is no second end", async () => {
    const clock = virtualClock();
    const held = Promise.withResolvers<void>();
    const ends: string[] = [];
    const stubborn = agent("stubborn", async () => {
      await held.promise;
      throw new Error("late");
    });
    const onEvent = ({ event }: RunEvent): void => void ends.push(event.type);
    const handle = new Runtime({ clock }).run(stubborn, "", { onEvent });
    await turns();
    handle.cancel("enough");
    await clock.advance(1_000);
    expect(await within(handle.result)).toMatchObject({ status: "cancelled" });
    held.resolve();
    await turns();
    expect(ends).toEqual(["started", "error"]);
  });
});

describe("R24: a journal that fails", () => {
  const HOW = {
    throws: (error: Error): never => {
      throw error;
    },
    rejects: async (fault: Error): Promise<never> => {
      throw fault;
    },
    "rejects by what only looks like a promise": (error: Error) => {
      const name = ["th", "en"].join("");
      const settle = (_: unknown, rejected: (error: Error) => unknown): void => void rejected(error);
      return { [name]: settle } as object as Promise<never>;
    },
  } as const;
  const PLACES = [
    ["claim", 1, []],
    ["load", 1, ["release"]],
    ["append", 1, ["release"]],
    ["append", 2, ["started", "error", "release"]],
    ["load", 2, ["started", "crash", "error", "release"]],
    ["append", 3, ["started", "crash", "error", "started", "crash", "completed", "release"]],
  ] as const;
  const cases = PLACES.flatMap((place) => Object.keys(HOW).map((how) => [how, ...place] as const));

  test.each(cases)(
    "R24: a journal that %s at its %s number %i ends the run, which gives its claim back once",
    async (how, method, at, seen) => {
      const fault = new Error("disk I/O error");
      const log: string[] = [];
      const inner = new MemoryJournal();
      const calls = { claim: 0, load: 0, append: 0, release: 0 };
      const faulty = (name: keyof typeof calls, call: () => unknown): unknown => {
        if (name === "release") log.push(name);
        return ++calls[name] === at && name === method ? HOW[how as keyof typeof HOW](fault) : call();
      };
      const journal = Object.assign(Object.create(inner) as MemoryJournal, {
        claim: (...given: Parameters<Journal["claim"]>) => faulty("claim", () => inner.claim(...given)),
        load: (...given: Parameters<Journal["load"]>) => faulty("load", () => inner.load(...given)),
        append: (...given: Parameters<Journal["append"]>) => faulty("append", () => inner.append(...given)),
        release: (...given: Parameters<Journal["release"]>) =>
          faulty("release", () => inner.release(...given)),
      });
      let goes = 0;
      const shaky = agent("shaky", async (ctx) => {
        await ctx.record("fact", () => 1);
        log.push("crash");
        if (goes++ === 0) throw new Error("oops");
        return done("");
      });
      let retries = 0;
      const restart = { shouldRetry: () => retries++ === 0, delayMs: () => 0, reset: () => {} };
      const runtime = new Runtime({ journal, restart, agents: [shaky] });
      const onEvent = ({ event }: RunEvent): void => void log.push(event.type);
      const handle = runtime.run(shaky, "", { runId: "r", onEvent });
      await expect(handle.result).rejects.toBe(fault);
      expect(log).toEqual(seen);
      expect(handle.status).toBe("failed");
      expect(await within(runtime.close())).toBeUndefined();
    },
  );

  test.each(Object.keys(HOW))(
    "R24: a journal that %s when the claim is given back takes nobody's result, and is complained about",
    async (how) => {
      const inner = new MemoryJournal();
      const release = (): unknown => HOW[how as keyof typeof HOW](new Error("disk I/O error"));
      const journal = Object.assign(Object.create(inner) as MemoryJournal, { release });
      const said: unknown[] = [];
      const error = (...words: unknown[]): void => void said.push(words);
      const logger = { debug() {}, info() {}, warn() {}, error };
      const runtime = new Runtime({ journal, logger });
      const paid = agent("paid", async () => done("for this"));
      const handle = runtime.run(paid, "", { runId: "r" });
      expect(await handle.result).toMatchObject({ status: "completed", output: "for this" });
      expect(said).toEqual([
        [
          "could not release the claim on run r; it expires on its own",
          { runId: "r", error: "disk I/O error" },
        ],
      ]);
      // And a failure is told as what it was.
      await expect(runtime.resume("unknown").result).rejects.toThrow("the id of a run in the journal");
    },
  );
});
