import {
  BudgetExhaustedError,
  type ChatContext,
  InvalidValueError,
  type Limiter,
  type LLMClient,
  type Permit,
  type Pipeline,
  ProviderError,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, it, test } from "vitest";
import { agent, ask, done, FakeLedger, within } from "../support/helpers.ts";

it("a limiter is told what each call took, also of those that are made at the same time", async () => {
  const released: (number | undefined)[] = [];
  const limiter: Limiter = {
    acquire: () => ({ release: (actual) => void released.push(actual?.tokens), [Symbol.dispose]() {} }),
    slowDown() {},
  };
  const { promise: first, resolve: isDone } = Promise.withResolvers<void>();
  const using = (inputTokens: number, wait?: Promise<void>): LLMClient => ({
    ...scriptedModel([]),
    async generate() {
      await wait;
      const message = { role: "assistant", content: "ok" } as const;
      return { message, finishReason: "stop", usage: { inputTokens, outputTokens: 0 } };
    },
  });
  const judges: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      const request = ask("?");
      const one = context.call(using(100), request).then(() => isDone());
      await Promise.all([one, context.call(using(10, first), request)]);
      await core();
    },
  };
  const worker = {
    ...agent("worker", async (ctx) => done(String((await ctx.llm(using(1), ask("x"))).message.content))),
    pipelines: { chat: judges },
  };
  await new Runtime({ limiter }).run(worker, "").result;
  expect(released).toEqual([100, 10, 1]);
});

it("a limiter is told how long a provider asks to wait, and nothing after another failure", async () => {
  const told: number[] = [];
  const limiter: Limiter = {
    acquire: () => ({ release() {}, [Symbol.dispose]() {} }),
    slowDown: (retryAfterMs) => void told.push(retryAfterMs),
  };
  const failures = [
    new ProviderError({ kind: "SERVER_ERROR", message: "down", retryAfterMs: 9_000 }),
    new ProviderError({ kind: "RATE_LIMIT", message: "busy" }),
    new ProviderError({ kind: "RATE_LIMIT", message: "busy", retryAfterMs: 1_500 }),
  ];
  const worker = agent("worker", async (ctx) => {
    for (const failure of failures) await ctx.llm(scriptedModel([failure]), ask("x")).catch(() => {});
    return done("");
  });
  await new Runtime({ limiter }).run(worker, "").result;
  expect(told).toEqual([1_500]);
});

it.each([
  [{ tokens: 10_000_000 }, 1],
  [{ cost: 9_000_000 }, 1],
  [{ cost: 10_000_000 }, 2],
  [{ tokens: 1.5 }, 2],
])("a grant of %j is asked about %i times", async (answer, times) => {
  const clock = virtualClock();
  const runtime = new Runtime({ ledger: () => Object.assign(new FakeLedger(), { raise() {} }), clock });
  const questions: string[] = [];
  const worker = agent("worker", async (ctx) => {
    const refusal = new BudgetExhaustedError({
      dimension: "tokens",
      limit: 1,
      used: 1,
      scope: "worker",
    });
    return done(String(await ctx.requestBudget?.(refusal)));
  });
  const run = runtime.run(worker, "", {
    onEvent: ({ event }) => {
      if (event.type !== "progress") return;
      const { name, question } = event.data as { name: string; question: string };
      questions.push(question);
      void runtime.deliver(run.runId, name, questions.length === 1 ? answer : false);
    },
  });
  expect(await within(run.result)).toMatchObject({ output: String(times === 1) });
  expect(questions).toHaveLength(times);
  if (times === 2) expect(questions[1]).toContain("whole numbers, or for cost dollars up to 9007199");
});

const model = scriptedModel(() => "paid for");

const worker = agent("worker", async (ctx) => {
  const { message } = await ctx.llm(model, ask("?"));
  ctx.remember(message);
  return done(String(message.content));
});

describe("a limiter that throws", () => {
  const place: Permit = { release() {}, [Symbol.dispose]() {} };

  test("when a place is given back: the answer was paid for", async () => {
    const stuck: Permit = {
      ...place,
      release() {
        throw new Error("the pool is broken");
      },
    };
    const limiter: Limiter = { acquire: async () => stuck, slowDown() {} };
    expect(await new Runtime({ limiter }).run(worker, "").result).toMatchObject({ output: "paid for" });
  });

  test("when it is slowed down, as a provider named no time at all: nothing stays set aside", async () => {
    const ledger = new FakeLedger();
    const limiter: Limiter = {
      acquire: async () => place,
      slowDown() {
        throw new InvalidValueError({ field: "retryAfterMs", value: NaN, expected: "milliseconds" });
      },
    };
    const busy: LLMClient = {
      id: "busy",
      info: { provider: "p", model: "busy" },
      generate: () =>
        Promise.reject(new ProviderError({ kind: "RATE_LIMIT", message: "busy", retryAfterMs: NaN })),
    };
    const caller = agent("caller", async (ctx) => {
      await ctx.llm(busy, ask("?"));
      return done("ok");
    });
    const { error } = await new Runtime({ limiter, ledger: () => ledger }).run(caller, "").result;
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", kind: "RATE_LIMIT" });
    expect(ledger.used).toMatchObject({ tokens: 0, turns: 1 });
  });
});
