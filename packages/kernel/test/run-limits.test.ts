import { expect, test } from "vitest";
import { AgentId, Supervision } from "@ravi/kernel";
import { runLimits } from "@ravi/kernel/loop";

const NOTHING = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
const KEPT = { isCounted: false, isMetered: true };

test("R18: what is granted is added to a limit, and where there is none there is none afterwards", () => {
  const root = Supervision.root(AgentId("lead"), { executionBudget: { maxCostUsd: 0.7, maxTurns: 5 } });
  const granted = { tokens: 10, cost: 0.1, turns: 2, toolCalls: 3 };
  expect(runLimits(root, KEPT, granted)).toMatchObject({
    spawnBudget: null,
    executionBudget: { maxTokens: null, maxCostUsd: 0.8, maxTurns: 7, maxToolCalls: null },
  });
  expect(runLimits(root, KEPT, NOTHING).executionBudget).toBe(root.executionBudget);
});

test("R18: a limit is raised no further than ledgers count", () => {
  const root = Supervision.root(AgentId("lead"), { executionBudget: { maxTokens: 5 } });
  const granted = { ...NOTHING, tokens: Number.MAX_SAFE_INTEGER };
  expect(runLimits(root, KEPT, granted).executionBudget?.maxTokens).toBe(Number.MAX_SAFE_INTEGER);
});
