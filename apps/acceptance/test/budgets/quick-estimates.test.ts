import { describe, expect, test } from "vitest";
import { type LLMClient, type LlmLeaf, type ModelRequest, totalTokens } from "@ravi/kernel";
import { estimateTokens, ExecutionTracker, ModelMeter, type WrapUpReserve } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done } from "../../src/leading.ts";

const ANSWER = 2_000;

/** Short words of random letters, which have more tokens than any prose of that length. */
function gibberish(words: number): string {
  let state = 1;
  const letter = (): string => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(0x61 + ((state >>> 16) % 26));
  };
  const word = (): string => Array.from({ length: 8 }, letter).join("");
  return Array.from({ length: words }, word).join(" ");
}

const ask = (text: string): ModelRequest => ({ messages: [{ role: "user", content: text }] });

/** Uses exactly what its vocabulary says, and as long an answer as it may. */
const honest: LLMClient = {
  id: "honest",
  info: { provider: "openai", model: "gpt-4o-mini", maxOutputTokens: ANSWER },
  generate: async (request) => ({
    message: { role: "assistant", content: "hi" },
    finishReason: "length",
    usage: { inputTokens: await estimateTokens(request), outputTokens: request.maxOutputTokens ?? ANSWER },
  }),
};

/** Asks the same so many times at once. Returns what was spent, and how many of the calls were made. */
async function spent(
  text: string,
  calls: number,
  limit: { readonly maxTokens: number; readonly reserve?: WrapUpReserve },
): Promise<{ readonly used: number; readonly open: number; readonly made: number }> {
  const { maxTokens, reserve } = limit;
  const books = new ExecutionTracker({ maxTokens }, { reserve });
  const runtime = new Runtime({ meter: new ModelMeter(), ledger: () => books, journal: new MemoryJournal() });
  const leaf: LlmLeaf = { kind: "llm", model: honest, request: ask(text) };
  let made = 0;
  const lead = agent("lead", async (ctx) => {
    const outcomes = await ctx.batch(Array.from({ length: calls }, () => leaf));
    made = outcomes.filter(({ status }) => status === "completed").length;
    return done("");
  });
  const { usage } = await runtime.run(lead, "").result;
  expect(totalTokens(usage)).toBe(books.used.tokens);
  return { used: books.used.tokens, open: books.open, made };
}

describe("T2: calls of a meter that has a quick estimate", () => {
  const prose = "It was a bright cold day in April, and the clocks were striking 13. ".repeat(70);

  test("T2: many at once stay within the limit, also with a text that has more tokens than it looks", async () => {
    const { used, open, made } = await spent(gibberish(500), 64, { maxTokens: 200_000 });
    expect(used).toBeLessThanOrEqual(200_000);
    expect(made).toBeGreaterThan(40);
    expect(open).toBe(0);
  });

  test("T2: as many as fit are made at once", async () => {
    const need = (await estimateTokens(ask(prose))) + ANSWER;
    const limit = { maxTokens: 64 * need, reserve: false } as const;
    expect(await spent(prose, 64, limit)).toEqual({ used: 64 * need, open: 0, made: 64 });
  });

  test("T2: one is made that fits beside what is held back for the last turn", async () => {
    const need = (await estimateTokens(ask(prose))) + ANSWER;
    const limit = { maxTokens: 100_000, reserve: { tokens: 100_000 - need } };
    expect(await spent(prose, 1, limit)).toEqual({ used: need, open: 0, made: 1 });
  });
});
