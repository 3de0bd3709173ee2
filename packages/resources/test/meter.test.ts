import { describe, expect, test } from "vitest";
import { type ChatMessage, isPromiseLike, type Meter, type ModelInfo, type ModelRequest } from "@ravi/kernel";
import {
  actualOf,
  DEFAULT_MAX_OUTPUT_TOKENS,
  ExecutionTracker,
  ModelMeter,
  PriceBook,
  spendOf,
} from "@ravi/resources";
import { complaint } from "./helpers.ts";

const prices = { large: { input: 1, output: 10, cacheWrite: 2 } };
const info: ModelInfo = { provider: "house", model: "large" };
const hundred = (): number => 100 - 4 - 3;
const request: ModelRequest = { messages: [{ role: "user", content: "x" }] };

describe("R18: the meter says before a call what it takes at most", () => {
  const meter = new ModelMeter({ prices, tokenizer: hundred });

  test("R18: input, the longest answer, and the price of both at its worst", () => {
    const estimate = meter.estimate({ ...info, maxOutputTokens: 1000 }, request);
    expect(estimate).toMatchObject({ inputTokens: 100, maxOutputTokens: 1000 });
    expect(estimate).toMatchObject({ price: { usd: (100 * 2 + 1000 * 10) / 1e6, source: "own" } });
  });

  test("R18: the request's own limit goes before the model's, and a documented one stands in for both", () => {
    const most = (model: ModelInfo, call: ModelRequest): unknown => meter.estimate(model, call);
    expect(most({ ...info, maxOutputTokens: 1000 }, { ...request, maxOutputTokens: 50 })).toMatchObject({
      maxOutputTokens: 50,
    });
    expect(most(info, request)).toMatchObject({ maxOutputTokens: DEFAULT_MAX_OUTPUT_TOKENS });
    const short = new ModelMeter({ prices, tokenizer: hundred, defaultMaxOutputTokens: 10 });
    expect(short.estimate(info, request)).toMatchObject({ maxOutputTokens: 10 });
  });

  test("R18: other vocabularies than OpenAI's are counted with 30 % more; characters err on the high side already", async () => {
    const message = { role: "user", content: "The quick brown fox jumps over the lazy dog." } as const;
    const auto = new ModelMeter();
    const tokens = async (model: string, by = auto): Promise<number> =>
      (await by.estimate({ provider: "any", model }, { messages: [message] })).inputTokens;
    const openai = await tokens("gpt-4o-mini");
    expect(await tokens("openai/gpt-5")).toBe(openai);
    expect(await tokens("o3-mini")).toBe(openai);
    for (const model of ["claude-sonnet-4-5", "gpt-4-turbo", "llama3", "pro3-large"]) {
      expect(await tokens(model)).toBe(Math.ceil(openai * 1.3));
    }
    const characters = new ModelMeter({ tokenizer: "characters" });
    expect(await tokens("claude-sonnet-4-5", characters)).toBe(await tokens("gpt-4o-mini", characters));
  });

  describe("R18: the quick estimate", () => {
    const text = "It was a bright cold day in April, and the clocks were striking 13: `{ n: 1 }`.\n";
    const long: ModelRequest = { messages: [{ role: "user", content: text.repeat(20) }] };
    const gpt: ModelInfo = { provider: "openai", model: "gpt-4o-mini" };

    test("needs no vocabulary, and is higher for every one", async () => {
      const auto = new ModelMeter({ prices: { "gpt-4o-mini": { input: 1, output: 4 } } });
      const quick = auto.quickEstimate(gpt, long);
      const loading = auto.estimate(gpt, long);
      // With a price of one's own there is nothing else to wait for.
      if (quick === undefined || "then" in quick) throw new Error("something was loaded");
      if (!("then" in loading)) throw new Error("the vocabulary was there already");
      const { inputTokens, maxOutputTokens, price } = await loading;
      expect(quick.inputTokens).toBeGreaterThan(inputTokens);
      expect(quick.inputTokens).toBeLessThan(4 * inputTokens);
      expect(quick.maxOutputTokens).toBe(maxOutputTokens);
      if ("unpriced" in quick.price || "unpriced" in price) throw new Error("there is a price");
      expect(quick.price.usd).toBeGreaterThan(price.usd);
      expect(quick.price.source).toBe("own");
      // Now there is nothing left to save.
      expect(auto.quickEstimate(gpt, long)).toBeUndefined();
    });

    test("is above what a meter by characters estimates, as those may be too few", () => {
      const images = { prices, imageTokens: 85 } as const;
      const picture = { type: "image", url: "https://x.test/a.png", mediaType: "image/png" } as const;
      const seen: ModelRequest = { messages: [{ role: "user", content: [picture] }] };
      for (const each of [long, seen]) {
        const counted = new ModelMeter({ ...images, tokenizer: "characters" }).estimate(info, each);
        if ("then" in counted) throw new Error("something was loaded");
        expect(new ModelMeter(images).quickEstimate(info, each)).toMatchObject({
          inputTokens: Math.ceil(1.3 * 2.25 * counted.inputTokens),
        });
      }
    });

    test.each(["gpt-4o-mini", "claude-sonnet-4-5"])(
      "T2: is not lower than the estimate for %s, also for letters that make no words",
      async (model) => {
        // The worst that was found, and random ones of each length.
        const worst = [
          "qj",
          "xkq",
          "zqj",
          "xjv",
          "pzq",
          "kxqnxm",
          "xzvdbqk",
          "gbfvnxkzqj",
          "\u01c1\u01c2",
          "\u01dd\u01de",
        ];
        const letters = "bcdfghjklmnpqrstvwxz";
        const wordOf = (size: number, at: number): string =>
          Array.from({ length: size }, (_, n) => letters[(at * 7 + n * n * 3 + at * n) % 20]).join("");
        const wordsOf = (size: number): string =>
          Array.from({ length: 400 }, (_, at) => wordOf(size, at)).join(" ");
        const random = Array.from({ length: 12 }, (_, at) => wordsOf(at + 1));
        for (const content of [...worst.map((word) => ` ${word}`.repeat(200)), ...random]) {
          const strange: ModelRequest = { messages: [{ role: "user", content }] };
          const auto = new ModelMeter({ prices });
          const quick = await auto.quickEstimate({ ...info, model }, strange);
          const { inputTokens } = await auto.estimate({ ...info, model }, strange);
          expect(quick?.inputTokens).toBeGreaterThanOrEqual(inputTokens);
        }
      },
    );

    test("is none until the one before is priced", () => {
      const auto = new ModelMeter({ prices });
      const quick = auto.quickEstimate(info, request);
      if (quick === undefined || "then" in quick) throw new Error("something was loaded");
      expect(auto.quickEstimate(info, request)).toBeUndefined();
      void auto.price(info, { inputTokens: 1, outputTokens: 1 }, quick);
      expect(auto.quickEstimate(info, request)).toEqual(quick);
    });

    test("waits for the catalogue's prices", async () => {
      const quick = await new ModelMeter().quickEstimate(gpt, long);
      expect(quick).toMatchObject({ price: { source: "catalogue" } });
    });

    test("is none where `estimate` needs no vocabulary, and where a subclass estimates", () => {
      class Careful extends ModelMeter {
        override estimate(...of: Parameters<ModelMeter["estimate"]>): ReturnType<ModelMeter["estimate"]> {
          return super.estimate(...of);
        }
      }
      const meters = [
        new ModelMeter({ prices, tokenizer: hundred }),
        new ModelMeter({ prices, tokenizer: "characters" }),
        new Careful({ prices }),
      ];
      expect(meters.map((each) => each.quickEstimate(info, request))).toEqual(meters.map(() => undefined));
    });

    test("is none for a model that has used more", () => {
      const auto = new ModelMeter({ prices });
      const quick = auto.quickEstimate(info, request);
      if (quick === undefined || "then" in quick) throw new Error("something was loaded");
      void auto.price(info, { inputTokens: quick.inputTokens, outputTokens: 1 }, quick);
      const again = auto.quickEstimate(info, request);
      if (again === undefined || "then" in again) throw new Error("something was loaded");
      expect(again).toEqual(quick);
      void auto.price(info, { inputTokens: quick.inputTokens + 1, outputTokens: 1 }, again);
      expect(auto.quickEstimate(info, request)).toBeUndefined();
      expect(auto.quickEstimate({ ...info, model: "other" }, request)).toBeDefined();
    });
  });

  test("R18: an unknown model is unpriced, which a limit in dollars refuses and others do not mind", () => {
    const bare = new ModelMeter({ prices: new PriceBook({ catalogue: false }), tokenizer: hundred });
    const estimate = bare.estimate(info, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    expect(estimate.price).toEqual({ unpriced: true });
    expect(spendOf(estimate)).toEqual({ tokens: 100 + 4096, turns: 1 });
    complaint(() => new ExecutionTracker({ maxCostUsd: 1 }).reserve(spendOf(estimate)));
    new ExecutionTracker({ maxTokens: 10_000 }).reserve(spendOf(estimate)).settle({});
    // The estimate of a meter is one: it means the same.
    complaint(() => new ExecutionTracker({ maxCostUsd: 1 }).reserve(estimate));
    const ledger = new ExecutionTracker({ maxTokens: 10_000, maxTurns: 5 });
    ledger.reserve(estimate);
    expect(ledger.remaining()).toMatchObject({ tokens: 10_000 - 100 - 4096, turns: 4 });
    complaint(() => ledger.reserve({ maxOutputTokens: 1 } as never));
  });

  test("R18: a count that is none teaches nothing, and later estimates are what they were", () => {
    const learning = new ModelMeter({ prices: new PriceBook({ catalogue: false }), tokenizer: hundred });
    const estimate = learning.estimate(info, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    const { inputTokens, maxOutputTokens, price } = estimate;
    const plain: object = { inputTokens, maxOutputTokens, price };
    void learning.price(info, { inputTokens: Number.NaN, outputTokens: 1 }, estimate);
    void learning.price(info, { inputTokens: 900, outputTokens: 1 }, plain as typeof estimate);
    expect(learning.estimate(info, request)).toEqual(estimate);
  });

  test("R18: what it learns of one model does not count for another whose names only look alike when joined", () => {
    const learning = new ModelMeter({ prices: new PriceBook({ catalogue: false }), tokenizer: hundred });
    const tagged = { provider: "house", model: "large:latest" };
    const other = { provider: "house:large", model: "latest" };
    const estimate = learning.estimate(tagged, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    void learning.price(tagged, { inputTokens: 200, outputTokens: 1 }, estimate);
    expect(learning.estimate(tagged, request)).toMatchObject({ inputTokens: 210 });
    expect(learning.estimate(other, request)).toMatchObject({ inputTokens: 100 });
  });

  test("R18: it learns from a model that took more than was estimated, once, however many calls were in flight", () => {
    const learning = new ModelMeter({ prices, tokenizer: hundred });
    const estimates = Array.from({ length: 20 }, () => learning.estimate(info, request));
    for (const estimate of estimates) {
      if ("then" in estimate) throw new Error("nothing had to be loaded");
      void learning.price(info, { inputTokens: 150, outputTokens: 1 }, estimate);
      void learning.price(info, { inputTokens: 20, outputTokens: 1 }, estimate);
    }
    expect(learning.estimate(info, request)).toMatchObject({ inputTokens: Math.ceil(100 * 1.5 * 1.05) });
    expect(learning.estimate({ ...info, model: "other", provider: "house" }, request)).not.toMatchObject({
      inputTokens: 158,
    });
  });

  test("R18: a call that took as much as was estimated, or a little less, teaches it nothing", () => {
    const learning = new ModelMeter({ prices, tokenizer: hundred });
    for (const inputTokens of [100, 99, 100]) {
      const estimate = learning.estimate(info, request);
      if ("then" in estimate) throw new Error("nothing had to be loaded");
      void learning.price(info, { inputTokens, outputTokens: 1 }, estimate);
    }
    expect(learning.estimate(info, request)).toMatchObject({ inputTokens: 100, factor: 1 });
  });

  test("R18: options that are changed after they were checked change nothing", async () => {
    const options = { prices, tokenizer: hundred, imageTokens: 10 };
    const changed = new ModelMeter(options);
    options.imageTokens = Number.NaN;
    const image = { type: "image", url: "data:image/png;base64,AA==" } as const;
    const seen = await changed.estimate(info, { messages: [{ role: "user", content: [image] }] });
    expect(Number.isSafeInteger(seen.inputTokens)).toBe(true);
  });

  test("R18: a count that is impossibly high raises estimates to four times at most", () => {
    const learning = new ModelMeter({ prices, tokenizer: hundred });
    const estimate = learning.estimate(info, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    void learning.price(info, { inputTokens: 1_000_000, outputTokens: 1 }, estimate);
    expect(learning.estimate(info, request)).toMatchObject({ inputTokens: 400, factor: 4, extra: 0 });
  });

  test("R18: what a provider adds to a short request is added to the next one, and does not multiply it", () => {
    const learning = new ModelMeter({ prices, tokenizer: (text) => text.length });
    const ask = (length: number) => {
      const messages = [{ role: "user", content: "x".repeat(length) }] as const;
      const estimate = learning.estimate(info, { messages });
      if ("then" in estimate) throw new Error("nothing had to be loaded");
      return estimate;
    };
    const short = ask(20);
    const frame = short.inputTokens - 20;
    void learning.price(info, { inputTokens: short.inputTokens + 346, outputTokens: 1 }, short);
    const extra = Math.ceil((20 + frame + 346) * 1.05) - 20 - frame;
    expect(ask(20)).toMatchObject({ inputTokens: 20 + frame + extra, factor: 1, extra });
    const long = ask(50_000);
    expect(long).toMatchObject({ inputTokens: 50_000 + frame + extra, factor: 1 });
    // That one takes three times as many, and so will others of its size.
    void learning.price(info, { inputTokens: 150_000, outputTokens: 1 }, long);
    expect(ask(50_000)).toMatchObject({ inputTokens: Math.ceil(150_000 * 1.05), extra });
  });

  test("R18: of a PDF that takes more, it learns of images and files, and not of texts", () => {
    const learning = new ModelMeter({ prices, tokenizer: (text) => text.length });
    const text: ChatMessage = { role: "user", content: "x".repeat(500) };
    const pdf: ChatMessage = {
      role: "user",
      content: [{ type: "file", url: "https://example.org/a.pdf", mediaType: "application/pdf" }],
    };
    const ask = (...messages: readonly ChatMessage[]) => {
      const estimate = learning.estimate(info, { messages });
      if (isPromiseLike(estimate)) throw new Error("there is nothing to load");
      return estimate;
    };
    const texts = ask(text);
    const both = ask(text, pdf);
    const files = 3_000;
    expect(both).toMatchObject({ attached: { tokens: files, factor: 1 } });
    void learning.price(info, { inputTokens: both.inputTokens + 5_000, outputTokens: 1 }, both);
    // The next turn of the conversation has the file too.
    expect(ask(text, pdf).inputTokens).toBe(Math.ceil((both.inputTokens + 5_000) * 1.05));
    expect(ask(pdf, text)).toMatchObject({ attached: { tokens: files } });
    expect(ask(text)).toEqual(texts);
    void learning.price(info, { inputTokens: 1_000_000, outputTokens: 1 }, both);
    expect(ask(text, pdf).inputTokens).toBe(both.inputTokens + 3 * files);
    expect(ask(text)).toEqual(texts);
  });

  test("R18: of calls at once, the one to which most was added is what it learns from", () => {
    const learning = new ModelMeter({ prices, tokenizer: hundred });
    const estimate = learning.estimate(info, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    for (const inputTokens of [300, 150])
      void learning.price(info, { inputTokens, outputTokens: 1 }, estimate);
    expect(learning.estimate(info, request)).toMatchObject({ inputTokens: 315, factor: 1, extra: 215 });
  });

  test("R18: nor of a model with the same name that another provider has", () => {
    const learning = new ModelMeter({ prices, tokenizer: hundred });
    const other = { ...info, provider: "other" };
    const estimate = learning.estimate(info, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    void learning.price(info, { inputTokens: 200, outputTokens: 1 }, estimate);
    expect(learning.estimate(other, request)).toMatchObject({ inputTokens: 100 });
    expect(learning.estimate(info, request)).toMatchObject({ inputTokens: 210 });
  });

  test("R18: an estimate of no input at all teaches it nothing", () => {
    const learning = new ModelMeter({ prices, tokenizer: hundred });
    const estimate = learning.estimate(info, request);
    if ("then" in estimate) throw new Error("nothing had to be loaded");
    void learning.price(info, { inputTokens: 9, outputTokens: 1 }, { ...estimate, inputTokens: 0 });
    expect(learning.estimate(info, request)).toEqual(estimate);
  });

  test("R18: a price that comes later is waited for, and a model without a name is refused", async () => {
    const price = { unpriced: true } as const;
    const source = { price: () => price, worstPrice: async () => price };
    const later = new ModelMeter({ prices: source, tokenizer: hundred });
    expect(await later.estimate(info, request)).toMatchObject({ inputTokens: 100, price });
    for (const wrong of [{ provider: "house" }, { model: "large" }])
      complaint(() => later.estimate(wrong as ModelInfo, request));
  });

  test("R18: what it knows of one model says nothing of another, in whatever order they are called", () => {
    const both = { large: prices.large, small: { input: 1, output: 1 } };
    const mixed = new ModelMeter({ prices: both, tokenizer: hundred });
    const ask = (model: string) => {
      const estimate = mixed.estimate({ provider: "house", model }, request);
      if ("then" in estimate) throw new Error("nothing had to be loaded");
      return estimate;
    };
    void mixed.price(info, { inputTokens: 200, outputTokens: 1 }, ask("large"));
    for (let n = 0; n < 3; n++) {
      expect(ask("large").inputTokens).toBe(Math.ceil(100 * 2 * 1.05));
      expect(ask("small")).toMatchObject({ inputTokens: 100, price: { rates: { output: 1 } } });
    }
  });

  test("R18: it is the kernel's Meter", async () => {
    const port: Meter = meter;
    expect(await port.price(info, { inputTokens: 1_000_000, outputTokens: 0 })).toMatchObject({ usd: 1 });
  });

  test("R18: wrong options are refused", () => {
    expect(complaint(() => new ModelMeter({ defaultMaxOutputTokens: 0 })).field).toBe(
      "defaultMaxOutputTokens",
    );
    expect(complaint(() => new ModelMeter({ imageTokens: -1 })).field).toBe("imageTokens");
  });
});

describe("R18: from an estimate to a settled call", () => {
  test("R18: what a meter says fits what a ledger takes, and the price is kept with it", async () => {
    const meter = new ModelMeter({ prices, tokenizer: hundred });
    const ledger = new ExecutionTracker({ maxCostUsd: 1 });
    const estimate = await meter.estimate(info, request);
    const reservation = ledger.reserve(spendOf(estimate), { what: "house:large" });
    const usage = { inputTokens: 90, outputTokens: 10 };
    const price = await meter.price(info, usage, estimate);
    reservation.settle(actualOf(usage, price));
    expect(ledger.used).toEqual({ tokens: 100, cost: 0.000_19, turns: 1, toolCalls: 0 });
    expect(price).toMatchObject({ rates: { input: 1, output: 10 } });
  });

  test("R18: no usage is charged as estimated, a free call as free", () => {
    expect(actualOf(undefined, undefined)).toEqual({ estimated: true });
    expect(actualOf({ inputTokens: 1, outputTokens: 2 }, undefined)).toStrictEqual({ tokens: 3 });
    expect(actualOf({ inputTokens: 1, outputTokens: 2 }, { unpriced: true })).toEqual({ tokens: 3 });
    expect(actualOf({ inputTokens: 1, outputTokens: 2 }, { usd: 0 })).toEqual({ tokens: 3, cost: 0 });
  });
});
