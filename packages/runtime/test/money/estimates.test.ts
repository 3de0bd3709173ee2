import { describe, expect, test } from "vitest";
import {
  type Agent,
  BudgetExhaustedError,
  type ChatContext,
  type ChatMessage,
  type Estimate,
  HookEvent,
  type Hooks,
  type Limiter,
  type LLMClient,
  type Meter,
  type Pipeline,
  type Remaining,
  RunId,
  type RunResult,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, ask, done, FakeLedger, until } from "../support/helpers.ts";
import { everything } from "../cost/everything.ts";

const model = scriptedModel(() => "ok", { record: false });

test("R24: a run that is stopped while the price of a call is looked up has not begun that call", async () => {
  const journal = new MemoryJournal();
  const { promise: looked, resolve: look } = Promise.withResolvers<Estimate>();
  let asked = 0;
  const meter: Meter = {
    estimate: () => (asked++ === 0 ? looked : { inputTokens: 1, maxOutputTokens: 1, price: { usd: 0 } }),
    price: () => ({ usd: 0 }),
  };
  const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask("x"))).message.content)));
  const ports = { journal, meter, ledger: () => new FakeLedger() };
  const first = new Runtime(ports);
  const run = first.run(lead, "", { runId: "r" });
  await until(() => asked === 1);
  const closing = first.close();
  look({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 0 } });
  await closing;
  expect(await run.result).toMatchObject({ status: "suspended", inDoubt: [] });
  expect(journal.load(RunId("r")).filter(({ key }) => key.startsWith("llm:"))).toEqual([]);
  const again = await new Runtime({ ...ports, agents: [lead] }).resume("r").result;
  expect(again).toMatchObject({ status: "completed", output: "ok", inDoubt: [] });
});

test("R18: a request that a layer sends to another model is set aside at that model's price", async () => {
  const reserved: unknown[] = [];
  const ledger = new FakeLedger();
  const watched = Object.assign(Object.create(ledger) as FakeLedger, {
    reserve: (...given: Parameters<FakeLedger["reserve"]>) => {
      reserved.push(given[0].cost);
      return ledger.reserve(...given);
    },
  });
  const named = (name: string): LLMClient => ({ ...model, id: name, info: { provider: "x", model: name } });
  const meter: Meter = {
    estimate: ({ model: name }) => ({
      inputTokens: 1,
      maxOutputTokens: 1,
      price: { usd: name === "dear" ? 9 : 1 },
    }),
    price: () => ({ usd: 1 }),
  };
  const chat: Pipeline<ChatContext> = {
    isNoop: false,
    admit() {},
    run: async (context, core) => {
      context.model = named("dear");
      await core();
    },
  };
  const lead: Agent = {
    ...agent("lead", async (ctx) => done(String((await ctx.llm(named("cheap"), ask("x"))).message.content))),
    pipelines: { chat },
  };
  await new Runtime({ meter, ledger: () => watched, journal: new MemoryJournal() }).run(lead, "").result;
  expect(reserved).toEqual([9]);
});

describe("R18: the longest answer that a model is asked for", () => {
  const meter: Meter = {
    estimate: (_, { maxOutputTokens = 70 }) => ({ inputTokens: 1, maxOutputTokens, price: { usd: 1 } }),
    price: () => ({ usd: 0 }),
  };
  const limiter: Limiter = {
    acquire: () => ({ release() {}, [Symbol.dispose]() {} }),
    slowDown() {},
  };
  test.each<[string, RuntimeOptions, number | undefined, number | undefined]>([
    ["is what was set aside for it", { ledger: () => new FakeLedger() }, undefined, 70],
    ["is its own, if that was set aside", { ledger: () => new FakeLedger() }, 5, 5],
    ["is not limited where nothing is set aside", { limiter }, undefined, undefined],
  ])("%s", async (_, ports, own, sent) => {
    const recorded = scriptedModel(["ok"]);
    const request = { ...ask("x"), ...(own !== undefined && { maxOutputTokens: own }) };
    const lead = agent("lead", async (ctx) =>
      done(String((await ctx.llm(recorded, request)).message.content)),
    );
    expect(await new Runtime({ ...ports, meter }).run(lead, "").result).toMatchObject({ output: "ok" });
    expect(recorded.calls.map((call) => call.request.maxOutputTokens)).toEqual([sent]);
  });
});

describe("R18: a meter's quick estimate", () => {
  const quick: Estimate = { inputTokens: 60, maxOutputTokens: 100, price: { usd: 1 } };
  const close: Estimate = { inputTokens: 40, maxOutputTokens: 100, price: { usd: 0.9 } };
  const idle: Limiter = { acquire: () => ({ release() {}, [Symbol.dispose]() {} }), slowDown() {} };

  interface Given {
    readonly quick?: unknown;
    readonly left?: Partial<Remaining>;
    readonly cannotTell?: true;
    readonly limiter?: Limiter;
  }

  /** What is set aside for one call, and how the run ends. */
  async function reservedWith(
    given: Given,
  ): Promise<{ reserved: unknown[]; logged: unknown[]; result: RunResult }> {
    const reserved: unknown[] = [];
    const logged: unknown[] = [];
    const ledger = new FakeLedger();
    const watched = Object.assign(Object.create(ledger) as FakeLedger, {
      remaining: () => {
        if (given.cannotTell) throw new Error("the database is busy");
        return { ...ledger.remaining(), ...given.left };
      },
      reserve: (...of: Parameters<FakeLedger["reserve"]>) => {
        reserved.push(of[0].tokens);
        return ledger.reserve(...of);
      },
    });
    const meter: Meter = {
      estimate: () => close,
      quickEstimate: () => ("quick" in given ? (given.quick as Estimate) : quick),
      price: () => ({ usd: 0 }),
    };
    const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask("x"))).message.content)));
    const log = (...said: unknown[]): void => void logged.push(said);
    const logger = { debug: log, info: log, warn: log, error: log };
    const runtime = new Runtime({ meter, ledger: () => watched, limiter: given.limiter, logger });
    return { reserved, logged, result: await runtime.run(lead, "").result };
  }

  const QUICK = 160;
  const CLOSE = 140;

  test.each<[string, Given, number]>([
    ["is taken if there is no limit", {}, QUICK],
    ["is taken if it comes later", { quick: Promise.resolve(quick) }, QUICK],
    ["is taken if sixteen such calls fit", { left: { tokens: 16 * 160, cost: 16 } }, QUICK],
    ["is not taken if fewer tokens are left", { left: { tokens: 16 * 160 - 1, cost: 16 } }, CLOSE],
    ["is not taken if fewer dollars are left", { left: { tokens: 16 * 160, cost: 15.9 } }, CLOSE],
    [
      "is taken if its price is not known",
      { quick: { ...quick, price: { unpriced: true } }, left: { cost: 0.1 } },
      QUICK,
    ],
    ["is not taken for a long input", { quick: { ...quick, inputTokens: 101 } }, CLOSE],
    [
      "is not taken if it comes later and is too high",
      { quick: Promise.resolve(quick), left: { cost: 2 } },
      CLOSE,
    ],
    ["is not taken if the ledger cannot tell what is left", { cannotTell: true }, CLOSE],
    ["need not be made", { quick: undefined }, CLOSE],
    ["is not asked for if a limiter is told of it", { limiter: idle }, CLOSE],
  ])("%s", async (_, given, expected) => {
    const { reserved, logged, result } = await reservedWith(given);
    expect(result).toMatchObject({ status: "completed", output: "ok" });
    expect(reserved).toEqual([expected]);
    const error = expect.objectContaining({ error: "the database is busy" });
    expect(logged).toEqual(given.cannotTell ? [["the ledger failed to tell what is left", error]] : []);
  });

  describe.each([false, true])("T2: one that the ledger refuses (at once, or later: %s)", (isLate) => {
    /** What is asked for if the ledger takes at most so much of one call, though it says that nothing is limited. */
    async function askedOf(most: number, meter: Meter): Promise<{ asked: unknown[]; result: RunResult }> {
      const asked: unknown[] = [];
      const ledger = new FakeLedger();
      const strict = Object.assign(Object.create(ledger) as FakeLedger, {
        reserve: (...of: Parameters<FakeLedger["reserve"]>) => {
          const { tokens = 0 } = of[0];
          asked.push(tokens);
          const refusal = new BudgetExhaustedError({
            dimension: "tokens",
            used: tokens,
            limit: most,
            scope: "strict",
          });
          if (tokens <= most) return isLate ? Promise.resolve(ledger.reserve(...of)) : ledger.reserve(...of);
          if (isLate) return Promise.reject(refusal);
          throw refusal;
        },
      });
      const journal = new MemoryJournal();
      const lead = agent("lead", async (ctx) =>
        done(String((await ctx.llm(model, ask("x"))).message.content)),
      );
      const result = await new Runtime({ journal, meter, ledger: () => strict }).run(lead, "").result;
      return { asked, result };
    }

    const price: Meter["price"] = () => ({ usd: 0 });
    const both: Meter = { estimate: () => close, quickEstimate: () => quick, price };

    test("is followed by the other", async () => {
      const { asked, result } = await askedOf(CLOSE, both);
      expect(result).toMatchObject({ status: "completed", output: "ok" });
      expect(asked).toEqual([QUICK, CLOSE]);
    });

    test.each<[string, number, Meter, number[]]>([
      ["if that is refused as well", CLOSE - 1, both, [QUICK, CLOSE]],
      ["if the other is not lower", CLOSE - 1, { ...both, quickEstimate: () => close }, [CLOSE]],
      ["if there was none", CLOSE - 1, { estimate: () => close, price }, [CLOSE]],
    ])("is the end of it %s", async (_, most, meter, expected) => {
      const { asked, result } = await askedOf(most, meter);
      expect(result).toMatchObject({
        status: "partial",
        stopReason: "budget",
        stoppedBy: { dimension: "tokens", used: expected.at(-1) },
      });
      expect(asked).toEqual(expected);
    });
  });

  test("is checked like any other", async () => {
    const { reserved, result } = await reservedWith({ quick: { inputTokens: Number.NaN } });
    expect(result).toMatchObject({ status: "failed", error: { code: "INVALID_VALUE" } });
    expect(reserved).toEqual([]);
  });
});

const run = "r" as RunId;

describe("a model call that is estimated", () => {
  const meterOf = (estimates: number[]): Meter => ({
    estimate: async () => {
      estimates.push(estimates.length + 1);
      return { inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.001 } };
    },
    price: () => ({ usd: 0.0005 }),
  });

  test("R18: is estimated anew for a second try, and not for the first", async () => {
    const estimates: number[] = [];
    const twice: Pipeline<ChatContext> = {
      isNoop: false,
      hasAdmits: false,
      admit() {},
      run: async (_, core) => {
        await core();
        await core();
      },
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(scriptedModel(["one", "two"]), ask("?"));
      return done("");
    });
    const options = {
      ...everything(new MemoryJournal()),
      meter: meterOf(estimates),
      pipelines: { chat: twice },
    };
    const { status, cost } = await new Runtime(options).run(lead, "").result;
    expect(estimates).toEqual([1, 2]);
    expect({ status, cost }).toEqual({ status: "completed", cost: 0.001 });
  });

  test("R24: is recorded with as many messages as it was asked with", async () => {
    const journal = new MemoryJournal();
    const lead = agent("lead", async (ctx) => {
      const messages: ChatMessage[] = [{ role: "user", content: "one" }];
      const asked = ctx.llm(scriptedModel(["one"]), { messages });
      messages.push({ role: "user", content: "two" });
      await asked;
      return done("");
    });
    await new Runtime({ ...everything(journal), meter: meterOf([]) }).run(lead, "", { runId: run }).result;
    const begin = journal.load(run).find(({ phase }) => phase === "begin");
    expect(begin?.body).toMatchObject({ messages: 1, reserve: { tokens: 20 } });
  });
});

test("R22: a call whose price nobody knows is told, and recorded, without one: not as free", async () => {
  const journal = new MemoryJournal();
  const told: unknown[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.LLM_END,
    dispatch: (_, payload) => void told.push("costUsd" in payload ? payload.costUsd : undefined),
    drain() {},
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(scriptedModel(["one"]), ask("?"));
    return done("");
  });
  const { cost } = await new Runtime({ journal, hooks }).run(lead, "", { runId: run }).result;
  const end = journal.load(run).find(({ phase }) => phase === "end");
  expect([cost, ...told]).toEqual([null, null]);
  expect(end?.body).toEqual({
    response: expect.anything(),
    spend: expect.objectContaining({ priced: false }),
  });
});
