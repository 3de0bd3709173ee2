import {
  type Agent,
  AgentId,
  type AgentResult,
  BudgetExhaustedError,
  type LLMClient,
  type Meter,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { expect, it } from "vitest";

const done = (output = ""): AgentResult => ({ status: "completed", output, stopReason: "done" });

const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });

const ask = (text: string) => ({ messages: [{ role: "user", content: text }] }) as const;

/** Ten cents a call. */
const meter: Meter = {
  estimate: () => ({ inputTokens: 50, maxOutputTokens: 50, price: { usd: 0.1 } }),
  price: () => ({ usd: 0.1 }),
};

function model(id: string, answer: () => unknown = () => undefined): LLMClient & { sent: number } {
  return {
    id,
    sent: 0,
    info: { provider: "x", model: id },
    async generate() {
      this.sent++;
      await answer();
      const message = { role: "assistant", content: "ok" } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 5, outputTokens: 5 } };
    },
  };
}

function tracked(): { ledger: NonNullable<RuntimeOptions["ledger"]>; tracker: () => ExecutionTracker } {
  let made: ExecutionTracker | undefined;
  return {
    ledger: ({ executionBudget }) => (made = new ExecutionTracker(executionBudget)),
    tracker: () => made ?? expect.fail("no ledger was made"),
  };
}

it("R18: a limit that was raised is met to the cent, and not passed", async () => {
  const { ledger } = tracked();
  const lead = agent("lead", async (ctx) => {
    const refusal = new BudgetExhaustedError({ dimension: "cost", used: 0.7, limit: 0.7, scope: "lead" });
    await ctx.requestBudget?.(refusal);
    for (let n = 0; n < 8; n++) await ctx.llm(model("m"), ask("x"), { wrapUp: true });
    return done();
  });
  const runtime = new Runtime({ meter, ledger });
  const run = runtime.run(lead, "", {
    executionBudget: { maxCostUsd: 0.7 },
    onEvent: ({ event }) => {
      if (event.type === "progress")
        void runtime.deliver(run.runId, (event.data as { name: string }).name, { cost: 0.1 });
    },
  });
  const { status, limits, exceeded } = await run.result;
  expect([status, limits?.executionBudget?.maxCostUsd, exceeded]).toEqual(["completed", 0.8, undefined]);
});
