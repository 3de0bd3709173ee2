import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  BudgetExhaustedError,
  type Leaf,
  type LLMClient,
  NO_USAGE,
  type Pipeline,
} from "@ravi/kernel";
import { bareContext, hireAll } from "@ravi/kernel/loop";

const model: LLMClient = {
  id: "m",
  info: { provider: "test", model: "m" },
  generate: async () => ({
    message: { role: "assistant", content: "ok" },
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 1 },
  }),
};
const remembering: LLMClient = {
  ...model,
  generate: async (request) => ({ ...(await model.generate(request)), cached: true }),
};
const say = { messages: [{ role: "user", content: "go" }] } as const;
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });
const done = { status: "completed", output: "", stopReason: "done" } as const;

const leaf = agent("leaf", async (ctx) => {
  await ctx.llm(model, say);
  return done;
});
const middle = agent("middle", async (ctx) => {
  await ctx.llm(model, say);
  await ctx.batch([
    { kind: "hire", agent: leaf, input: "" },
    { kind: "hire", agent: leaf, input: "" },
  ]);
  return done;
});

describe("a hire in a bare context says what it took", () => {
  test("with all below it", async () => {
    const outcome = await bareContext().hire({ agent: middle, input: "" });
    expect(outcome).toMatchObject({
      status: "completed",
      usage: { inputTokens: 30, outputTokens: 3 },
      costUsd: null,
    });
  });

  test("also of one that failed, was cancelled, or never called a model", async () => {
    const ctx = bareContext();
    const failing = agent("failing", async (inner) => {
      await inner.llm(model, say);
      throw new Error("no");
    });
    expect(await ctx.hire({ agent: failing, input: "" })).toMatchObject({
      status: "failed",
      usage: { inputTokens: 10 },
    });
    expect(await ctx.hire({ agent: agent("idle", async () => done), input: "" })).toMatchObject({
      usage: NO_USAGE,
      costUsd: 0,
    });
    const handle = await ctx.spawn(
      agent("waiting", async (inner) => {
        await inner.llm(model, say);
        await inner.waitFor("never");
        return done;
      }),
      { input: "" },
    );
    await new Promise((resolve) => setImmediate(resolve));
    handle.cancel("enough");
    expect(await ctx.join(handle)).toMatchObject({ status: "cancelled", usage: { inputTokens: 10 } });
  });

  test("nothing of one that was never hired", async () => {
    const chat: Pipeline<never> = { isNoop: false, admit: () => {}, run: (_, core) => core() };
    const outcome = await bareContext().hire({ agent: { ...leaf, pipelines: { chat } }, input: "" });
    expect(outcome).toMatchObject({ status: "denied", usage: NO_USAGE, costUsd: 0 });
  });

  test("hireAll hands it on", async () => {
    const leaves = [middle, leaf].map((one) => ({ kind: "hire", agent: one, input: "" }) as const);
    const outcomes = await hireAll(bareContext(), leaves);
    expect(outcomes.map(({ usage }) => usage?.inputTokens)).toEqual([30, 10]);
  });

  test("also who works on the asker's own seat, and what cut it off", async () => {
    const full = new BudgetExhaustedError({ dimension: "agents", used: 1, limit: 1, scope: "lead" });
    const broke = new BudgetExhaustedError({ dimension: "cost", used: 2, limit: 1, scope: "lead" });
    const ctx = bareContext();
    const batch = ctx.batch.bind(ctx);
    ctx.batch = async (leaves: readonly Leaf[]) => {
      const isHires = leaves.every(({ kind }) => kind === "hire");
      const outcomes = isHires ? leaves.map(() => ({ status: "denied", error: full })) : await batch(leaves);
      return outcomes as never;
    };
    const worker = agent("worker", async (inner) => {
      await inner.llm(model, say);
      await inner.batch([
        { kind: "llm", model, request: say },
        { kind: "llm", model, request: say },
      ]);
      await inner.hire({ agent: leaf, input: "" });
      // From a cache that says what it took the first time: this time it took nothing.
      await inner.llm(remembering, say);
      await inner.batch([{ kind: "llm", model: remembering, request: say }]);
      throw broke;
    });
    const [outcome] = await hireAll(ctx, [{ kind: "hire", agent: worker, input: "" }]);
    expect(outcome).toMatchObject({
      status: "partial",
      usage: { inputTokens: 40, outputTokens: 4 },
      stoppedBy: { dimension: "cost", used: 2, limit: 1, scope: "lead" },
    });
  });
});
