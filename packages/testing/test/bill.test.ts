import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { systemClock, type Usage } from "@ravi/kernel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readBill } from "../src/index.ts";
import { type Bill, makeBill } from "../src/loopback/bill.ts";
import { openBillFile } from "../src/loopback/bill-file.ts";
import { costOf, dollarsOf, nanoOf, type Prices } from "../src/loopback/price.ts";
import { temporaryFile } from "./helpers.ts";

const RUNS = process.env["RAVI_LONG"] ? 100_000 : 1_000;

const charge = (usage: Usage, model = "small") => ({
  model,
  usage,
  idempotencyKey: undefined,
  key: undefined,
});
const one = { inputTokens: 1, outputTokens: 1 };
const bill = async (file: string | undefined, prices?: Prices | ((model: string) => Prices)): Promise<Bill> =>
  makeBill({
    disk: file === undefined ? undefined : await openBillFile(file),
    prices,
    clock: { now: () => 5 },
  });

describe("the price", () => {
  test("is exact in nano-dollars", () => {
    const prices = { input: 0.25, output: 2 };
    expect(costOf({ inputTokens: 1, outputTokens: 0 }, prices)).toBe(250n);
    expect(costOf({ inputTokens: 1_000_000, outputTokens: 1_000_000 }, prices)).toBe(2_250_000_000n);
    expect(costOf({ inputTokens: 3, outputTokens: 0 }, { input: 0.1, output: 0 })).toBe(300n);
    expect(costOf({ inputTokens: 2 ** 40, outputTokens: 0 }, prices)).toBe(250n * 2n ** 40n);
  });

  test("of cached input is its own, and cached tokens are not paid for twice", () => {
    const usage = { inputTokens: 100, outputTokens: 0, cachedInputTokens: 60 };
    expect(costOf(usage, { input: 1, cachedInput: 0.1, output: 0 })).toBe(40_000n + 6_000n);
    expect(costOf(usage, { input: 1, output: 0 })).toBe(100_000n);
    expect(costOf({ ...usage, cachedInputTokens: 500 }, { input: 1, cachedInput: 0.1, output: 0 })).toBe(
      10_000n,
    );
  });

  test("rounds once for each call, to the nearest nano-dollar", () => {
    // 37.5 nano-dollars a token.
    expect(costOf({ inputTokens: 2, outputTokens: 0 }, { input: 0.0375, output: 0 })).toBe(75n);
    expect(costOf({ inputTokens: 1, outputTokens: 0 }, { input: 0.0375, output: 0 })).toBe(38n);
  });

  test("survives the way through dollars as a number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1_000_000_000_000_000n }), (nano) => {
        expect(nanoOf(dollarsOf(nano))).toBe(nano);
        expect(nanoOf(JSON.parse(JSON.stringify(dollarsOf(nano))))).toBe(nano);
      }),
      { numRuns: RUNS },
    );
  });
});

describe("the sum of a bill", () => {
  const usages = fc.array(fc.record({ inputTokens: fc.nat(2_000_000), outputTokens: fc.nat(200_000) }), {
    minLength: 1,
    maxLength: 40,
    size: "max",
  });
  /** The oracle: all tokens priced at once, in whole nano-dollars. */
  const total = (list: readonly Usage[]): number =>
    Number(
      list.reduce((sum, use) => sum + 250n * BigInt(use.inputTokens) + 2_000n * BigInt(use.outputTokens), 0n),
    ) / 1e9;

  test("is exact, however many entries there are", async () => {
    await fc.assert(
      fc.asyncProperty(usages, async (list) => {
        const opened = await bill(undefined);
        await Promise.all(list.map((usage) => opened.add(charge(usage))));
        expect(opened.summary().costUsd).toBe(total(list));
      }),
      { numRuns: RUNS / 10 },
    );
  });

  test("the oracle bites: adding up dollars as floating numbers is caught", async () => {
    const naive = fc.asyncProperty(usages, async (list) => {
      const opened = await bill(undefined);
      await Promise.all(list.map((usage) => opened.add(charge(usage))));
      expect(opened.summary().entries.reduce((sum, entry) => sum + entry.costUsd, 0)).toBe(total(list));
    });
    const outcome = await fc.check(naive, { numRuns: 1_000 });
    expect(outcome.failed).toBe(true);
  });
});

describe("the file", () => {
  test("has a line for each charge, only readable to its owner, and reads as what the server says", async () => {
    const file = temporaryFile("deep/down/bill.jsonl");
    const opened = await bill(file, { input: 1, output: 1 });
    await opened.add({ ...charge({ ...one, cachedInputTokens: 1 }), idempotencyKey: "i", key: "abcd" });
    await opened.add(charge(one, "large"));
    expect(readFileSync(file, "utf8").split("\n")).toEqual([
      '{"n":1,"at":5,"model":"small","inputTokens":1,"outputTokens":1,"costUsd":0.000002,"cachedInputTokens":1,"idempotencyKey":"i","key":"abcd"}',
      '{"n":2,"at":5,"model":"large","inputTokens":1,"outputTokens":1,"costUsd":0.000002}',
      "",
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readBill(file)).toEqual(opened.summary());
    expect(readBill(file)).toMatchObject({ calls: 2, inputTokens: 2, outputTokens: 2, costUsd: 0.000004 });
    await opened.close();
  });

  test("prices may go by the model", async () => {
    const opened = await bill(undefined, (model) => ({ input: model === "large" ? 10 : 1, output: 0 }));
    await opened.add(charge({ inputTokens: 1, outputTokens: 0 }, "large"));
    await opened.add(charge({ inputTokens: 1, outputTokens: 0 }, "small"));
    expect(opened.summary().entries.map((entry) => entry.costUsd)).toEqual([0.00001, 0.000001]);
  });

  test("T5: a torn last line is left out by a reader at every byte", async () => {
    const file = temporaryFile("bill.jsonl");
    const opened = await bill(file);
    for (let n = 0; n < 3; n++) await opened.add(charge(one, "smäll"));
    await opened.close();
    const bytes = readFileSync(file);
    const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
    for (let length = 0; length <= bytes.length; length++) {
      writeFileSync(file, bytes.subarray(0, length));
      expect(readBill(file).calls).toBe(ends.filter((end) => end <= length).length);
    }
  });

  test("T5: a torn last line is cut off by the next server, so that its entry does not run into it", async () => {
    for (const torn of [
      '{"n":2,"at":1,"mod',
      '{"n":2,"at":1,"model":"\xc3',
      "{",
      '{"n":2,"at":1,"model":"a","inputTokens":1,"outputTokens":1,"costUsd":0}',
    ]) {
      const file = temporaryFile("bill.jsonl");
      const first = await bill(file);
      await first.add(charge(one, "smäll"));
      await first.close();
      appendFileSync(file, torn, "latin1");
      const second = await bill(file);
      expect(second.summary().calls).toBe(1);
      expect((await second.add(charge(one))).n).toBe(2);
      await second.close();
      expect(readBill(file).entries.map((entry) => entry.n)).toEqual([1, 2]);
      expect(readBill(file).entries[0]?.model).toBe("smäll");
    }
  });

  test.each([
    ["a damaged line in the middle", (lines: string[]) => lines.with(1, '{"n":2,"at"'), 2],
    ["a line that is no entry", (lines: string[]) => lines.with(1, '{"n":2}'), 2],
    ["a missing line", (lines: string[]) => lines.toSpliced(1, 1), 2],
    ["a line twice", (lines: string[]) => lines.toSpliced(1, 0, lines[1] ?? ""), 3],
    ["an empty line", (lines: string[]) => lines.toSpliced(2, 0, ""), 3],
  ])("T5: %s is an error that names the line, for readers and for servers", async (_, damage, line) => {
    const file = temporaryFile("bill.jsonl");
    const opened = await bill(file);
    for (let n = 0; n < 3; n++) await opened.add(charge(one));
    await opened.close();
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const damaged = `${damage(lines).join("\n")}\n`;
    writeFileSync(file, damaged);
    const message = new RegExp(`^line ${line} of .*bill\\.jsonl is .*damaged, or more than one server wrote`);
    expect(() => readBill(file)).toThrow(message);
    await expect(bill(file)).rejects.toThrow(message);
    expect(readFileSync(file, "utf8")).toBe(damaged);
  });

  test("a file that is not there, or cannot be, is an error that names it", async () => {
    const file = temporaryFile("bill.jsonl");
    expect(() => readBill(file)).toThrow(/bill file is ".*bill\.jsonl"; expected a file that can be read/);
    writeFileSync(file, "");
    expect(readBill(file)).toEqual({ calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, entries: [] });
    await expect(bill(`${file}/below`)).rejects.toThrow(
      /billFile is .*; expected a file that can be written/,
    );
    expect(existsSync(`${file}/below`)).toBe(false);
    await expect(bill("/dev/full")).rejects.toThrow(/billFile is "\/dev\/full"; expected a regular file/);
  });

  test("T5: on a full disk nothing more is charged, and so nothing more is answered", async () => {
    const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    let closed = false;
    const disk = {
      entries: [],
      append: () => Promise.reject(full),
      close: async () => void (closed = true),
    };
    const opened = makeBill({ disk, prices: undefined, clock: systemClock });
    const failed = await Promise.allSettled([opened.add(charge(one)), opened.add(charge(one))]);
    for (const outcome of failed) expect(outcome).toMatchObject({ reason: { cause: full } });
    await expect(opened.add(charge(one))).rejects.toThrow(
      /cannot be written, so no more requests are answered/,
    );
    expect(opened.summary().calls).toBe(0);
    await opened.close();
    expect(closed).toBe(true);
  });

  test("an entry that comes exactly when a group is done is not forgotten", async () => {
    const opened = await bill(temporaryFile("bill.jsonl"));
    // Each is added from the very tick in which the one before it resolves.
    let chain = opened.add(charge(one));
    for (let n = 0; n < 20; n++) chain = chain.then(() => opened.add(charge(one)));
    expect((await chain).n).toBe(21);
    await opened.close();
    await expect(opened.add(charge(one))).rejects.toThrow(/closed/);
  });
});
