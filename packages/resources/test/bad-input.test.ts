import { describe, expect, test } from "vitest";
import type { Actual } from "@ravi/kernel";
import {
  actualOf,
  estimateTokens,
  ExecutionTracker,
  FairPool,
  ModelMeter,
  PriceBook,
  reserveAll,
  restoreLedgers,
} from "@ravi/resources";
import { complaint } from "./helpers.ts";

const lead = () => new ExecutionTracker({ maxCostUsd: 5, maxTokens: 100 }, { scope: "lead" });

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;

describe("what is misspelt is refused by name, and does not count as nothing", () => {
  test.each([
    ["a limit of a pool", "options.requestPerMinute", () => new FairPool(odd({ requestPerMinute: 60 }))],
    ["no options of a pool", "options", () => new FairPool(odd(null))],
    ["an option of a meter", "options.price", () => new ModelMeter(odd({ price: {} }))],
    ["a tokenizer", "tokenizer", () => new ModelMeter({ tokenizer: odd("o200k") })],
    ["an option of a book", "options.catalog", () => new PriceBook(odd({ catalog: false }))],
    ["prices that were not awaited", "prices", () => new PriceBook({ prices: odd(Promise.resolve({})) })],
    ["prices in a map", "prices", () => new ModelMeter({ prices: odd(new Map()) })],
    ["prices in a list", "prices", () => new PriceBook({ prices: odd([]) })],
    ["no prices", "prices", () => new PriceBook({ prices: odd(null) })],
    ["no catalogue", "catalogue", () => new PriceBook({ catalogue: odd("false") })],
    ["what a call took, not awaited", "spend", () => lead().charge(odd(Promise.resolve({ cost: 1 })))],
    ["what is consumed, in a list", "spend", () => lead().consume(odd([]))],
    [
      "limits that were not awaited",
      "executionBudget",
      () => lead().child(odd(Promise.resolve({})), "below"),
    ],
    ["limits in a map", "executionBudget", () => new ExecutionTracker(odd(new Map([["maxTokens", 1]])))],
    ["an option of a ledger", "options.warn", () => new ExecutionTracker({}, odd({ warn: 0.5 }))],
    ["no options of a ledger", "options", () => new ExecutionTracker({}, odd(null))],
    ["a scope", "scope", () => new ExecutionTracker({}, { scope: odd(5) })],
    ["a parent", "parent", () => new ExecutionTracker({}, { parent: odd({ maxTokens: 5 }) })],
    ["no parent", "parent", () => new ExecutionTracker({}, { parent: odd(null) })],
    ["the name of a parent", "parent", () => new ExecutionTracker({}, { parent: odd("lead") })],
    ["an option of a child", "options.scop", () => lead().child({}, "below", odd({ scop: "x" }))],
    ["money that is consumed", "spend.costUsd", () => lead().consume(odd({ costUsd: 100 }))],
    ["usage that is consumed", "spend.inputTokens", () => lead().consume(odd({ inputTokens: 100 }))],
    ["what is granted", "more.maxTokens", () => lead().raise(odd({ maxTokens: 5 }))],
    ["money that is set aside", "estimate.token", () => lead().reserve(odd({ token: 5, turns: 1, cost: 1 }))],
    ["money that is charged", "spend.costUsd", () => lead().charge(odd({ costUsd: 1 }))],
    [
      "what a call took",
      "spend.usd",
      () =>
        lead()
          .reserve({ tokens: 5, cost: 1 })
          .settle(odd({ tokens: 5, usd: 1 })),
    ],
    ["a pool's clock", "clock", () => new FairPool({ clock: odd(Date.now) })],
    ["a ledger's clock", "clock", () => new ExecutionTracker({}, { clock: odd({}) })],
    ["a book's clock", "clock", () => new PriceBook({ clock: odd(null) })],
    [
      "an option of a restore",
      "options.budgets",
      () => ExecutionTracker.restore(lead().snapshot(), odd({ budgets: { maxCostUsd: 1 } })),
    ],
    [
      "what becomes of open ones",
      "open",
      () => ExecutionTracker.restore(lead().snapshot(), { open: odd("kept") }),
    ],
    [
      "whose limit is lowered",
      "budgets",
      () => restoreLedgers([lead().snapshot()], { budgets: { Lead: { maxCostUsd: 1 } } }),
    ],
    ["one snapshot, not in a list", "snapshots", () => restoreLedgers(odd(lead().snapshot()))],
  ])("%s", (_, field, attempt) => {
    expect(complaint(attempt).field).toBe(field);
  });
});

test("a message without content is refused by name, not by a TypeError", async () => {
  const request = { messages: [{ role: "assistant" as const, content: odd(null) }] };
  await expect((async () => estimateTokens(request))()).rejects.toMatchObject({
    code: "INVALID_VALUE",
    field: "message.content",
  });
});

test("usage that is null says as little as none", () => {
  expect(actualOf(null, undefined)).toEqual({ estimated: true });
});

test("R18: what a call took, and what is in doubt, is consumed and granted as it is", () => {
  const ledger = lead();
  const actual: Actual = { tokens: 5, estimated: true };
  ledger.consume(actual);
  ledger.reserve({ tokens: 7, cost: 0 });
  const restored = ExecutionTracker.restore(ledger.snapshot());
  for (const lost of restored.inDoubt) restored.raise(lost);
  expect(restored.used.tokens).toBe(12);
  expect(restored.remaining().tokens).toBe(95);
});

test("whoever extends a class hands over options that are larger than the class's own", () => {
  class RegionalPool extends FairPool {}
  class RegionalMeter extends ModelMeter {}
  class RegionalBook extends PriceBook {}
  class RegionalLedger extends ExecutionTracker {}
  const own: object = { region: "eu" };
  expect(() => [new RegionalPool(own), new RegionalMeter(own), new RegionalBook(own)]).not.toThrow();
  expect(new RegionalLedger({ maxTokens: 5 }, own).remaining().tokens).toBe(5);
});

describe("T11: what is no request, no model and no ledger is refused by name, and not by the language", () => {
  const info = { provider: "p", model: "m" };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const prices = { m: { input: 1, output: 1 } };
  const meter = new ModelMeter({ prices, tokenizer: "characters" });
  const book = new PriceBook({ prices });
  const ledger = lead();
  test.each<[string, () => unknown]>([
    ["info", () => meter.estimate(odd(null), { messages: [] })],
    ["info", () => meter.estimate(odd({}), { messages: [] })],
    ["request", () => meter.estimate(info, odd(null))],
    ["request.messages", () => meter.estimate(info, odd({ messages: null }))],
    ["request.messages", () => meter.estimate(info, odd({ messages: [null] }))],
    ["info", () => meter.price(odd(null), usage)],
    ["usage", () => meter.price(info, odd(null))],
    ["usage", () => meter.price(info, odd(null), odd({ inputTokens: 1 }))],
    ["info", () => book.price(odd({ provider: "p" }), usage)],
    ["info", () => book.worstPrice(odd(undefined), 1, 1)],
    ["usage", () => book.price(info, odd(undefined))],
    // A count that is not there is not taken for none: the call would be free.
    ["usage.inputTokens", () => book.price(info, odd({}))],
    ["usage.outputTokens", () => book.price(info, odd({ inputTokens: 1 }))],
    ["request", () => new FairPool().acquire(odd(null))],
    ["ledgers", () => reserveAll(odd(null), { tokens: 1 })],
    ["ledgers[1]", () => reserveAll([ledger, odd(null)], { tokens: 1 })],
    ["ledgers[0]", () => reserveAll([odd({})], { tokens: 1 })],
  ])("%s", (field, attempt) => {
    expect(complaint(attempt)).toMatchObject({ code: "INVALID_VALUE", field });
    // Nothing was set aside of it: all of its 100 tokens and $5 can be.
    ledger.reserve({ tokens: 100, cost: 5 }).cancel();
  });
});

test("R18: a ledger below another has what its options inherit", () => {
  const options = Object.create({ warnAt: 0.5 }) as { warnAt: number };
  const below = new ExecutionTracker({}).child({ maxTokens: 100 }, "below", options);
  expect(below.charge({ tokens: 60 }).warnings).toMatchObject([{ dimension: "tokens" }]);
});
