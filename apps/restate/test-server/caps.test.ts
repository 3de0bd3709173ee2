import { expect, test } from "vitest";
import { Scene } from "./scene.ts";

test("R14, R18: a headcount of 3 and a cap of $1 hold over two workers, by the bill and by the calls under way", async () => {
  await using scene = await Scene.open({ delayMs: 20, together: 2 });
  await scene.workersAtWork(2);
  const task = JSON.stringify({ researchers: 16, steps: 2, onFull: "queue" });
  const handle = scene.client.run(scene.lead, task, {
    spawnBudget: { maxAgents: 3 },
    executionBudget: { maxCostUsd: 1 },
  });
  const { status, agents = [], cost } = await handle.result;
  const { costUsd, entries } = scene.model.bill();
  expect(status).toBe("partial");
  // Two slots besides the lead's, and each agent makes one call at a time.
  expect(scene.calls.most).toBe(2);
  // A call costs four cents, so 25 calls use up the dollar.
  expect([costUsd, entries.length, cost]).toEqual([1, 25, 1]);
  expect(agents.map((agent) => agent.agentId)).toHaveLength(17);
  expect(scene.calls.callers.size).toBe(2);
});
