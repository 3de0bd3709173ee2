import { calcPrice, findProvider } from "@pydantic/genai-prices";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { ModelInfo, Usage } from "@ravi/kernel";
import { type ListedPrice, PriceBook } from "@ravi/resources";
import { findListing, ratesFor } from "../src/prices/parts/catalogue.ts";
import { priceAt, worstPriceAt } from "../src/prices/rates.ts";
import { complaint } from "./helpers.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 500;

const sonnet: ModelInfo = { provider: "anthropic", model: "claude-sonnet-4-5" };
const mini: ModelInfo = { provider: "openai", model: "gpt-4o-mini" };
const house: ModelInfo = { provider: "house", model: "large" };

async function known(book: PriceBook, info: ModelInfo, usage: Usage): Promise<ListedPrice> {
  const price = await book.price(info, usage);
  if ("unpriced" in price) throw new Error(`${info.model} has no price`);
  return price;
}

describe("R18: prices", () => {
  test("R18: cached input, cache writes and output are each paid for once, at their own price", async () => {
    const usage = { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 500, cacheWriteTokens: 200 };
    const price = await known(new PriceBook(), sonnet, usage);
    expect(price.usd).toBeCloseTo((300 * 3 + 500 * 0.3 + 200 * 3.75 + 100 * 15) / 1e6, 12);
    expect(price).toMatchObject({
      source: "catalogue",
      rates: { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
    });
  });

  test("R18: a catalogue that could not be loaded is tried again with the next question", async () => {
    const book = new PriceBook();
    vi.doMock("@pydantic/genai-prices", () => {
      throw new Error("too many open files");
    });
    try {
      await expect(book.price(mini, { inputTokens: 1, outputTokens: 1 })).rejects.toMatchObject({
        cause: { message: "too many open files" },
      });
    } finally {
      vi.doUnmock("@pydantic/genai-prices");
    }
    expect(await known(book, mini, { inputTokens: 1, outputTokens: 1 })).toMatchObject({
      source: "catalogue",
    });
  });

  test("R18: what is kept in a cache for an hour is paid for at its own price, once", async () => {
    const written = { inputTokens: 1_000, outputTokens: 0, cacheWriteTokens: 800 };
    const usage = { ...written, cacheWrite1hTokens: 600 };
    const book = new PriceBook();
    const price = await known(book, sonnet, usage);
    expect(price.usd).toBeCloseTo((200 * 3 + 200 * 3.75 + 600 * 6) / 1e6, 12);
    expect(price.rates).toMatchObject({ cacheWrite: 3.75, cacheWrite1h: 6 });
    // It is a part of what was written, whatever a provider reports.
    const whole = await known(book, sonnet, { ...written, cacheWrite1hTokens: 9_000 });
    expect(whole.usd).toBeCloseTo((200 * 3 + 800 * 6) / 1e6, 12);
    // Nobody lists it: twice the input, as all who offer it bill it, or any other write if that is more.
    const own = (more: object): PriceBook =>
      new PriceBook({ prices: { large: { input: 1, output: 1, ...more } } });
    const all = { ...written, cacheWriteTokens: 1_000, cacheWrite1hTokens: 1_000 };
    expect((await known(own({}), house, all)).usd).toBeCloseTo(0.002, 12);
    expect((await known(own({ input: 3 }), house, all)).usd).toBeCloseTo(0.006, 12);
    expect((await known(own({ cacheWrite: 3 }), house, all)).usd).toBeCloseTo(0.003, 12);
    expect((await known(own({ cacheWrite1h: 1.5 }), house, all)).usd).toBeCloseTo(0.0015, 12);
    expect(() => own({ cacheWrite1h: -1 })).toThrow(/cacheWrite1h/);
  });

  test("R18: a model that asks for an hour in the cache is reserved for at that price, and no other is", async () => {
    const book = new PriceBook();
    const usd = async (info: ModelInfo) => {
      const worst = await book.worstPrice(info, 100_000, 0);
      return "unpriced" in worst ? undefined : worst.usd;
    };
    expect(await usd(sonnet)).toBeCloseTo(0.375, 12);
    expect(await usd({ ...sonnet, cacheTtl: "1h" })).toBeCloseTo(0.6, 12);
    const own = new PriceBook({ prices: { large: { input: 1, output: 1 } } });
    expect(own.worstPrice({ ...house, cacheTtl: "1h" }, 1_000_000, 0)).toMatchObject({ usd: 2 });
  });

  test("R18: where writes for minutes are the dearer ones, they are what an hour's may cost at most", () => {
    const book = new PriceBook({
      prices: { large: { input: 1, output: 1, cacheWrite: 5, cacheWrite1h: 2 } },
    });
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cacheWriteTokens: 1_000_000 };
    const info = { ...house, cacheTtl: "1h" } as const;
    expect(book.price(info, usage)).toMatchObject({ usd: 5 });
    expect(book.worstPrice(info, 1_000_000, 0)).toMatchObject({ usd: 5 });
  });

  test("R18: reasoning tokens are part of the output and not paid for twice", async () => {
    const usage = { inputTokens: 1000, outputTokens: 100, reasoningTokens: 60 };
    const price = await known(new PriceBook(), { provider: "openai", model: "gpt-5" }, usage);
    expect(price.usd).toBeCloseTo((1000 * 1.25 + 100 * 10) / 1e6, 12);
  });

  test("R18: a provider that leaves reasoning out of the output is paid for all of the reasoning, and nothing is given back", () => {
    const prices = { large: { input: 0, output: 10, reasoning: 2 } };
    const book = new PriceBook({ prices, catalogue: false });
    const usage = { inputTokens: 0, outputTokens: 100_000, reasoningTokens: 1_000_000 };
    expect(book.price({ provider: "house", model: "large" }, usage)).toMatchObject({ usd: 2 });
  });

  test("R18: above a tier's start the dearer price applies to all of it", async () => {
    const gemini = { provider: "google", model: "gemini-2.5-pro" };
    const book = new PriceBook();
    expect((await known(book, gemini, { inputTokens: 200_000, outputTokens: 0 })).usd).toBeCloseTo(0.25, 12);
    expect((await known(book, gemini, { inputTokens: 200_001, outputTokens: 0 })).usd).toBeCloseTo(
      0.500_002_5,
      12,
    );
  });

  test("R18: a total below the sum of its parts chooses the tier by that sum, too", async () => {
    const gemini = { provider: "google", model: "gemini-2.5-pro" };
    const parts = { cachedInputTokens: 200_001, outputTokens: 100 };
    const right = await known(new PriceBook(), gemini, { ...parts, inputTokens: 200_001 });
    expect(await known(new PriceBook(), gemini, { ...parts, inputTokens: 1 })).toEqual(right);
  });

  test("R18: an unknown model is unpriced, and so is one that is not paid for by tokens", async () => {
    const book = new PriceBook();
    const usage = { inputTokens: 10, outputTokens: 10 };
    for (const info of [house, { ...mini, model: "gpt-none" }, { provider: "openai", model: "whisper-1" }]) {
      expect(await book.price(info, usage)).toEqual({ unpriced: true });
    }
    expect(await book.price({ ...mini, provider: "" }, usage)).toEqual({ unpriced: true });
    expect(await book.price({ provider: "constructor", model: "__proto__" }, usage)).toEqual({
      unpriced: true,
    });
  });

  test("R18: own prices go first, the one with the provider's name before the one without", async () => {
    const book = new PriceBook({
      prices: {
        large: { input: 1, output: 2 },
        "house:large": { input: 3, output: 4 },
        "gpt-4o-mini": { input: 9, output: 9 },
      },
    });
    const usage = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
    expect((await known(book, house, usage)).usd).toBe(7);
    expect((await known(book, { ...house, provider: "other" }, usage)).usd).toBe(3);
    expect(await known(book, mini, usage)).toMatchObject({ usd: 18, source: "own" });
  });

  test("R18: an own price by the id of a client is not passed over for that of the catalogue", async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 0 };
    const byId = { "openai/gpt-4o-mini": { input: 100, output: 100 } };
    expect(await known(new PriceBook({ prices: byId }), mini, usage)).toMatchObject({
      usd: 100,
      source: "own",
    });
    // It may be the name of the model at a provider that sells it on, so it comes last.
    const both = { ...byId, "gpt-4o-mini": { input: 7, output: 7 } };
    expect(await known(new PriceBook({ prices: both }), mini, usage)).toMatchObject({
      usd: 7,
      source: "own",
    });
  });

  test("R18: what an own price leaves out is charged as input or output", () => {
    const usage = {
      inputTokens: 1_000_000,
      outputTokens: 0,
      cachedInputTokens: 400_000,
      cacheWriteTokens: 100_000,
    };
    const plain = new PriceBook({ prices: { large: { input: 1, output: 2 } } });
    const full = new PriceBook({
      prices: { large: { input: 1, output: 2, cachedInput: 0.5, cacheWrite: 2 } },
    });
    expect(plain.price(house, usage)).toMatchObject({ usd: 1 });
    expect(full.price(house, usage)).toMatchObject({ usd: 0.9 });
  });

  test("R18: a price of 0 is a price, and needs no catalogue: the answer is no promise", () => {
    const book = new PriceBook({ prices: { large: { input: 0, output: 0 } } });
    expect(book.price(house, { inputTokens: 5, outputTokens: 5 })).toMatchObject({ usd: 0, source: "own" });
  });

  test("R18: without the catalogue only own prices count", () => {
    expect(new PriceBook({ catalogue: false }).price(mini, { inputTokens: 1, outputTokens: 1 })).toEqual({
      unpriced: true,
    });
  });

  test("R18: once the catalogue is there, answers are no promises", async () => {
    const book = new PriceBook();
    const usage = { inputTokens: 1, outputTokens: 1 };
    expect(book.price(mini, usage)).toBeInstanceOf(Promise);
    await book.price(mini, usage);
    expect(book.price(sonnet, usage)).toHaveProperty("usd");
  });

  test("R18: a price that changes with the hour is charged from that minute on", async () => {
    let now = Date.UTC(2025, 6, 1, 12);
    const book = new PriceBook({ clock: { now: () => now } });
    const deepseek = { provider: "deepseek", model: "deepseek-chat" };
    const usage = { inputTokens: 1_000_000, outputTokens: 0 };
    const day = (await known(book, deepseek, usage)).usd;
    now = Date.UTC(2025, 6, 1, 16, 29, 59);
    expect((await known(book, deepseek, usage)).usd).toBe(day);
    // From half past four on it costs half.
    now = Date.UTC(2025, 6, 1, 16, 30);
    expect((await known(book, deepseek, usage)).usd).toBe(day / 2);
  });

  test("R18: the worst price covers a cache that is written, and so every way the call can go", async () => {
    const book = new PriceBook();
    const worst = await book.worstPrice(sonnet, 1000, 100);
    expect(worst).toMatchObject({ usd: (1000 * 3.75 + 100 * 15) / 1e6 });
  });

  test("R18: the worst price has the fee of a request, and the dearer of answer and reasoning", () => {
    const rates = { input: 1, cachedInput: 1, cacheWrite: 1, output: 2, reasoning: 5, request: 0.5 };
    expect(worstPriceAt(rates, 1_000_000, 1_000_000)).toBe(6.5);
    expect(worstPriceAt({ ...rates, output: 7 }, 1_000_000, 1_000_000)).toBe(8.5);
  });

  test("R18: a free model costs nothing, and one that lists no price in tokens has none", () => {
    const listed = (id: string, model_price: Record<string, number>) => {
      const found = { model: { id, prices: model_price }, model_price };
      const listing = findListing({ calcPrice: () => found }, house, 0);
      return listing && ratesFor(listing, 1, 1);
    };
    expect(listed("large:free", {})).toMatchObject({ input: 0, output: 0 });
    expect(listed("large:free", { input_mtok: 1, output_mtok: 2 })).toMatchObject({ input: 1, output: 2 });
    expect(listed("large", {})).toBeUndefined();
    expect(listed("large", { output_mtok: 2 })).toBeUndefined();
    expect(listed("large", { input_mtok: 1 })).toBeUndefined();
  });

  test("R18: a model without a price for answers has one for calls that get none", () => {
    const listing = { prices: { input_mtok: 1 }, changesWithTime: false };
    expect(ratesFor(listing, 1_000, 0)).toMatchObject({ input: 1, output: 0, reasoning: 0 });
  });

  test("R18: the highest tier that is passed counts, in whatever order they are listed", () => {
    const tiers = [100, 300, 200].map((start) => ({ start, price: start }));
    const listing = { prices: { input_mtok: { base: 1, tiers }, output_mtok: 1 }, changesWithTime: false };
    const input = (tokens: number): number | undefined => ratesFor(listing, tokens, 1)?.input;
    expect([100, 101, 201, 301].map(input)).toEqual([1, 100, 200, 300]);
    tiers.unshift({ start: 0, price: 50 });
    expect([0, 1, 100, 101].map(input), "one that begins with the first token").toEqual([1, 50, 50, 100]);
  });

  test("R18: usage that makes no sense is an error that names it; parts above the whole are not", () => {
    const book = new PriceBook({ prices: { large: { input: 1_000_000, output: 0 } } });
    expect(complaint(() => book.price(house, { inputTokens: -1, outputTokens: 0 })).field).toBe(
      "usage.inputTokens",
    );
    complaint(() => book.price(house, { inputTokens: Number.NaN, outputTokens: 0 }));
    complaint(() => book.price(house, { inputTokens: Infinity, outputTokens: 0 }));
    for (const wrong of [{ provider: "house" }, { model: "large" }])
      complaint(() => book.price(wrong as ModelInfo, { inputTokens: 1, outputTokens: 0 }));
    expect(book.price(house, { inputTokens: 1, outputTokens: 0, cachedInputTokens: 3 })).toMatchObject({
      usd: 3,
    });
    const parts = { cachedInputTokens: 3, cacheWriteTokens: 2 };
    expect(book.price(house, { inputTokens: 1, outputTokens: 0, ...parts })).toMatchObject({ usd: 5 });
  });

  test("R18: a wrong price is refused when the book is made", () => {
    expect(complaint(() => new PriceBook({ prices: { a: { input: -1, output: 0 } } })).field).toBe(
      'prices["a"].input',
    );
    complaint(() => new PriceBook({ prices: { a: { input: Infinity, output: 0 } } }));
    const misspelt = { input: 1, output: 1, cached: 1 };
    expect(complaint(() => new PriceBook({ prices: { a: misspelt } })).field).toBe('prices["a"].cached');
    const half: object = { input: 1 };
    expect(complaint(() => new PriceBook({ prices: { a: half as { input: 1; output: 1 } } })).field).toBe(
      'prices["a"].output',
    );
  });
});

test("R18: for every model of the catalogue that is paid by tokens, the price is the catalogue's own", () => {
  const when = new Date(Date.UTC(2026, 0, 15, 10));
  const models = [
    "openai",
    "anthropic",
    "google",
    "groq",
    "mistral",
    "x-ai",
    "deepseek",
    "cohere",
    "perplexity",
    "aws",
  ]
    .flatMap((id) =>
      (findProvider({ providerId: id })?.models ?? []).map((model) => ({ provider: id, model: model.id })),
    )
    .filter((info) => {
      const prices = findListing({ calcPrice }, info, when.getTime())?.prices ?? {};
      return "input_mtok" in prices && "output_mtok" in prices;
    });
  expect(models.length).toBeGreaterThan(100);
  const usages = fc.record({
    info: fc.constantFrom(...models),
    plain: fc.nat(300_000),
    cached: fc.nat(300_000),
    written: fc.nat(1000),
    answer: fc.nat(10_000),
    reasoning: fc.nat(10_000),
  });
  fc.assert(
    fc.property(usages, ({ info, plain, cached, written, answer, reasoning }) => {
      const usage = {
        inputTokens: plain + cached + written,
        outputTokens: answer + reasoning,
        cachedInputTokens: cached,
        cacheWriteTokens: written,
        reasoningTokens: reasoning,
      };
      const listing = findListing({ calcPrice }, info, when.getTime());
      const rates = listing && ratesFor(listing, usage.inputTokens, usage.outputTokens);
      const theirs = calcPrice(
        {
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cache_read_tokens: cached,
          cache_write_tokens: written,
          output_reasoning_tokens: reasoning,
        },
        info.model,
        { providerId: info.provider, timestamp: when },
      );
      expect(rates && priceAt(rates, usage)).toBeCloseTo(theirs?.total_price ?? Number.NaN, 9);
    }),
    { numRuns: RUNS },
  );
});
