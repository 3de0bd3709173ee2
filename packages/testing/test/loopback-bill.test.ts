import { readFileSync } from "node:fs";
import { systemClock } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { loopbackOpenAI, type LoopbackServer, readBill } from "../src/index.ts";
import { type Bill, makeBill } from "../src/loopback/bill.ts";
import { openBillFile } from "../src/loopback/bill-file.ts";
import { serveLoopback } from "../src/loopback/server.ts";
import { chat, post, temporaryFile } from "./helpers.ts";

describe("the bill of a server", () => {
  test("says what each call cost, with the end of its key", async () => {
    const billFile = temporaryFile("bill.jsonl");
    await using server = await loopbackOpenAI({
      script: [{ text: "a", usage: { inputTokens: 1_000_000, outputTokens: 1_000 } }, "four more"],
      billFile,
    });
    const headers = { authorization: "Bearer sk-secret-abcd", "idempotency-key": "run:llm#1" };
    await post(server.url, chat("a"), { headers });
    await post(server.url, chat("12345678"), { headers: { authorization: "Bearer short" } });
    expect(readBill(billFile)).toMatchObject({
      calls: 2,
      inputTokens: 1_000_002,
      outputTokens: 1_003,
      costUsd: 0.2520065,
      entries: [
        { n: 1, model: "small", costUsd: 0.252, idempotencyKey: "run:llm#1", key: "abcd" },
        { n: 2, costUsd: 0.0000065, key: "****" },
      ],
    });
    expect(server.bill()).toEqual(readBill(billFile));
    expect(readFileSync(billFile, "utf8")).not.toContain("sk-secret");
  });

  test("T5: 200 calls at once are 200 lines, numbered without gaps", async () => {
    const billFile = temporaryFile("bill.jsonl");
    await using server = await loopbackOpenAI({ script: (_, { index }) => `answer ${index}`, billFile });
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        post(server.url, chat(`question ${index}`, { stream: index % 2 === 0 })),
      ),
    );
    await Promise.all(responses.map((response) => response.text()));
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([200]));
    expect(readFileSync(billFile, "utf8").trim().split("\n")).toHaveLength(200);
    expect(readBill(billFile).entries.map((entry) => entry.n)).toEqual(
      Array.from({ length: 200 }, (_, n) => n + 1),
    );
    expect(new Set(server.requests.map((request) => JSON.stringify(request.body))).size).toBe(200);
  });

  test("is continued by the next server on the same file", async () => {
    const billFile = temporaryFile("bill.jsonl");
    for (let round = 1; round <= 3; round++) {
      await using server = await loopbackOpenAI({ script: ["a"], billFile });
      await post(server.url, chat("a"));
      expect(server.bill().calls).toBe(round);
    }
    expect(readBill(billFile).entries.map((entry) => entry.n)).toEqual([1, 2, 3]);
  });

  test("that cannot be written means no answer", async () => {
    const disk = {
      entries: [],
      append: () => Promise.reject(new Error("no space left on device")),
      close: () => Promise.resolve(),
    };
    const bill = makeBill({ disk, prices: undefined, clock: systemClock });
    await using server = await serveLoopback({ script: () => "a" }, bill);
    for (let round = 0; round < 2; round++) {
      const response = await post(server.url, chat("a"));
      expect([response.status, await response.text()]).toEqual([
        500,
        expect.stringContaining("cannot be written"),
      ]);
    }
    expect(server.bill().calls).toBe(0);
  });
});

describe("the charge is on the disk before the first byte", () => {
  const start = (bill: Bill): Promise<LoopbackServer> => serveLoopback({ script: () => "answer" }, bill);
  const open = async (file: string): Promise<Bill> =>
    makeBill({ disk: await openBillFile(file), prices: undefined, clock: systemClock });

  /** The oracle: when a client sees the headers of an answer, the file already has its line. */
  async function isBilledFirst(file: string, server: LoopbackServer): Promise<boolean> {
    for (let call = 1; call <= 5; call++) {
      const response = await post(server.url, chat("a", { stream: call % 2 === 0 }));
      const lines = readFileSync(file, "utf8").split("\n").length - 1;
      await response.text();
      if (lines < call) return false;
    }
    return true;
  }

  test("whether it is streamed or not", async () => {
    const file = temporaryFile("bill.jsonl");
    await using server = await start(await open(file));
    expect(await isBilledFirst(file, server)).toBe(true);
  });

  test("the oracle bites: a bill that answers before it writes is caught", async () => {
    const file = temporaryFile("bill.jsonl");
    const bill = await open(file);
    const kept: Parameters<Bill["add"]>[0][] = [];
    const late: Bill = {
      ...bill,
      add: async (charge) => {
        kept.push(charge);
        return { n: kept.length, at: 0, model: charge.model, costUsd: 0, ...charge.usage };
      },
      close: async () => {
        for (const charge of kept) await bill.add(charge);
        await bill.close();
      },
    };
    const server = await start(late);
    expect(await isBilledFirst(file, server)).toBe(false);
    await server.close();
    expect(readBill(file).calls).toBe(1);
  });

  test("an answer waits for as long as its charge takes", async () => {
    let written: (() => void) | undefined;
    const bill = makeBill({ disk: undefined, prices: undefined, clock: systemClock });
    const slow: Bill = {
      ...bill,
      add: async (charge) => {
        await new Promise<void>((resolve) => (written = resolve));
        return bill.add(charge);
      },
    };
    await using server = await start(slow);
    let answered = false;
    const call = post(server.url, chat("a")).then((response) => {
      answered = true;
      return response.status;
    });
    await expect.poll(() => written).toBeDefined();
    // Another request goes all the way there and back meanwhile.
    await fetch(`${server.url}/models`);
    expect(answered).toBe(false);
    written?.();
    expect(await call).toBe(200);
  });
});
