import {
  AgentId,
  ExecId,
  type Logger,
  RaviError,
  type RestartPolicy,
  RunId,
  Supervision,
} from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { forgetCrashes, restartAfter } from "../src/execution/restart.ts";

const broken = (): never => {
  throw new Error("no policy today");
};
const POLICY: RestartPolicy = { shouldRetry: () => true, delayMs: () => 7, reset() {} };
const CRASH = new RaviError({ code: "TOOL_ERROR", message: "out of order" });

/** An attempt whose root has counted one crash. */
function attempt(said: string[]): Parameters<typeof restartAfter>[0] {
  const say = (message: string): void => void said.push(message);
  const logger: Logger = { debug() {}, info() {}, warn: say, error: say };
  const runId = RunId("run");
  return {
    ports: {
      logger,
      clock: { now: () => 1 },
      ids: { uuid: () => "u", random: () => 0 },
      hooks: { has: () => false, dispatch() {} },
    },
    start: { execId: ExecId(runId), supervision: Supervision.root(AgentId("lead"), { runId }) },
    line: { ask: async () => ({ crashes: 1 }) },
    isOver: new AbortController().signal,
  } as never;
}

const FAILED = "the restart policy failed; run is not started again";

describe("R17: a restart policy, as in one process", () => {
  test("starts a run again after the time that it says", async () => {
    expect(await restartAfter(attempt([]), POLICY, CRASH)).toEqual({ delayMs: 7 });
  });

  test.each<[string, Partial<RestartPolicy>]>([
    ["when it is asked", { shouldRetry: broken }],
    ["when it is asked how long to wait", { delayMs: broken }],
    ["when it is told to forget", { reset: broken }],
  ])("that throws %s starts nothing again, and the log says so", async (_, part) => {
    const said: string[] = [];
    expect(await restartAfter(attempt(said), { ...POLICY, ...part }, CRASH)).toBeUndefined();
    expect(said).toEqual([FAILED]);
  });

  test("that gives a promise has not said yes", async () => {
    const shouldRetry = (async () => true) as never;
    expect(await restartAfter(attempt([]), { ...POLICY, shouldRetry }, CRASH)).toBeUndefined();
  });

  test("that throws when a run is over keeps it from nothing", () => {
    const said: string[] = [];
    forgetCrashes(attempt(said), { ...POLICY, reset: broken });
    expect(said).toEqual([FAILED]);
  });
});
