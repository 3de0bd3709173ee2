import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type AbortSignalLike,
  defineTool,
  type Ledger,
  type Limiter,
  type LLMClient,
  type Reservation,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done } from "../support/helpers.ts";

// A ledger or a limiter may be somewhere else, and answer late. Whoever was stopped in the meantime sends nothing and pays nothing.

interface Books {
  readonly events: string[];
  /** Lets the reservation that waits come through. */
  grant: () => void;
}

/** Answers when it is told to, and writes down what becomes of what it has set aside. */
function slowLedger(books: Books): Ledger {
  const reservation: Reservation = {
    settle() {
      books.events.push("settled");
      return { warnings: [], exceeded: [] };
    },
    async cancel() {
      books.events.push("given back");
    },
  };
  return {
    used: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 },
    async reserve() {
      const { promise, resolve } = Promise.withResolvers<void>();
      books.grant = resolve;
      books.events.push("asked");
      await promise;
      return reservation;
    },
    charge: () => ({ warnings: [], exceeded: [] }),
    child: () => slowLedger(books),
    remaining: () => ({ tokens: null, cost: null, turns: null, toolCalls: null }),
    snapshot: () => ({}),
  };
}

function countingModel(books: Books): LLMClient {
  return {
    id: "m",
    info: { provider: "p", model: "m" },
    async generate() {
      books.events.push("sent");
      return { message: { role: "assistant", content: "x" }, finishReason: "stop", usage: USAGE };
    },
  };
}

const USAGE = { inputTokens: 10, outputTokens: 5 };
const JOURNALS = [
  ["without a journal", () => undefined],
  ["on a journal", () => new MemoryJournal()],
] as const;

async function asked(books: Books): Promise<void> {
  while (!books.events.includes("asked")) await new Promise(setImmediate);
}

describe("stopped while something was waited for", () => {
  test.each(JOURNALS)(
    "R18: a model call whose money comes after the cancellation is not sent, %s",
    async (_, open) => {
      const books: Books = { events: [], grant: () => {} };
      const model = countingModel(books);
      const asking = agent("a", async (ctx) => done(String(await ctx.llm(model, ask("go")))));
      const runtime = new Runtime({ journal: open(), ledger: () => slowLedger(books) });
      const handle = runtime.run(asking, "go");
      await asked(books);
      handle.cancel("enough");
      books.grant();
      expect(await handle.result).toMatchObject({ status: "cancelled", usage: { inputTokens: 0 } });
      expect(books.events).toEqual(["asked", "given back"]);
    },
  );

  test.each(JOURNALS)(
    "R18: a tool whose call is granted after the cancellation is not run, %s",
    async (_, open) => {
      const books: Books = { events: [], grant: () => {} };
      const tool = defineTool({
        name: "pay",
        description: "",
        input: z.object({}),
        execute: () => void books.events.push("run"),
      });
      const paying = agent("a", async (ctx) => {
        const call = { id: "1", name: "pay", arguments: "{}" };
        return done((await ctx.tool(call, tool)).content as string);
      });
      const runtime = new Runtime({ journal: open(), ledger: () => slowLedger(books) });
      const handle = runtime.run(paying, "go");
      await asked(books);
      handle.cancel("enough");
      books.grant();
      const result = await handle.result;
      expect(result).toMatchObject({ status: "cancelled", agents: [{ toolCalls: 0 }] });
      expect(books.events).toEqual(["asked", "given back"]);
    },
  );

  test("R18: a place in the limiter's line that comes after the cancellation is given back, and nothing is sent", async () => {
    const books: Books = { events: [], grant: () => {} };
    const limiter: Limiter = {
      async acquire() {
        const { promise, resolve } = Promise.withResolvers<void>();
        books.grant = resolve;
        books.events.push("asked");
        await promise;
        const release = (): void => void books.events.push("given back");
        return { release, [Symbol.dispose]: release };
      },
      slowDown() {},
    };
    const model = countingModel(books);
    const asking = agent("a", async (ctx) => done(String(await ctx.llm(model, ask("go")))));
    const handle = new Runtime({ limiter }).run(asking, "go");
    await asked(books);
    handle.cancel("enough");
    books.grant();
    expect((await handle.result).status).toBe("cancelled");
    expect(books.events).toEqual(["asked", "given back"]);
  });

  test("R18: a call that a tool has left waiting in the limiter's line leaves it when the agent ends, and nothing is sent", async () => {
    const books: Books = { events: [], grant: () => {} };
    const limiter: Limiter = {
      acquire: ({ signal }) =>
        new Promise((_, reject) => {
          books.events.push("asked");
          signal?.addEventListener("abort", () => {
            books.events.push("left the line");
            reject(signal.reason as Error);
          });
        }),
      slowDown() {},
    };
    const model = countingModel(books);
    const hasty = defineTool({
      name: "hasty",
      description: "",
      input: z.object({}),
      async execute(_, { llm }) {
        llm(model, ask("go")).catch(() => {});
        await asked(books);
        return "not waited for";
      },
    });
    const calling = agent("a", async (ctx) => {
      const { content } = await ctx.tool({ id: "c", name: "hasty", arguments: "{}" }, hasty);
      return done(String(content));
    });
    const result = await new Runtime({ limiter }).run(calling, "go").result;
    expect(result).toMatchObject({ status: "completed", output: "not waited for" });
    expect(books.events).toEqual(["asked", "left the line"]);
  });

  test("R18: who has got through the limiter's line and ends by itself is not told to stop", async () => {
    const limiter: Limiter = {
      acquire: async () => ({ release() {}, [Symbol.dispose]() {} }),
      slowDown() {},
    };
    const model = countingModel({ events: [], grant: () => {} });
    const signals: AbortSignalLike[] = [];
    const asking = agent("a", async (ctx) => {
      signals.push(ctx.signal);
      await ctx.llm(model, ask("go"));
      return done("");
    });
    expect(await new Runtime({ limiter }).run(asking, "").result).toMatchObject({ status: "completed" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });
});
