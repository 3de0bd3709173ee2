import { type AgentAccount, NO_USAGE, Priority, ProviderError } from "@ravi/kernel";
import { expect, test } from "vitest";
import { closed, EMPTY, opened } from "../src/topic/log.ts";
import { childLaunch, rootLaunch } from "./fakes.ts";
import { OVER, played } from "./played.ts";
import { admission, over, StoredTree } from "./tree.ts";

const failure = { ...new ProviderError({ kind: "SERVER_ERROR", message: "down" }).toJSON() };

function failed(execId: string, retry?: number) {
  return { execId, outcome: { status: "failed", failure }, settle: [], isKept: true, retry };
}

function account(execId: string): AgentAccount {
  return {
    execId: execId as AgentAccount["execId"],
    agentId: execId as AgentAccount["agentId"],
    parent: null,
    priority: Priority.NORMAL,
    status: "failed",
    usage: { ...NO_USAGE, inputTokens: 9 },
    costUsd: 1,
    modelCalls: 2,
    toolCalls: 0,
    retries: 0,
    wasteUsd: 1,
  };
}

/** A root that has hired a child, which has failed after a turn, as the root has then. */
async function failedTree(maxTurns: number): Promise<StoredTree> {
  const root = rootLaunch({ maxTurns });
  const tree = await StoredTree.start(root);
  await tree.say("hire", hireOf("run/a"));
  await tree.say("admit", admission("run/a", 1, "call", "n1"));
  await tree.say("over", {
    ...failed("run/a"),
    settle: [{ id: "run/a:call:n1", actual: { turns: 1 } }],
    account: account("run/a"),
  });
  await tree.say("over", failed("run"));
  return tree;
}

function hireOf(execId: string, more: object = {}) {
  const launch = childLaunch(rootLaunch(), execId, execId);
  const terms = { agentId: execId, priority: null, budget: null, onFull: "deny", isJoinable: false } as const;
  return { execId: "run", lane: 1, key: execId, launch, ...terms, over: `over ${execId}`, ...more };
}

test("R24: a run that has failed is started again, once for each message, in a workflow of its own", async () => {
  const tree = await failedTree(9);
  expect(await tree.say("retry", { nonce: "one" })).toEqual({ retries: 1 });
  expect(tree.launched.at(-1)).toMatchObject({ execId: "run", again: { n: 1, before: "run" } });
  expect([tree.standings.status, tree.standings.retries, tree.summary["status"]]).toEqual([
    "running",
    1,
    "running",
  ]);
  const { length } = tree.launched;
  await tree.say("retry", { nonce: "two" });
  await tree.say("over", failed("run"));
  expect([tree.launched.length, tree.standings.status]).toEqual([length, "running"]);
  await tree.say("over", failed("run", 1));
  expect(await tree.say("retry", { nonce: "one" })).toEqual({ retries: 1 });
  expect(await tree.say("retry", { nonce: "three" })).toEqual({ retries: 2 });
  expect(tree.launched.at(-1)?.again).toEqual({ n: 2, before: "run/retry:1" });
});

test("R24: a run that has completed, was cancelled, or of which nothing is kept is not started again", async () => {
  const completed = await StoredTree.start(rootLaunch());
  await completed.say("over", over("run"));
  expect(await completed.say("retry", { nonce: "one" })).toEqual({ retries: 0 });
  expect(completed.standings.status).toBe("over");
  const killed = await StoredTree.start(rootLaunch());
  await killed.say("over", { ...failed("run"), isKept: undefined, isKilled: true });
  expect(await killed.say("retry", { nonce: "one" })).toMatchObject({ refused: { code: "INVALID_VALUE" } });
  expect(killed.standings.status).toBe("over");
});

test("R16: what was spent before counts once when a child goes on, and again when it is over", async () => {
  const tree = await failedTree(3);
  await tree.say("retry", { nonce: "one" });
  expect(await tree.say("hire", hireOf("run/a", { lane: 2, isAgain: true }))).toEqual({});
  expect(tree.launched.at(-1)).toMatchObject({ execId: "run/a", again: { n: 1, before: "run/a" } });
  expect(Object.values(tree.state.execs).map(({ own }) => own.turns)).toEqual([0, 1]);
  for (const [n, verdict] of [
    [2, undefined],
    [3, undefined],
    [4, "BUDGET_EXHAUSTED"],
  ] as const) {
    const { refused } = await tree.say("admit", admission("run/a", n, `call${n}`, `n${n}`));
    expect(refused?.code).toBe(verdict);
  }
  const settle = [2, 3].map((n) => ({ id: `run/a:call${n}:n${n}`, actual: { turns: 1 } }));
  await tree.say("over", { ...over("run/a"), settle, retry: 1 });
  expect(tree.resolved.get("over run/a")).toMatchObject({ status: "completed" });
  expect(tree.state.execs["run"]?.own.turns).toBe(3);
});

test("R24: a child that cannot go on has failed for whoever hires it again, and one that had completed has not", async () => {
  const tree = await StoredTree.start(rootLaunch());
  for (const id of ["run/a", "run/b"])
    await tree.say("hire", hireOf(id, { over: undefined, isJoinable: id === "run/b" }));
  await tree.say("over", { ...failed("run/a"), isKept: undefined, isKilled: true });
  await tree.say("over", over("run/b"));
  await tree.say("over", failed("run"));
  await tree.say("retry", { nonce: "one" });
  for (const id of ["run/a", "run/b"]) await tree.say("hire", hireOf(id, { lane: 2, isAgain: true }));
  expect(tree.resolved.get("over run/a")).toMatchObject({ status: "failed", failure: { code: "CANCELLED" } });
  expect(tree.resolved.get("over run/b")).toMatchObject({ status: "completed", result: { output: "run/b" } });
});

test("R24: outcomes that only a retry could ask for are forgotten when the run ends well", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", hireOf("run/a", { isJoinable: true }));
  await tree.say("over", failed("run/a"));
  await tree.say("over", over("run"));
  expect(tree.state.execs["run/a"]?.outcome).toEqual({ status: "failed" });
});

test("R24: a tool that was in doubt when the run failed is asked about again, before it is called", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const ask = { ...admission("run", 1, "tool:pay#1", "n1"), onDoubt: "ask" } as const;
  await tree.say("admit", ask);
  expect((await tree.say("admit", { ...ask, nonce: "n2" })).verdict).toBe("doubt");
  await tree.say("doubt", { execId: "run", lane: 1, key: ask.key, awakeable: "d", error: failure });
  await tree.say("over", failed("run"));
  await tree.say("retry", { nonce: "one" });
  for (const [lane, nonce] of [
    [5, "n3"],
    [5, "n4"],
  ] as const)
    expect((await tree.say("admit", { ...ask, lane, nonce })).verdict).toBe("doubt");
});

test("R24: the events of a run that is retried go on, whoever says so and in whatever order", () => {
  const first = closed(EMPTY, 0);
  expect([first.isClosed, opened(first, 0).isClosed]).toEqual([true, true]);
  const again = opened(opened(first, 1), 1);
  expect([again.isClosed, closed(again, 0).isClosed]).toEqual([false, false]);
  expect(opened(closed(again, 1), 1).isClosed).toBe(true);
});

test("R24: a child that is stopped before it has a slot again can still go on with the next retry", async () => {
  const tree = await StoredTree.start(rootLaunch({ maxAgents: 2 }));
  await tree.say("hire", hireOf("run/a"));
  await tree.say("over", failed("run/a"));
  await tree.say("over", failed("run"));
  await tree.say("retry", { nonce: "one" });
  await tree.say("hire", hireOf("run/b", { lane: 2 }));
  await tree.say("hire", hireOf("run/a", { lane: 3, isAgain: true, onFull: "queue" }));
  expect(tree.state.execs["run/a"]?.phase).toBe("queued");
  await tree.say("end", { execId: "run", lane: 4, awakeable: "ended" });
  expect(tree.state.execs["run/a"]).toMatchObject({ phase: "over", outcome: { status: "cancelled" } });
  await tree.say("over", over("run/b"));
  await tree.say("over", failed("run", 1));
  await tree.say("retry", { nonce: "two" });
  await tree.say("hire", hireOf("run/a", { lane: 9, isAgain: true }));
  expect(tree.launched.at(-1)).toMatchObject({ execId: "run/a", again: { n: 1, before: "run/a" } });
});

test("R24: a retry does not wait for ever if a deployment that is gone holds a message to the run's events", async () => {
  const moved = Promise.withResolvers<void>();
  let held = [{ id: "inv-1", status: "paused", target_service_key: "r", pinned_deployment_id: "gone" }];
  const answers = {
    retry: { retries: 1 },
    open: () => moved.promise,
    query: () => ({ rows: held }),
    "resume?deployment=latest": () => {
      held = [];
      moved.resolve();
    },
    resume: {},
    standings: OVER,
  };
  await played(answers, async (runtime) => {
    const { status } = await runtime.resume("r", { retryFailed: true }).result;
    expect(status).toBe("completed");
  });
});
