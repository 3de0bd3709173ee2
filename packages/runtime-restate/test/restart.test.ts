import {
  type ExecId,
  type Hooks,
  type Logger,
  NO_HOOKS,
  Supervision,
  systemIds,
  ToolError,
} from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { expect, test } from "vitest";
import { MessageBatcher } from "../src/execution/message-batcher.ts";
import { RootChannel } from "../src/execution/root-channel.ts";
import { type Crashed, forgetCrashes, restartAfter } from "../src/execution/restart.ts";
import { Ingress } from "../src/ingress.ts";
import { rootLaunch } from "./fakes.ts";

const crash = new ToolError({ toolName: "lead", message: "the agent threw" });
const yes = { shouldRetry: () => true, delayMs: () => 7, reset: () => {} };
const fails = (): never => {
  throw new TypeError("the policy has a bug");
};

/** An attempt whose root has counted so many crashes. */
function crashed(crashes: number, hooks?: Hooks): { attempt: Crashed; logged: string[] } {
  const logged: string[] = [];
  const log = (message: string): void => void logged.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const ingress = new Ingress({ url: "http://localhost:1", fetch: async () => Response.json({ crashes }) });
  const attempt: Crashed = {
    ports: { clock: virtualClock(), ids: systemIds, hooks: NO_HOOKS, logger },
    start: {
      agent: { id: "lead" as never, run: fails, hooks },
      execId: "run" as ExecId,
      supervision: Supervision.fromJSON(rootLaunch().supervision),
      input: "",
      scope: undefined as never,
      tenantId: null,
      deadline: null,
      onPreempt: "park",
      isResumed: false,
    },
    channel: new RootChannel(new MessageBatcher(ingress), ingress, "run"),
    isOver: new AbortController().signal,
  };
  return { attempt, logged };
}

test("R17: a policy is asked as often as the tree has counted crashes, and only a clear yes is one", async () => {
  let asked = 0;
  const counts = { ...yes, shouldRetry: () => ++asked < 3 };
  expect(await restartAfter(crashed(2).attempt, counts, crash)).toEqual({ delayMs: 7 });
  asked = 0;
  expect(await restartAfter(crashed(3).attempt, counts, crash)).toBeUndefined();
  const vague = { ...yes, shouldRetry: () => "perhaps" as never };
  expect(await restartAfter(crashed(1).attempt, vague, crash)).toBeUndefined();
});

test("R17: the agent's own hooks are told that it is started again", async () => {
  const heard: unknown[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, payload) => void heard.push({ event, ...payload }),
  };
  await restartAfter(crashed(2, hooks).attempt, yes, crash);
  expect(heard).toMatchObject([{ event: "retry", agentName: "lead", attempt: 2, delayMs: 7 }]);
});

test.each(["reset", "shouldRetry", "delayMs"] as const)(
  "R17: a policy whose %s throws starts nothing again, and the log says so",
  async (name) => {
    const { attempt, logged } = crashed(1);
    expect(await restartAfter(attempt, { ...yes, [name]: fails }, crash)).toBeUndefined();
    expect(logged).toEqual(["the restart policy threw an error; run is not restarted"]);
  },
);

test.each([Infinity, Number.NaN])("R17: nor does one that wants to wait for %d ms", async (delayMs) => {
  const { attempt, logged } = crashed(1);
  expect(await restartAfter(attempt, { ...yes, delayMs: () => delayMs }, crash)).toBeUndefined();
  expect(logged).toHaveLength(1);
});

test("R17: a run that is over stays over where its policy cannot forget it", () => {
  const { attempt, logged } = crashed(1);
  forgetCrashes(attempt, { ...yes, reset: fails });
  expect(logged).toHaveLength(1);
});
