import { describe, expect, test } from "vitest";
import type {
  Ledger,
  LLMClient,
  Logger,
  MaybePromise,
  Meter,
  ModelResponse,
  Price,
  Reservation,
  Spend,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, ask, done, FakeLedger } from "../support/helpers.ts";

// The books of a run may be somewhere else and answer late. A run that is stopped meanwhile waits for them, but not for ever.

const ANSWER: ModelResponse = {
  message: { role: "assistant", content: "fine" },
  finishReason: "stop",
  usage: { inputTokens: 3, outputTokens: 2 },
};

class World {
  readonly clock = virtualClock();
  readonly said: string[] = [];
  open = 0;
  asked = 0;
  readonly takes: { readonly reserve: number; readonly settle: number };

  constructor(takes: World["takes"]) {
    this.takes = takes;
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.setTimer(resolve, ms));
  }

  readonly ledger = Object.assign(new FakeLedger(), {
    child: () => this.ledger,
    reserve: async (estimate: Partial<Spend>): Promise<Reservation> => {
      const reservation = new FakeLedger().reserve(estimate);
      this.open++;
      await this.wait(this.takes.reserve);
      const after = async <T>(then: () => MaybePromise<T>): Promise<T> => {
        await this.wait(this.takes.settle);
        this.open--;
        return then();
      };
      return {
        settle: (actual) => after(() => reservation.settle(actual)),
        cancel: () => after(() => reservation.cancel()),
      };
    },
  });

  readonly model: LLMClient = {
    id: "m",
    info: { provider: "x", model: "m" },
    generate: async () => {
      this.asked++;
      return ANSWER;
    },
  };

  readonly logger: Logger = {
    debug() {},
    info() {},
    warn: (message) => void this.said.push(message),
    error: (message) => void this.said.push(message),
  };

  /** Cancelled after so long; what is open when the result is there, and when that is. */
  async cancelledAfter(ms: number, run: Parameters<typeof agent>[1], meter?: Meter) {
    const { clock, ledger, logger } = this;
    const runtime = new Runtime({ clock, logger, meter, ledger: () => ledger });
    const handle = runtime.run(agent("a", run), "");
    const end = handle.result.then(({ status }) => ({ status, open: this.open, at: clock.now() }));
    await clock.advance(ms);
    handle.cancel("enough");
    await clock.runAll();
    await runtime.close();
    return end;
  }
}

const asking =
  ({ model }: World): Parameters<typeof agent>[1] =>
  async (ctx) => {
    await ctx.llm(model, ask("hello"));
    return done("");
  };

describe("T4: a ledger that answers late", () => {
  test("T4: what is being settled when a run is cancelled is settled when its result is there", async () => {
    const world = new World({ reserve: 0, settle: 90 });
    const end = await world.cancelledAfter(5, asking(world));
    expect(end).toEqual({ status: "cancelled", open: 0, at: 90 });
  });

  test("T4: what is being set aside then is given back, and nothing is sent", async () => {
    const world = new World({ reserve: 60, settle: 30 });
    const end = await world.cancelledAfter(5, asking(world));
    expect(end).toEqual({ status: "cancelled", open: 0, at: 90 });
    expect(world.asked).toBe(0);
  });

  test("T4: one that never answers keeps nobody waiting", async () => {
    const world = new World({ reserve: 0, settle: 1_000_000 });
    const end = await world.cancelledAfter(5, asking(world));
    expect(end).toEqual({ status: "cancelled", open: 1, at: 105 });
    expect(world.said).toEqual([
      "a did not stop within 50 ms after it was told to; the run no longer waits for it",
    ]);
  });

  test("T4: nor where the provider does not stop either, and it is named", async () => {
    const world = new World({ reserve: 0, settle: 1_000_000 });
    const deaf = { ...world.model, generate: () => new Promise<never>(() => {}) };
    const end = await world.cancelledAfter(5, async (ctx) => {
      await ctx.llm(deaf, ask("hello"));
      return done("");
    });
    expect(end).toEqual({ status: "cancelled", open: 1, at: 155 });
    expect(world.said).toContain(
      "the ledger of a did not answer within 50 ms; its last calls may not be counted",
    );
  });
});

describe("T4: a meter that never says what a call cost", () => {
  const estimate = () => ({ inputTokens: 3, maxOutputTokens: 10, price: { usd: 1 } });

  test.each<[string, Promise<Price>]>([
    ["says nothing", new Promise(() => {})],
    ["speaks when all is over", Promise.resolve({ usd: 0.1 })],
  ])("%s: what was set aside counts as spent when the run is cancelled, once", async (_, price) => {
    const world = new World({ reserve: 0, settle: 0 });
    const asked = Promise.withResolvers<Price>();
    const settled: unknown[] = [];
    const reserve: Ledger["reserve"] = world.ledger.reserve.bind(world.ledger);
    Object.assign(world.ledger, {
      reserve: async (wanted: Partial<Spend>): Promise<Reservation> => {
        const reservation = await reserve(wanted);
        return {
          ...reservation,
          settle(actual) {
            settled.push(actual);
            return reservation.settle(actual);
          },
        };
      },
    });
    const end = await world.cancelledAfter(5, asking(world), { estimate, price: () => asked.promise });
    expect(end).toMatchObject({ status: "cancelled", open: 0 });
    asked.resolve(price);
    await world.clock.runAll();
    expect(settled).toEqual([{ estimated: true }]);
  });
});
