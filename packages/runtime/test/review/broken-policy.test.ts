import { describe, expect, test } from "vitest";
import type { Logger, RestartPolicy } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done } from "./helpers.ts";

const broken = (): never => {
  throw new Error("no policy today");
};
const POLICY: RestartPolicy = { shouldRetry: () => true, delayMs: () => 0, reset() {} };

describe("R17: a restart policy that throws", () => {
  test.each<[string, Partial<RestartPolicy>]>([
    ["when it is asked", { shouldRetry: broken }],
    ["when it is asked how long to wait", { delayMs: broken }],
    ["when it is told to forget", { shouldRetry: () => false, reset: broken }],
  ])("%s: the run ends with what its agent threw, and that is on record", async (_, part) => {
    const said: string[] = [];
    const say = (message: string): void => void said.push(message);
    const logger: Logger = { debug() {}, info() {}, warn: say, error: say };
    const runtime = new Runtime({ journal: new MemoryJournal(), restart: { ...POLICY, ...part }, logger });
    const failing = agent("a", async () => {
      throw new Error("out of order");
    });
    const { result, runId } = runtime.run(failing, "");
    const { status, error } = await result;
    expect({ status, message: error?.message }).toEqual({
      status: "failed",
      message: "a failed: out of order",
    });
    expect(await runtime.list()).toMatchObject([{ runId, status: "failed" }]);
    expect(said).toEqual([`the restart policy failed; ${runId} is not restarted`]);
  });

  test("R17: and one whose agent has done its work keeps its result", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), restart: { ...POLICY, reset: broken } });
    const { result } = runtime.run(
      agent("a", async () => done("fine")),
      "",
    );
    expect(await result).toMatchObject({ status: "completed", output: "fine" });
  });
});
