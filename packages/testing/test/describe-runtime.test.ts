import { expect, test } from "vitest";
import { type Agent, ExecId, NO_USAGE, type RootHandle, type RunResult } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import {
  assertRuntimeCase,
  type RuntimeHouse,
  type RuntimeUnderTest,
  runtimeCases,
} from "../src/suites/index.ts";

const not = async (): Promise<never> => {
  throw new Error("not in these tests");
};

/** A runtime that runs whatever it is given, and keeps no rules at all. */
const LAWLESS: RuntimeUnderTest = {
  run: (agent, input) => handleOf(agent, input),
  resume: () => {
    throw new Error("not in these tests");
  },
  deliver: not,
  cancel: not,
  list: () => [],
  delete: not,
  close: async () => {},
};

function handleOf(agent: Agent, input: string): RootHandle {
  const ctx = bareContext({ agent });
  const { runId } = ctx.meta;
  const work = async (): Promise<RunResult> => {
    const { status, output, stopReason } = await agent.run(ctx, ctx.inbox(input));
    return {
      runId,
      status: status === "paused" ? "suspended" : status,
      output,
      stopReason,
      usage: NO_USAGE,
      cost: null,
    };
  };
  return {
    runId,
    execId: ExecId(runId),
    agentId: agent.id,
    status: "running",
    cancel: () => {},
    result: work(),
    async *events() {},
  };
}

test("R18: a runtime that keeps no cap on turns fails the case about it, and does not run for ever", async () => {
  const house: RuntimeHouse = { create: () => LAWLESS, crash: () => {}, close: () => {} };
  const found = runtimeCases.filter(({ says }) => says.includes("a cap on turns holds for a whole tree"));
  expect(found).toHaveLength(1);
  const caps = { headcount: () => expect.fail("no seats here"), ledger: () => expect.fail("no ledger here") };
  for (const each of found)
    await expect(assertRuntimeCase(each, () => house, caps)).rejects.toThrow("failed");
});

test("R14: a runtime that hires at any depth fails the case about it", async () => {
  const house: RuntimeHouse = { create: () => LAWLESS, crash: () => {}, close: () => {} };
  const found = runtimeCases.filter(({ says }) => says.includes("nobody is hired deeper"));
  expect(found).toHaveLength(1);
  const caps = { headcount: () => expect.fail("no seats here"), ledger: () => expect.fail("no ledger here") };
  for (const each of found)
    await expect(assertRuntimeCase(each, () => house, caps)).rejects.toThrow("too deep");
});
