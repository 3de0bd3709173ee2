import { BudgetExhaustedError } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { expect, it } from "vitest";
import { agent, ask, done, meter, model, tracked } from "../support/priced.ts";

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
