import { describe, expect, test } from "vitest";
import {
  type LLMClient,
  type Meter,
  type ModelEvent,
  type ModelResponse,
  ProviderError,
  RunId,
  type RunResult,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, cut, done, FakeLedger, until } from "../support/helpers.ts";

const meter: Meter = {
  estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } }),
  price: () => ({ usd: 0.15 }),
};
const ANSWER: ModelResponse = {
  message: { role: "assistant", content: "ok" },
  finishReason: "stop",
  usage: { inputTokens: 100, outputTokens: 50 },
};

function modelOf(model: string, generate: () => Promise<ModelResponse>): LLMClient {
  return { id: model, info: { provider: "x", model }, generate };
}

/** One that streams so many words, and then breaks off. */
function breaksOff(words: number, error: Error): LLMClient {
  return {
    ...modelOf("m", () => Promise.reject(error)),
    async *stream(): AsyncGenerator<ModelEvent> {
      for (let n = 0; n < words; n++) yield { type: "text", delta: "word " };
      throw error;
    },
  };
}

const asks = (...models: readonly LLMClient[]) =>
  agent("lead", async (ctx) => {
    for (const model of models) await ctx.llm(model, ask("x"));
    return done("");
  });

describe("R18: what a failed call is charged with", () => {
  const busy = new ProviderError({ kind: "RATE_LIMIT", message: "busy", status: 429 });
  const unsaid = new ProviderError({ kind: "RATE_LIMIT", message: "busy" });

  async function after(model: LLMClient): Promise<[RunResult, FakeLedger]> {
    const ledger = new FakeLedger();
    const run = new Runtime({ meter, ledger: () => ledger }).run(asks(model), "", { onEvent: () => {} });
    return [await run.result, ledger];
  }

  test.each([
    ["with a status", busy],
    ["without one", unsaid],
  ])("a refusal %s before the answer costs only the turn", async (_, error) => {
    const [result, ledger] = await after(breaksOff(0, error));
    expect([result.status, ledger.used]).toEqual(["failed", { tokens: 0, cost: 0, turns: 1, toolCalls: 0 }]);
  });

  test.each([
    ["with a status", busy],
    ["without one", unsaid],
  ])("one %s in the middle of an answer costs all that was set aside, and is wasted", async (_, error) => {
    const [result, ledger] = await after(breaksOff(1, error));
    expect(ledger.used).toEqual({ tokens: 200, cost: 0.2, turns: 1, toolCalls: 0 });
    expect(result.agents).toMatchObject([{ costUsd: 0.2, wasteUsd: 0.2 }]);
  });

  test("a redirect is a refusal, and an answer that is none is not", async () => {
    const moved = new ProviderError({ kind: "UNKNOWN", message: "moved", status: 300 });
    const [, redirected] = await after(breaksOff(0, moved));
    expect(redirected.used.cost).toBe(0);
    const html = new ProviderError({ kind: "UNKNOWN", message: "<html>", status: 200 });
    const [, answered] = await after(breaksOff(0, html));
    expect(answered.used.cost).toBe(0.2);
  });

  test("an answer that cannot be used is wasted, and costs what it took", async () => {
    const none = { ...ANSWER, message: { role: "user", content: "I?" } } as never;
    const [result, ledger] = await after(modelOf("m", async () => none));
    expect(result.status).toBe("failed");
    expect(ledger.used).toMatchObject({ tokens: 150, cost: 0.15 });
    expect(result.agents).toMatchObject([{ costUsd: 0.15, wasteUsd: 0.15 }]);
  });

  test("of two tries, the one whose answer could not be used is wasted", async () => {
    let tries = 0;
    const none = { ...ANSWER, message: { role: "user", content: "I?" } } as never;
    const model = modelOf("m", async () => (++tries === 1 ? none : ANSWER));
    const chat = {
      isNoop: false,
      admit: () => {},
      run: async (_: object, core: () => Promise<void>) => core().catch(() => core()),
    };
    const runtime = new Runtime({ meter, ledger: () => new FakeLedger(), pipelines: { chat } });
    const { agents, cost } = await runtime.run(asks(model), "").result;
    expect(agents).toMatchObject([{ modelCalls: 1, retries: 1, costUsd: 0.3, wasteUsd: 0.15 }]);
    expect(cost).toBe(0.3);
  });

  test("one that nobody waits for any more is wasted", async () => {
    const clock = virtualClock();
    const [asked, never] = [Promise.withResolvers<void>(), Promise.withResolvers<ModelResponse>()];
    const deaf = modelOf("m", () => {
      asked.resolve();
      return never.promise;
    });
    const run = new Runtime({ clock, meter, ledger: () => new FakeLedger() }).run(asks(deaf), "");
    await asked.promise;
    run.cancel("stop");
    await clock.advance(2_000);
    expect((await run.result).agents).toMatchObject([{ costUsd: 0.2, wasteUsd: 0.2 }]);
  });
});

describe("R22: a call without a price", () => {
  const unpriced: Meter = {
    estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { unpriced: true } }),
    price: () => ({ unpriced: true }),
  };

  test("takes tokens of the ledger and no dollars, answered or in flight when the process dies", async () => {
    const journal = new MemoryJournal();
    const ledger = new FakeLedger();
    const never = Promise.withResolvers<ModelResponse>();
    let calls = 0;
    const model = modelOf("m", () => (++calls === 1 ? Promise.resolve(ANSWER) : never.promise));
    const lead = asks(model, model);
    const clock = virtualClock();
    const run = new Runtime({ clock, meter: unpriced, ledger: () => ledger, journal }).run(lead, "", {
      runId: "r",
    });
    await until(() => calls === 2);
    expect(ledger.used).toEqual({ tokens: 350, cost: 0, turns: 2, toolCalls: 0 });

    const later = new FakeLedger();
    const again = { ...model, generate: async () => ANSWER };
    const next = new Runtime({
      meter: unpriced,
      ledger: () => later,
      journal: cut("r", journal.load(RunId("r"))),
      agents: [asks(again, again)],
    });
    expect((await next.resume("r").result).status).toBe("completed");
    expect(later.used).toEqual({ tokens: 500, cost: 0, turns: 3, toolCalls: 0 });
    run.cancel("over");
    await clock.advance(2_000);
    await run.result;
  });

  test("is named in the refusal of its ledger by its own model, whichever was asked before", async () => {
    const named: unknown[] = [];
    class Naming extends FakeLedger {
      override reserve(
        ...[estimate, options]: Parameters<FakeLedger["reserve"]> | [object, { what?: string }]
      ) {
        named.push(options?.what);
        return super.reserve(estimate);
      }
    }
    const [one, two] = ["one", "two"].map((name) => modelOf(name, async () => ANSWER)) as [
      LLMClient,
      LLMClient,
    ];
    const foreign = { ...two, info: { ...two.info, provider: "y" } };
    await new Runtime({ meter, ledger: () => new Naming() }).run(asks(one, two, two, foreign, one), "")
      .result;
    expect(named).toEqual(["x:one", "x:two", "x:two", "y:two", "x:one"]);
  });
});
