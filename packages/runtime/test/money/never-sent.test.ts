import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  type JournalRecord,
  type Limiter,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  type Reservation,
  RunId,
  type Spend,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, ask, cut, done, FakeLedger, turns, until, within } from "../support/helpers.ts";

// A run is suspended while one of its model calls waits for its place in a line, or for its money: nothing was sent, and that is known.

const usage = { inputTokens: 3, outputTokens: 2 };
const answer: ModelResponse = {
  message: { role: "assistant", content: "fine" },
  finishReason: "stop",
  usage,
};

/** A second try, whatever the first has come to. */
const twice: Pipeline<ChatContext> = {
  isNoop: false,
  admit() {},
  run: (_, core) => core().catch(core),
};

const permit = { release() {}, [Symbol.dispose]() {} };

class World {
  readonly journal = new MemoryJournal();
  readonly ledger = new FakeLedger();
  /** Nobody's grace is over before the ledger has answered, however busy the machine is. */
  readonly clock = virtualClock();
  sent = 0;
  waiting = 0;
  isOpen = false;

  readonly model: LLMClient = {
    id: "m",
    info: { provider: "x", model: "m", maxOutputTokens: 100 },
    generate: async () => {
      this.sent++;
      return answer;
    },
  };

  readonly lead = agent("lead", async (ctx) => {
    const { message } = await ctx.llm(this.model, ask("one"));
    await ctx.llm(this.model, ask("two"));
    return done(String(message.content));
  });

  /** A line that nobody gets to the front of while it is closed. */
  readonly limiter: Limiter = {
    acquire: async ({ signal }) => {
      this.waiting++;
      if (!this.isOpen) await untilAborted(signal);
      return permit;
    },
    slowDown: () => {},
  };

  /** A ledger that answers late. */
  readonly slowLedger = Object.assign(Object.create(this.ledger) as FakeLedger, {
    reserve: async (estimate: Partial<Spend>): Promise<Reservation> => {
      const reservation = this.ledger.reserve(estimate);
      this.waiting++;
      if (!this.isOpen) await turns(20);
      return reservation;
    },
  });

  runtime(more: RuntimeOptions): Runtime {
    return new Runtime({ journal: this.journal, clock: this.clock, agents: [this.lead], ...more });
  }

  /** Suspended in the middle of a call that waits, as often as said, then to its end. */
  async comesTo(more: RuntimeOptions, suspensions: number) {
    for (let n = 0; n < suspensions; n++) {
      const before = this.waiting;
      const runtime = this.runtime(more);
      const run = n === 0 ? runtime.run(this.lead, "", { runId: "r" }) : runtime.resume("r");
      await until(() => this.waiting > before);
      await runtime.close();
      const stopped = await within(run.result);
      if (stopped === "pending" || stopped.status !== "suspended") throw new Error("it was not suspended");
    }
    this.isOpen = true;
    this.ledger.used.tokens = 0;
    this.ledger.used.turns = 0;
    const result = await within(this.runtime(more).resume("r").result);
    if (result === "pending") throw new Error("it never ended");
    return result;
  }
}

async function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) =>
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
}

describe("T4: a model call that was never sent is not in doubt", () => {
  test.each([
    ["the limiter's line", 1],
    ["the limiter's line", 3],
    ["its money", 1],
    ["its money", 3],
  ])("T4: suspended while it waits for %s, %i times: it is sent once and paid once", async (what, times) => {
    const world = new World();
    const ledger = what === "its money" ? world.slowLedger : world.ledger;
    const more = { ledger: () => ledger, ...(what === "its money" ? {} : { limiter: world.limiter }) };
    const result = await world.comesTo(more, times);
    expect(result).toMatchObject({ status: "completed", output: "fine", inDoubt: [] });
    expect(world.sent).toBe(2);
    expect(result.usage).toEqual({ inputTokens: 6, outputTokens: 4 });
    expect(result.agents).toMatchObject([{ modelCalls: 2, retries: 0, wasteUsd: 0 }]);
    expect(world.ledger.used).toMatchObject({ tokens: 10, turns: 2 });
  });

  test("T4: what is on record of it says so, and a new go at it is another attempt", async () => {
    const world = new World();
    await world.comesTo({ limiter: world.limiter, ledger: () => world.ledger }, 1);
    const calls = world.journal
      .load(RunId("r"))
      .filter(({ key }) => key === "llm:m#1")
      .map(({ phase, attempt, body }) => [phase, attempt, body["withdrawn"]]);
    expect(calls).toEqual([
      ["begin", 1, undefined],
      ["end", 1, true],
      ["begin", 2, undefined],
      ["end", 2, undefined],
    ]);
  });

  test("T4: nor is it in doubt if the run crashes later, when it was sent and answered", async () => {
    const world = new World();
    const more = { limiter: world.limiter, ledger: () => new FakeLedger() };
    await world.comesTo(more, 1);
    const records = world.journal.load(RunId("r"));
    const crashed = world.runtime({ ...more, journal: cut("r", records.slice(0, -1)) });
    expect(await crashed.resume("r").result).toMatchObject({ status: "completed", inDoubt: [] });
    expect(world.sent).toBe(2);
  });

  /** Suspended while its second try waits, after a first one that came to `failure`; then to its end. */
  async function afterFirstTry(failure: Error, untilSuspended: "waits" | "is sent" = "waits") {
    const world = new World();
    let tries = 0;
    const shaky: LLMClient = {
      ...world.model,
      generate: async (request, options) => {
        if (tries++ > 0) return world.model.generate(request);
        return untilSuspended === "waits" ? Promise.reject(failure) : untilAborted(options?.signal);
      },
    };
    const limiter: Limiter = {
      acquire: (wanted) => (tries === 0 ? permit : world.limiter.acquire(wanted)),
      slowDown: () => {},
    };
    const lead = agent("lead", async (ctx) => {
      const { message } = await ctx.llm(shaky, ask("one"));
      return done(String(message.content));
    });
    const options = {
      journal: world.journal,
      ledger: () => world.ledger,
      limiter,
      pipelines: { chat: twice },
      agents: [lead],
    };
    const runtime = new Runtime(options);
    const run = runtime.run(lead, "", { runId: "r" });
    await until(() => (untilSuspended === "waits" ? world.waiting : tries) === 1);
    await runtime.close();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
    world.isOpen = true;
    Object.assign(world.ledger.used, { tokens: 0, turns: 0 });
    const result = await within(new Runtime(options).resume("r").result);
    expect(result).toMatchObject({ status: "completed", output: "fine" });
    if (result === "pending") throw new Error("it never ended");
    return { result, used: world.ledger.used };
  }

  test("T4: nor is one that was refused by its provider, and waits for another try: what that cost is known", async () => {
    const refusal = Object.assign(new Error("too many requests"), { status: 429 });
    const { result, used } = await afterFirstTry(refusal);
    expect(result.inDoubt).toEqual([]);
    expect(result.agents).toMatchObject([{ modelCalls: 1, retries: 1 }]);
    expect(result.usage).toEqual(usage);
    expect(used, "the refused try has taken its turn").toMatchObject({ tokens: 5, turns: 2 });
  });

  test.each([
    ["that broke off, though it waits for another try", "waits"],
    ["that is under way", "is sent"],
  ] as const)("T4: one %s when the run is suspended is in doubt", async (_, what) => {
    const { result } = await afterFirstTry(new Error("fetch failed"), what);
    expect(result.inDoubt).toEqual(["r:llm:m#1"]);
    expect(result.agents).toMatchObject([{ modelCalls: 1, retries: 1 }]);
  });

  test("T4: while it catches up, an agent sees what was left then, without what was paid for it since", async () => {
    const world = new World();
    let tries = 0;
    const refusal = Object.assign(new Error("too many requests"), { status: 429 });
    const second: LLMClient = {
      ...world.model,
      id: "second",
      generate: async (request) => (tries++ === 0 ? Promise.reject(refusal) : world.model.generate(request)),
    };
    const seen: (number | null)[] = [];
    const lead = agent("lead", async (ctx) => {
      seen.push(ctx.budget.turns);
      await ctx.llm(world.model, ask("one"));
      seen.push(ctx.budget.turns);
      await ctx.llm(second, ask("two"));
      seen.push(ctx.budget.turns);
      return done("");
    });
    const options = {
      journal: world.journal,
      ledger: () => new FakeLedger({ maxTurns: 10 }),
      limiter: {
        acquire: (wanted) => (tries === 0 ? permit : world.limiter.acquire(wanted)),
        slowDown: () => {},
      } satisfies Limiter,
      pipelines: { chat: twice },
      agents: [lead],
    };
    const runtime = new Runtime(options);
    const run = runtime.run(lead, "", { runId: "r" });
    await until(() => world.waiting === 1);
    await runtime.close();
    await run.result;
    world.isOpen = true;
    await new Runtime(options).resume("r").result;
    expect(seen, "then it has caught up, and a turn has gone to the refused try").toEqual([10, 9, 10, 8, 7]);
  });

  test("T4: nor is one whose agent was cancelled while it waited, when the run of those who hired it is resumed", async () => {
    const world = new World();
    const child = agent("child", async (ctx) => {
      await ctx.llm(world.model, ask("one"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(child, { input: "" });
      const isFirst = await ctx.record("first", () => world.waiting < 2);
      if (isFirst === true) await until(() => world.waiting === 1);
      handle.cancel("it takes too long");
      const { status } = await ctx.join(handle);
      return done(status);
    });
    const options = { ledger: () => new FakeLedger(), limiter: world.limiter, agents: [lead, child] };
    const journal = new MemoryJournal();
    const live = await new Runtime({ ...options, journal }).run(lead, "", { runId: "r" }).result;
    expect(live).toMatchObject({ status: "completed", output: "cancelled" });
    const records = journal.load(RunId("r"));
    const crashed = cut(
      "r",
      records.filter(({ key }) => key !== "run:status"),
    );
    const ledger = new FakeLedger();
    const again = await new Runtime({ ...options, ledger: () => ledger, journal: crashed }).resume("r")
      .result;
    expect(again).toMatchObject({ status: "completed", output: "cancelled", inDoubt: [] });
    expect([again.usage, ledger.used.tokens, world.sent]).toEqual([live.usage, 0, 0]);
  });

  test("T4: what was withdrawn between two tries that were sent is neither of them", async () => {
    const world = new World();
    const lead = agent("lead", async (ctx) => done((await ctx.llm(world.model, ask("one"))).finishReason));
    const finished = new MemoryJournal();
    await new Runtime({ journal: finished }).run(lead, "", { runId: "r" }).result;
    const [start, begin] = finished.load(RunId("r"));
    if (start === undefined || begin === undefined) throw new Error("nothing is on record");
    const tried = (attempt: number) => ({ ...begin, attempt });
    const withdrawn = (attempt: number, paid = {}) => ({
      ...tried(attempt),
      phase: "end" as const,
      body: { withdrawn: true, ...paid },
    });
    const spend = { tokens: 0, cost: 0, turns: 1, usage: { inputTokens: 0, outputTokens: 0 }, priced: true };
    const resumed = async (...records: JournalRecord[]) => {
      const journal = cut("r", [start, ...records]);
      const result = await new Runtime({ journal, agents: [lead] }).resume("r").result;
      const begun = journal
        .load(RunId("r"))
        .filter(({ phase, key }) => phase === "begin" && key === begin.key);
      return {
        doubts: result.inDoubt?.length,
        retries: result.agents?.[0]?.retries,
        last: begun.at(-1)?.attempt,
      };
    };
    expect(await resumed(begin, withdrawn(1))).toEqual({ doubts: 0, retries: 0, last: 2 });
    expect(await resumed(begin, tried(2), withdrawn(2))).toEqual({ doubts: 1, retries: 1, last: 3 });
    expect(await resumed(begin, withdrawn(1), tried(2), withdrawn(2))).toEqual({
      doubts: 0,
      retries: 0,
      last: 3,
    });
    expect(await resumed(begin, withdrawn(1), tried(2))).toEqual({ doubts: 1, retries: 1, last: 3 });
    expect(await resumed(begin, withdrawn(1, { spend }))).toEqual({ doubts: 0, retries: 1, last: 2 });
    expect(await resumed(begin, withdrawn(1, { spend }), tried(2))).toEqual({
      doubts: 1,
      retries: 2,
      last: 3,
    });
    expect(await resumed(begin, tried(2), withdrawn(2), tried(3))).toEqual({
      doubts: 1,
      retries: 2,
      last: 4,
    });
  });
});

test("T5: a call that a layer has answered under a limiter is not made again after a resume, though nothing was sent", async () => {
  const world = new World();
  let asked = 0;
  const cached: Pipeline<ChatContext> = {
    isNoop: false,
    admit() {},
    async run(context, core) {
      if (++asked === 1) context.result = answer;
      else await core();
    },
  };
  const reader = agent("reader", async (ctx) => {
    const { message } = await ctx.llm(world.model, ask("one"));
    return done(`${String(message.content)} ${String(await ctx.waitFor("word"))}`);
  });
  const more = {
    agents: [reader],
    ledger: () => world.ledger,
    limiter: world.limiter,
    pipelines: { chat: cached },
  };
  const first = world.runtime(more);
  const run = first.run(reader, "", { runId: "r" });
  await until(() => run.status === "suspended");
  await first.close();
  await run.result;
  world.isOpen = true;
  const second = world.runtime(more);
  await second.deliver("r", "word", "so");
  expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "fine so" });
  expect([asked, world.sent]).toEqual([1, 0]);
});
