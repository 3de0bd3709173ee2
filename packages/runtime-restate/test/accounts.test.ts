import { AgentId } from "@ravi/kernel";
import { expect, test } from "vitest";
import { launchRun } from "../src/client/start.ts";
import { UsedAccount } from "../src/execution/account.ts";
import { restateRuntime } from "../src/index.ts";
import { addSpend, covers } from "../src/root/spend.ts";

test("R18: sums of small amounts are exact, and a reservation serves only what it covers", () => {
  let sum = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  for (let n = 0; n < 10; n++) sum = addSpend(sum, { cost: 0.1, turns: 1 });
  expect([sum.cost, sum.turns]).toEqual([1, 10]);
  expect(covers({ tokens: 5, cost: 1, turns: 1 }, { tokens: 5, cost: 0.5, turns: 1 })).toBe(true);
  expect(covers({ tokens: 5, cost: 1 }, { tokens: 6, cost: 1 })).toBe(false);
  expect(covers({ tokens: 5 }, { tokens: 5, cost: 1 })).toBe(false);
});

test("R18: an account counts calls, retries and waste by what is recorded", () => {
  const used = new UsedAccount();
  const usage = { inputTokens: 1, outputTokens: 2 };
  used.add(
    [
      { usage, costUsd: 0.1, isWaste: true },
      { usage, costUsd: 0.2 },
    ],
    1,
  );
  used.add([{ usage: { inputTokens: 0, outputTokens: 0 }, costUsd: 0, toolCalls: 1 }], 2);
  const supervision = { agentId: AgentId("a"), parentId: null, priority: 2 } as Parameters<
    UsedAccount["toJSON"]
  >[0];
  expect(used.toJSON(supervision, "run" as never, "completed")).toMatchObject({
    modelCalls: 1,
    toolCalls: 1,
    retries: 2,
    costUsd: 0.3,
    wasteUsd: 0.1,
    usage: { inputTokens: 2, outputTokens: 4 },
  });
});

test("R18: of a call that failed, and is made again when its run is retried, all attempts after the first are retries", () => {
  const used = new UsedAccount();
  const usage = { inputTokens: 0, outputTokens: 0 };
  const refused = { usage, costUsd: 0, isWaste: true };
  used.addFailed([refused, { ...refused, isNested: true }, refused, refused]);
  used.add([{ usage, costUsd: 0 }], 2);
  expect(used.total).toMatchObject({ modelCalls: 1, retries: 3 });
});

test("R18: the tighter limit of agent and caller counts; a ledger of one process and a misspelt option are refused", () => {
  const run = async () => ({ status: "completed", output: "", stopReason: "done" }) as const;
  const ids = { uuid: () => "id", random: () => 0 };
  const agent = {
    id: AgentId("a"),
    version: "2",
    run,
    defaults: { executionBudget: { maxTurns: 5, deadlineS: 10 } },
  };
  const launch = launchRun(
    agent,
    "hi",
    { executionBudget: { maxTurns: 9, maxCostUsd: 1 } },
    { ids, now: 1_000 },
  );
  expect(launch).toMatchObject({ agent: "a@2", deadline: 11_000, input: "hi" });
  expect(launch.supervision["executionBudget"]).toMatchObject({ maxTurns: 5, maxCostUsd: 1 });
  expect(() => launchRun(agent, "hi", { maxTurns: 1 } as object, { ids, now: 0 })).toThrow(/maxTurns/);
  // The workflow of a helper of run r has this key.
  expect(() => launchRun(agent, "hi", { runId: "r/hire:a#1" }, { ids, now: 0 })).toThrow(/runId/);
  const picture = { type: "image", url: `data:image/png;base64,${"A".repeat(25 * 1024 * 1024)}` } as const;
  expect(() => launchRun(agent, "hi", { attachments: [picture] }, { ids, now: 0 })).toThrow(
    /^input, with its attachments and metadata is "\d+ bytes"; expected at most \d+ bytes as JSON/,
  );
  expect(() =>
    restateRuntime({ ingress: "http://localhost:1", admin: "http://localhost:2" } as never),
  ).toThrow(/createContext/);
});
