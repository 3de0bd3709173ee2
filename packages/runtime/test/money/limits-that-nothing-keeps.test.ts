import { describe, expect, test } from "vitest";
import { Runtime } from "@ravi/runtime";
import { agent, done, FakeHeadcount } from "../support/helpers.ts";

describe("J4: a limit that nothing keeps", () => {
  const lead = agent("lead", async () => done(""));

  test.each([
    [
      { executionBudget: { maxTurns: 1 } },
      /run\.executionBudget is .*; expected no limits but deadlineS, .* use a runtime with a ledger/,
    ],
    [{ executionBudget: { maxCostUsd: 1 } }, /a runtime with a ledger/],
    [
      { spawnBudget: { maxAgents: 2 } },
      /spawnBudget is .*; expected no limits but maxDepth, .* use a runtime with a headcount/,
    ],
    [{ spawnBudget: { maxTotal: 2 } }, /a runtime with a headcount/],
  ])("J4: %o is refused", (options, why) => {
    expect(() => new Runtime().run(lead, "", options)).toThrow(why);
  });

  test("J4: an agent's own is refused too, and so is a hire's", async () => {
    const own = { ...lead, defaults: { executionBudget: { maxTurns: 0 } } };
    expect(() => new Runtime().run(own, "")).toThrow(/a runtime with a ledger/);
    const boss = agent("boss", async (ctx) => {
      await ctx.hire({ agent: lead, input: "", executionBudget: { maxTurns: 1 } });
      return done("");
    });
    expect(await new Runtime().run(boss, "").result).toMatchObject({
      status: "failed",
      error: { code: "INVALID_VALUE", field: "hire.executionBudget" },
    });
  });

  test("J4: what is kept without them is not", async () => {
    const options = { executionBudget: { deadlineS: 5, maxTurns: null }, spawnBudget: { maxDepth: 1 } };
    expect(await new Runtime().run(lead, "", options).result).toMatchObject({ status: "completed" });
  });
});

test("R18: a result names the limits that were kept, and no others", async () => {
  const lead = agent("lead", async () => done(""));
  const runtime = new Runtime({ headcount: () => new FakeHeadcount() });
  const { limits } = await runtime.run(lead, "", { spawnBudget: { maxAgents: 3 } }).result;
  expect(limits).toMatchObject({ spawnBudget: { maxAgents: 3 }, executionBudget: null });
});
