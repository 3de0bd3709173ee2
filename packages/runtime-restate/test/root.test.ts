import { randomBytes } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Actual,
  type ChargeOptions,
  errorToJSON,
  NO_USAGE,
  type Supervision,
  ToolError,
} from "@ravi/kernel";
import { childLaunch, rootLaunch, TurnLedger } from "./fakes.ts";
import { admission, LARGE, over, PORTS, StoredTree } from "./tree.ts";
import { fitOutcome, noRoomFor } from "../src/root/outcome-size.ts";
import { wholeViewOf } from "../src/root/decide.ts";
import { STATE_SERDE } from "../src/root/state-serde.ts";

const hire = (lane: number, name: string, onFull: "deny" | "queue" = "deny") => ({
  execId: "run",
  lane,
  key: `hire:${name}`,
  agentId: name,
  priority: null,
  launch: childLaunch(rootLaunch(), `run/hire:${name}`, name),
  budget: null,
  onFull,
  over: `over-${name}`,
});

test("R24: the root is started with its input and what came with it, and no message carries them again", async () => {
  const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
  const given = { ...rootLaunch(), input: "What is this?", attachments: [picture] };
  const tree = await StoredTree.start(given);
  expect(tree.launched).toEqual([given]);
  const kept = JSON.stringify(tree.state);
  expect([kept.includes("What is this?"), kept.includes(picture.url)]).toEqual([false, false]);
});

describe("the whole view of a tree", () => {
  test("R24: has the calls that were begun, and counts what is reserved for them, also while the run goes on", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }));
    const usage = { ...NO_USAGE, inputTokens: 40 };
    const asked = { ...admission("run", 1, "llm:a/b#1", "a"), name: "a:b", usage };
    await tree.say("admit", { ...asked, reserve: { turns: 1, tokens: 40, cost: 0.25 } });
    await tree.say("admit", { ...admission("run", 1, "tool:pay#1", "b"), reserve: { toolCalls: 1 } });
    const view = wholeViewOf(tree.state, PORTS);
    expect(view?.summary).toMatchObject({ runId: "run", status: "running", entries: 2 });
    expect(view?.openCalls).toEqual([
      { execId: "run", key: "llm:a/b#1", name: "a:b", startedAt: 1_001 },
      { execId: "run", key: "tool:pay#1", name: "tool:pay#1", startedAt: 1_002 },
    ]);
    expect(view?.accounts).toMatchObject([
      { status: "running", usage, costUsd: 0.25, modelCalls: 1, wasteUsd: 0 },
    ]);
    expect(wholeViewOf(null, PORTS)).toBeNull();
  });
});

describe("admission", () => {
  test("R18: money is set aside with the admission, and what is refused says why", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 1 }));
    const first = await tree.say("admit", admission("run", 1, "llm#1", "a"));
    expect(first).toMatchObject({ verdict: "go", attempt: 1, remaining: { turns: 0 } });
    const second = await tree.say("admit", admission("run", 2, "llm#2", "b"));
    expect(second).toMatchObject({ verdict: "go", refused: { code: "BUDGET_EXHAUSTED" } });
  });

  test("R18: a ledger that is opened again is told how large the calls were, and not only their sum", async () => {
    const charged: unknown[] = [];
    const watched = (root: Supervision) =>
      new (class extends TurnLedger {
        override charge(spent: Actual, options?: ChargeOptions): ReturnType<TurnLedger["charge"]> {
          if (options !== undefined) charged.push([spent.tokens, options.largest]);
          return super.charge(spent);
        }
      })(root.executionBudget);
    const tree = await StoredTree.start(rootLaunch(), { ...PORTS, ledger: watched });
    for (const [lane, tokens] of [40, 100, 60].entries()) {
      const { reserved } = await tree.say("admit", admission("run", lane + 1, `llm#${lane}`, `${lane}`));
      await tree.say("admit", {
        ...admission("run", lane + 1, `llm#${lane}`, `${lane}`),
        settle: [{ id: String(reserved), actual: { tokens, cost: 0, turns: 1 } }],
      });
    }
    charged.length = 0;
    await tree.say("admit", admission("run", 9, "llm#9", "z"));
    expect(charged).toEqual([[200, { tokens: 100, cost: 0 }]]);
  });

  test("R24: the same message again gives the same answer, and takes nothing", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }));
    const first = await tree.say("admit", admission("run", 1, "llm#1", "a"));
    const again = await tree.say("admit", admission("run", 1, "llm#1", "a"));
    expect([again.attempt, again.reserved]).toEqual([first.attempt, first.reserved]);
    expect(tree.standings.inDoubt).toBe(undefined);
    expect(Object.keys(tree.state.open)).toHaveLength(1);
  });

  test("R24: a call that is begun again is in doubt, and what was set aside for it stays charged", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }));
    await tree.say("admit", admission("run", 1, "llm#1", "a"));
    const again = await tree.say("admit", admission("run", 1, "llm#1", "b"));
    expect(again).toMatchObject({ verdict: "go", attempt: 2, remaining: { turns: 3 } });
    expect(tree.state.inDoubt).toEqual(["run:llm#1"]);
  });

  test("R24: one that must not be repeated waits for a decision", async () => {
    const tree = await StoredTree.start(rootLaunch());
    const ask = { ...admission("run", 1, "tool#1", "a"), onDoubt: "ask" } as const;
    await tree.say("admit", ask);
    expect(await tree.say("admit", { ...ask, nonce: "b" })).toMatchObject({ verdict: "doubt" });
    const error = {
      code: "NEEDS_DECISION",
      name: "E",
      message: "",
      retryable: false,
      fields: {},
      cause: null,
    } as const;
    const doubt = { execId: "run", lane: 1, key: "tool#1", awakeable: "decided", error };
    expect(await tree.say("doubt", doubt)).toEqual({ decision: null });
    expect(tree.standings).toMatchObject({ status: "suspended", error: { code: "NEEDS_DECISION" } });
    await tree.say("resume", { decisions: {} });
    expect(tree.standings.status).toBe("suspended");
    await tree.say("resume", { decisions: { "run:tool#1": "retry" } });
    expect(tree.resolved.get("decided")).toEqual({ decision: "retry" });
    expect(tree.standings.status).toBe("running");
    expect(await tree.say("admit", { ...ask, nonce: "c" })).toMatchObject({ verdict: "go", attempt: 2 });
    // The decision was about one call: if that one is in doubt too, somebody is asked again.
    expect(await tree.say("admit", { ...ask, nonce: "d" })).toMatchObject({ verdict: "doubt", attempt: 2 });
  });

  describe("decisions", () => {
    const error = { code: null, name: "E", message: "", retryable: false, fields: {}, cause: null } as const;
    const doubt = (execId: string, awakeable: string) =>
      ({ execId, lane: 1, key: "tool:pay#1", awakeable, error }) as const;
    const inDoubt = async (): Promise<StoredTree> => {
      const tree = await StoredTree.start(rootLaunch());
      for (const name of ["a", "b", "c"]) await tree.say("hire", hire(1, name));
      for (const name of ["a", "b"]) await tree.say("doubt", doubt(`run/hire:${name}`, name));
      return tree;
    };

    test("R24: a key that two are in doubt under is refused, and neither of them goes on", async () => {
      const tree = await inDoubt();
      const { refused } = await tree.say("resume", { decisions: { "tool:pay#1": "retry" } });
      expect(refused?.message).toContain("run/hire:a:tool:pay#1, run/hire:b:tool:pay#1");
      expect([...tree.resolved]).toEqual([]);
      expect(tree.standings.status).toBe("suspended");
    });

    test("R24: the key alone is enough where one is in doubt, and later doubts are asked about", async () => {
      const tree = await inDoubt();
      await tree.say("resume", { decisions: { "run/hire:a:tool:pay#1": "skip" } });
      expect([...tree.resolved]).toEqual([["a", { decision: "skip" }]]);
      expect(await tree.say("resume", { decisions: { "tool:pay#1": "fail" } })).toEqual({});
      expect(tree.resolved.get("b")).toEqual({ decision: "fail" });
      expect(await tree.say("doubt", doubt("run/hire:c", "c"))).toEqual({ decision: null });
      expect(tree.resolved.has("c")).toBe(false);
    });

    test("R24: a key that nobody is in doubt under decides on nothing that comes later", async () => {
      const tree = await StoredTree.start(rootLaunch());
      await tree.say("resume", { decisions: { "tool:pay#1": "retry" } });
      expect(tree.state.decisions).toEqual({});
      expect(await tree.say("doubt", doubt("run", "r"))).toEqual({ decision: null });
    });

    test("R24: a misspelt decision is refused, and is not taken for another", async () => {
      const tree = await inDoubt();
      const { refused } = await tree.say("resume", {
        decisions: { "run/hire:a:tool:pay#1": "rety" as "retry" },
      });
      expect(refused).toMatchObject({ code: "INVALID_VALUE" });
      expect([...tree.resolved]).toEqual([]);
    });

    test("R24: a decision may come before its doubt, and is forgotten with its execution", async () => {
      const tree = await StoredTree.start(rootLaunch());
      await tree.say("hire", hire(1, "a"));
      await tree.say("resume", { decisions: { "run/hire:a:tool:pay#1": "skip", "run:tool:x#1": "retry" } });
      expect(await tree.say("doubt", doubt("run/hire:a", "a"))).toEqual({ decision: "skip" });
      await tree.say("over", over("run/hire:a"));
      expect(tree.state.decisions).toEqual({ "run:tool:x#1": "retry" });
    });
  });

  test("R23: an attempt that is behind the newest lane is refused, and so is one whose execution is over", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }));
    await tree.say("admit", admission("run", 7, "llm#7", "a"));
    expect(await tree.say("admit", admission("run", 6, "llm#6", "zombie"))).toMatchObject({
      verdict: "stale",
    });
    await tree.say("over", over("run"));
    expect(await tree.say("admit", admission("run", 8, "llm#8", "b"))).toMatchObject({ verdict: "stale" });
    expect(Object.keys(tree.state.open)).toHaveLength(0);
  });

  test("R23: a further try is refused where its call was made again elsewhere, is behind the newest lane, or is over", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 9 }));
    const tryAgain = (lane: number, key: string, nonce: string) => {
      const asked = { execId: "run", lane, id: `${key}:${nonce}:1`, key, nonce, spend: { turns: 1 } };
      return tree.say("reserve", { ...asked, wrapUp: false, what: undefined, settle: [] });
    };
    const refused = { refused: { code: "CANCELLED" } };
    await tree.say("admit", admission("run", 1, "llm#1", "zombie"));
    const { reserved } = await tree.say("admit", admission("run", 1, "llm#1", "a"));
    expect(await tryAgain(1, "llm#1", "zombie")).toMatchObject(refused);
    expect(await tryAgain(1, "llm#1", "a")).toEqual({ warnings: [] });
    expect(Object.keys(tree.state.open)).toEqual([reserved, "llm#1:a:1"]);

    await tree.say("admit", admission("run", 2, "llm#2", "b"));
    expect(await tryAgain(1, "llm#1", "a")).toMatchObject(refused);
    await tree.say("over", over("run"));
    expect(await tryAgain(2, "llm#2", "b")).toMatchObject(refused);
    expect(tree.state.open).toEqual({});
  });

  test("R24: a mark that paid nothing is withdrawn: nobody has to doubt it, and its money is back", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }));
    await tree.say("admit", admission("run", 1, "llm#1", "zombie"));
    await tree.say("withdraw", { execId: "run", key: "llm#1", nonce: "zombie" });
    const next = await tree.say("admit", admission("run", 1, "llm#1", "b"));
    expect(next).toMatchObject({ verdict: "go", attempt: 1, remaining: { turns: 4 } });
    expect(tree.state.inDoubt).toEqual([]);
  });

  test("R24: what was begun before a mark that is withdrawn stays in doubt", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }));
    const ask = (nonce: string) => ({ ...admission("run", 1, "tool#1", nonce), onDoubt: "ask" }) as const;
    await tree.say("admit", ask("crashed"));
    await tree.say("resume", { decisions: { "run:tool#1": "retry" } });
    await tree.say("admit", ask("zombie"));
    await tree.say("withdraw", { execId: "run", key: "tool#1", nonce: "zombie" });
    expect(await tree.say("admit", ask("c"))).toMatchObject({ verdict: "doubt", attempt: 1 });
  });

  test("R9: whoever was told to stop is admitted to nothing", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("enter", { execId: "run", stop: "stop" });
    await tree.say("stop", { execId: null, stopped: { reason: "enough" } });
    expect(tree.resolved.get("stop")).toEqual({ reason: "enough" });
    expect(await tree.say("admit", admission("run", 1, "llm#1", "a"))).toMatchObject({
      verdict: "stopped",
      stopped: { reason: "enough" },
    });
  });

  test("R18: what a child spent stays spent when it is over, in every ledger above it", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 3 }));
    await tree.say("hire", hire(1, "a"));
    const { reserved = "" } = await tree.say("admit", admission("run/hire:a", 1, "llm#1", "n"));
    await tree.say("over", { ...over("run/hire:a"), settle: [{ id: reserved, actual: { turns: 1 } }] });
    expect(await tree.say("admit", admission("run", 2, "llm#1", "m"))).toMatchObject({
      remaining: { turns: 1 },
    });
  });

  test("R18: what is granted deep in a tree is granted once, also to everybody above, and when who asked is over", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 10 }));
    await tree.say("hire", { ...hire(1, "a"), budget: { maxTurns: 4 } });
    const below = childLaunch(childLaunch(rootLaunch(), "run/hire:a", "a"), "run/hire:a/hire:b", "b");
    await tree.say("hire", { ...hire(1, "b"), execId: "run/hire:a", launch: below });
    const grant = { execId: below.execId, lane: 2, key: "raise:budget#1", more: { turns: 5 } };
    await tree.say("raise", grant);
    await tree.say("raise", grant);
    const left = async (execId: string): Promise<number | null> =>
      (await tree.say("enter", { execId, stop: "s" })).remaining.turns;
    expect([await left("run"), await left("run/hire:a")]).toEqual([15, 9]);
    await tree.say("over", over(below.execId));
    expect([await left("run"), await left("run/hire:a")]).toEqual([15, 9]);
    await tree.say("over", over("run/hire:a"));
    expect(await left("run")).toBe(15);
  });
});

describe("hiring", () => {
  test("R14: who finds no seat is denied; hiring twice under one key hires once", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxAgents: 2 }));
    expect((await tree.say("hire", hire(1, "a"))).denied).toBe(undefined);
    expect((await tree.say("hire", hire(1, "a"))).denied).toBe(undefined);
    expect((await tree.say("hire", hire(1, "b"))).denied).toMatchObject({ code: "BUDGET_EXHAUSTED" });
    expect(tree.launched.map(({ execId }) => execId)).toEqual(["run", "run/hire:a"]);
  });

  test("R18: a limit that no ledger takes denies the hire, and spoils nothing after it", async () => {
    const fussy = (root: Supervision) =>
      new (class extends TurnLedger {
        override child(budget: object): TurnLedger {
          if ("v" in budget) throw new RangeError("v is no limit");
          return super.child(budget);
        }
      })(root.executionBudget);
    const tree = await StoredTree.start(rootLaunch(), { ...PORTS, ledger: fussy });
    const bad = await tree.say("hire", { ...hire(1, "a"), budget: { v: 1 } as object });
    expect(bad.denied).toMatchObject({ message: "v is no limit" });
    expect(await tree.say("admit", admission("run", 2, "llm#1", "n"))).toMatchObject({ verdict: "go" });
  });

  test("R14: a queued hire is started when somebody ends, and not before", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxAgents: 2 }));
    await tree.say("hire", hire(1, "a"));
    await tree.say("hire", hire(1, "b", "queue"));
    expect(tree.launched).toHaveLength(2);
    const waited = async (): Promise<number> =>
      (await tree.say("waited", { execId: "run", lane: 1, child: "run/hire:b" })).stillMs;
    const whileQueued = await waited();
    expect(whileQueued).toBeGreaterThan(0);
    await tree.say("over", over("run/hire:a"));
    expect(tree.launched.at(-1)?.execId).toBe("run/hire:b");
    expect(tree.resolved.get("over-a")).toMatchObject({ status: "completed" });
    expect(await waited()).toBeGreaterThan(whileQueued);
  });

  test("R8: an execution stands still while it or one below it waits for an answer, and tells when it goes on", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("hire", hire(1, "a"));
    const below = hire(1, "b");
    const launch = { ...below.launch, execId: "run/hire:a/hire:b" };
    await tree.say("hire", { ...below, execId: "run/hire:a", launch });
    const waited = (child: string, moved?: string) =>
      tree.say("waited", { execId: "run", lane: 1, child, moved });
    expect(await waited("run/hire:a")).toMatchObject({ stillMs: 0, isStill: false });
    const want = { lane: 1, key: "wait#1", name: "word", awakeable: "w" };
    await tree.say("want", { ...want, execId: launch.execId });
    await tree.say("want", { ...want, execId: "run/hire:a", name: "other" });
    const { stillMs, isStill } = await waited("run/hire:a", "moved");
    expect(isStill).toBe(true);
    expect(stillMs).toBeGreaterThan(0);
    expect(await waited(launch.execId)).toMatchObject({ isStill: true });
    await tree.say("deliver", { id: "1", name: "word", value: 1 });
    expect(await waited(launch.execId)).toMatchObject({ isStill: false });
    expect(tree.resolved.has("moved")).toBe(false);
    await tree.say("deliver", { id: "2", name: "other", value: 1 });
    const after = await waited("run/hire:a");
    expect(after).toMatchObject({ isStill: false });
    expect(after.stillMs).toBeGreaterThan(stillMs);
    expect(tree.resolved.get("moved")).toBe(after.stillMs);
    expect((await waited("run/hire:a")).stillMs).toBe(after.stillMs);
  });

  test("R8: an execution stands still while it or one below it is suspended, until it is resumed or runs again", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("hire", hire(1, "a"));
    const below = hire(1, "b");
    const launch = { ...below.launch, execId: "run/hire:a/hire:b" };
    await tree.say("hire", { ...below, execId: "run/hire:a", launch });
    const waited = () => tree.say("waited", { execId: "run", lane: 1, child: "run/hire:a" });
    const error = errorToJSON(new Error("a decision is needed"));
    const { execId } = launch;
    await tree.say("doubt", { execId, lane: 1, key: "tool#1", awakeable: "d", error });
    expect(await waited()).toMatchObject({ stillMs: 1, isStill: true });
    await tree.say("resume", { decisions: { "tool#1": "retry" } });
    expect(await waited()).toMatchObject({ stillMs: 2, isStill: false });
    await tree.say("suspended", { execId, error });
    expect(await waited()).toMatchObject({ stillMs: 3, isStill: true });
    await tree.say("admit", admission(execId, 1, "llm#1", "a"));
    expect(await waited()).toMatchObject({ isStill: false });
  });

  test("R24: nobody waits for a slot for whose input there is no room", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxAgents: 2 }));
    const seeing = (name: string, onFull: "deny" | "queue") => {
      const url = `data:image/png;base64,${randomBytes(13 * 1024 * 1024).toString("base64")}`;
      const given = hire(1, name, onFull);
      return { ...given, launch: { ...given.launch, attachments: [{ type: "image", url } as const] } };
    };
    const hired = [seeing("a", "deny"), seeing("b", "queue"), seeing("c", "queue")];
    const denied: unknown[] = [];
    for (const one of hired) denied.push((await tree.say("hire", one)).denied?.message);
    expect(denied).toEqual([
      undefined,
      undefined,
      expect.stringMatching(/^hire\.input, with those that wait for a slot is "\d+ bytes"; expected at most/),
    ]);
  });

  test.each([
    ["by its parent's end", "cancelled", async (tree: StoredTree) => tree.say("over", over("run/hire:a"))],
    [
      "by a word to it",
      "cancelled",
      async (tree: StoredTree) =>
        tree.say("stop", { execId: "run/hire:a/hire:b", stopped: { reason: "enough" } }),
    ],
    [
      "by its deadline",
      "partial",
      async (tree: StoredTree) =>
        tree.say("stop", { execId: "run/hire:a/hire:b", stopped: { reason: "", deadline: 5 } }),
    ],
  ])("R14: who is stopped in the queue, %s, is over and never begins", async (_, status, stop) => {
    const tree = await StoredTree.start(rootLaunch({ maxAgents: 2 }));
    await tree.say("hire", hire(1, "a"));
    const below = hire(1, "b", "queue");
    const launch = { ...below.launch, execId: "run/hire:a/hire:b" };
    await tree.say("hire", { ...below, execId: "run/hire:a", launch });
    await tree.say("hire", hire(2, "c", "queue"));
    await stop(tree);
    expect(tree.resolved.get("over-b")).toMatchObject({ status });
    await tree.say("over", over("run/hire:a"));
    expect(tree.launched.map(({ execId }) => execId)).toEqual(["run", "run/hire:a", "run/hire:c"]);
    expect(tree.state.execs["run/hire:a/hire:b"]).toMatchObject({ phase: "over", launch: null });
  });

  test.each([
    ["a user", { reason: "user left" }, { code: "CANCELLED", message: "cancelled: user left" }],
    ["a deadline", { reason: "late", deadline: 5 }, { code: "DEADLINE_EXCEEDED" }],
  ])("R9: who was stopped by %s hires nobody, and is told so as in one process", async (_, stopped, why) => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("stop", { execId: "run", stopped });
    expect((await tree.say("hire", hire(1, "a"))).denied).toMatchObject(why);
    await tree.say("over", { ...over("run"), isKilled: true });
    expect(tree.state.result).toMatchObject({ status: "cancelled", failure: why });
  });

  test("R9: a stop goes down to everybody, and whoever ends first takes its children along", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("hire", hire(1, "a"));
    await tree.say("enter", { execId: "run/hire:a", stop: "stop-a" });
    const { alone } = await tree.say("end", { execId: "run", lane: 2, awakeable: "ended" });
    expect([alone, tree.resolved.get("stop-a")]).toEqual([
      false,
      { reason: "its parent has ended", isOfEnd: true },
    ]);
    await tree.say("over", over("run/hire:a"));
    expect(tree.resolved.get("ended")).toBe(null);
  });

  test("R23: who joins after the end is told at once, and a second end changes nothing", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("hire", hire(1, "a"));
    await tree.say("over", over("run/hire:a"));
    await tree.say("over", { ...over("run/hire:a"), outcome: { status: "failed" } });
    await tree.say("join", { execId: "run", lane: 2, child: "run/hire:a", over: "joined" });
    expect(tree.resolved.get("joined")).toMatchObject({ status: "completed" });
  });
});

describe("waiting and talking", () => {
  test.each(["toString", "constructor", "__proto__"])(
    "R24: %s is a name like any other, and nothing of it is left when it was handed out",
    async (name) => {
      const tree = await StoredTree.start(rootLaunch());
      for (const [id, value] of ["one", "two"].entries())
        await tree.say("deliver", { id: `${id}`, name, value });
      const want = { execId: "run", name, awakeable: "w" };
      expect(await tree.say("want", { ...want, lane: 1, key: "wait#1" })).toMatchObject({
        got: { value: "one" },
      });
      expect(await tree.say("want", { ...want, lane: 2, key: "wait#2" })).toMatchObject({
        got: { value: "two" },
      });
      expect(Object.keys(tree.state.signals)).toEqual([]);
      expect((await tree.say("want", { ...want, lane: 3, key: "wait#3" })).got).toBe(undefined);
    },
  );

  const want = (key: string, lane = 1) => ({
    execId: "run",
    lane,
    key,
    name: "word",
    awakeable: `told ${key}`,
  });

  test("R24: what comes early is kept, in order, and handed out once, also when its answer is lost", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("deliver", { id: "1", name: "word", value: "one" });
    await tree.say("deliver", { id: "1", name: "word", value: "one" });
    await tree.say("deliver", { id: "2", name: "word", value: "two" });
    expect((await tree.say("want", want("w1"))).got).toEqual({ value: "one" });
    expect((await tree.say("want", want("w1"))).got).toEqual({ value: "one" });
    expect((await tree.say("want", want("w2", 2))).got).toEqual({ value: "two" });
  });

  test("R24: whoever waits is told, and a run that waits says so", async () => {
    const tree = await StoredTree.start(rootLaunch());
    expect((await tree.say("want", want("w1"))).got).toBe(undefined);
    expect(tree.standings.status).toBe("waiting");
    await tree.say("deliver", { id: "1", name: "word", value: null });
    expect(tree.resolved.get("told w1")).toMatchObject({ value: null });
    expect(tree.standings.status).toBe("running");
    // It is kept only until the execution has gone on, because every message carries the whole state.
    expect(Object.keys(tree.state.execs["run"]?.given ?? {})).toHaveLength(1);
    await tree.say("admit", admission("run", 9, "llm#1", "a"));
    expect(tree.state.execs["run"]?.given).toEqual({});
  });

  test("R23: a question is read once, answered once, and not waited for when its reader is over", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("hire", hire(1, "a"));
    const message = (id: string) => ({ id, from: "lead", content: "?", at: 0 });
    const ask = (id: string) => ({
      execId: "run",
      lane: 2,
      child: "run/hire:a",
      message: message(id),
      awakeable: id,
    });
    await tree.say("ask", ask("m1"));
    await tree.say("ask", ask("m1"));
    const read = { execId: "run/hire:a", lane: 1, key: "inbox#1", wait: true, awakeable: "r" };
    expect((await tree.say("mail", read)).message).toMatchObject({ id: "m1" });
    expect((await tree.say("mail", read)).message).toMatchObject({ id: "m1" });
    await tree.say("reply", { execId: "run/hire:a", lane: 2, messageId: "m1", value: "!" });
    expect(tree.resolved.get("m1")).toEqual({ reply: "!" });
    await tree.say("ask", ask("m2"));
    await tree.say("over", over("run/hire:a"));
    expect(tree.resolved.get("m2")).toEqual({ silent: true, ended: true });
  });
});

describe("who goes on", () => {
  const want = (execId: string, lane: number) => ({
    execId,
    lane,
    key: "wait:word#1",
    name: "word",
    awakeable: `${execId}-word`,
  });
  const two = async (...order: readonly string[]) => {
    const tree = await StoredTree.start(rootLaunch());
    for (const [at, name] of ["a", "b"].entries()) await tree.say("hire", hire(at + 1, name));
    for (const name of order) await tree.say("want", want(`run/hire:${name}`, 1));
    return tree;
  };

  test("R24: a delivery id counts once as long as it is among the newest 200", async () => {
    const tree = await StoredTree.start(rootLaunch());
    for (let n = 1; n <= 200; n++) await tree.say("deliver", { id: `${n}`, name: "word", value: n });
    await tree.say("deliver", { id: "1", name: "word", value: 1 });
    expect(tree.state.signals["word"]).toHaveLength(200);
    await tree.say("deliver", { id: "201", name: "word", value: 201 });
    await tree.say("deliver", { id: "1", name: "word", value: 1 });
    expect(tree.state.delivered).toHaveLength(200);
    expect(tree.state.signals["word"]).toHaveLength(202);
  });

  test("R24: what is delivered is for whoever has waited the longest, and not for who was hired first", async () => {
    const tree = await two("b", "a");
    await tree.say("want", want("run/hire:b", 1));
    for (const id of ["1", "2", "3"]) await tree.say("deliver", { id, name: "word", value: id });
    expect(tree.resolved.get("run/hire:b-word")).toMatchObject({ value: "1" });
    expect(tree.resolved.get("run/hire:a-word")).toMatchObject({ value: "2" });
    expect(tree.state.signals).toEqual({ word: ["3"] });
  });

  test("R24: whoever was told to stop takes nothing from those who wait behind it", async () => {
    const tree = await two("a", "b");
    await tree.say("stop", { execId: "run/hire:a", stopped: { reason: "enough" } });
    await tree.say("deliver", { id: "1", name: "word", value: 1 });
    expect(tree.resolved.get("run/hire:b-word")).toMatchObject({ value: 1 });
    expect(tree.resolved.has("run/hire:a-word")).toBe(false);
  });

  test("R24: the list has why a run is suspended, also when the reason changes, and why it has failed", async () => {
    const tree = await two("a", "b");
    const reasons = () => [tree.summary["status"], tree.summary["error"], tree.summary["cancelReason"]];
    const park = (message: string) =>
      tree.say("suspended", { execId: "run", error: errorToJSON(new ToolError({ toolName: "t", message })) });
    await park("no worker");
    expect(reasons()).toEqual(["suspended", { code: "TOOL_ERROR", message: "no worker" }, undefined]);
    await park("x".repeat(2_000));
    const cut = `${"x".repeat(1_000)}…`;
    expect(reasons()).toEqual(["suspended", { code: "TOOL_ERROR", message: cut }, undefined]);
    await tree.say("resume", { decisions: {} });
    expect(reasons()).toEqual(["suspended", undefined, undefined]);
    const failure = errorToJSON(new TypeError("x is not a function"));
    await tree.say("over", { ...over("run"), outcome: { status: "failed", failure } });
    expect(reasons()).toEqual(["failed", { code: null, message: "x is not a function" }, undefined]);
  });

  test.each(["too dear", ""])(
    "R9: the list has why a run was cancelled until it has ended: %j",
    async (reason) => {
      const tree = await two("a", "b");
      const cancelReason = () => tree.summary["cancelReason"];
      await tree.say("stop", { execId: "run/hire:a", stopped: { reason: "only a part of it" } });
      expect(cancelReason()).toBeUndefined();
      await tree.say("stop", { execId: null, stopped: { reason } });
      expect(cancelReason()).toBe(reason);
      await tree.say("stop", { execId: null, stopped: { reason: "too late" } });
      expect(cancelReason()).toBe(reason);
      await tree.say("over", { ...over("run"), isKilled: true });
      expect([tree.summary["status"], cancelReason()]).toEqual(["cancelled", undefined]);
    },
  );

  test("R9: a run that ran out of time was not cancelled", async () => {
    const tree = await two("a", "b");
    await tree.say("stop", { execId: null, stopped: { reason: "", deadline: 1_000 } });
    await tree.say("deliver", { id: "1", name: "word", value: 1 });
    expect(tree.summary["cancelReason"]).toBeUndefined();
  });

  test("R24: the list has what all of them wait for, and changes with every wait and every answer", async () => {
    const tree = await two("b", "a");
    const waitingFor = () => tree.summary["waitingFor"];
    const wait = (name: string, since: number) => ({
      kind: "signal",
      name: "word",
      agentId: name,
      execId: `run/hire:${name}`,
      since,
    });
    expect(waitingFor()).toEqual([wait("a", 1_004), wait("b", 1_003)]);
    const question = { tool: "pay", arguments: "{}" };
    const asked = { ...want("run", 3), name: "ok", isApproval: true, question };
    await tree.say("want", asked);
    const approval = { kind: "approval", name: "ok", agentId: "lead", execId: "run", since: 1_005, question };
    expect(waitingFor()).toEqual([approval, wait("a", 1_004), wait("b", 1_003)]);
    await tree.say("want", asked);
    await tree.say("deliver", { id: "1", name: "word", value: 1 });
    expect(waitingFor()).toEqual([approval, wait("a", 1_004)]);
    await tree.say("stop", { execId: "run/hire:a", stopped: { reason: "enough" } });
    expect(waitingFor()).toEqual([approval]);
    const error = { code: null, name: "E", message: "", retryable: false, fields: {}, cause: null } as const;
    await tree.say("doubt", { execId: "run/hire:b", lane: 2, key: "tool#1", awakeable: "d", error });
    const decision = { ...wait("b", 1_009), kind: "decision", name: "run/hire:b:tool#1" };
    expect(waitingFor()).toEqual([approval, decision]);
    await tree.say("resume", { decisions: { "run/hire:b:tool#1": "skip" } });
    await tree.say("deliver", { id: "2", name: "ok", value: true });
    expect(waitingFor()).toBeUndefined();
  });

  test("R24: a run that is over refuses what must reach one that is there, unless it has it already", async () => {
    const tree = await StoredTree.start(rootLaunch());
    const said = (id: string, mustExist?: boolean) => ({ id, name: "word", value: id, mustExist });
    expect(await tree.say("deliver", said("1", true))).toBeNull();
    await tree.say("over", over("run"));
    expect(await tree.say("deliver", said("1", true))).toBeNull();
    expect(await tree.say("deliver", said("2", true))).toEqual({ ended: "completed" });
    expect(tree.state.signals).toEqual({});
    expect(tree.state.delivered).toEqual(["1"]);
    expect(await tree.say("deliver", said("2"))).toBeNull();
  });

  test("R24: what must be waited for is refused if it is not, with what is waited for instead", async () => {
    const tree = await StoredTree.start(rootLaunch());
    const said = (id: string, name: string) => ({ id, name, value: id, mustWait: true });
    expect(await tree.say("deliver", said("1", "word"))).toEqual({ waitsFor: [] });
    const wanted = { execId: "run", lane: 1, key: "wait#1", name: "word", awakeable: "w" };
    await tree.say("want", wanted);
    expect(await tree.say("deliver", said("2", "wrod"))).toEqual({ waitsFor: ["word"] });
    expect(tree.state.signals).toEqual({});
    expect(await tree.say("deliver", said("3", "word"))).toBeNull();
    expect(await tree.say("deliver", said("3", "word"))).toBeNull();
    expect(await tree.say("deliver", said("4", "word"))).toEqual({ waitsFor: [] });
    await tree.say("over", over("run"));
    expect(await tree.say("deliver", said("5", "word"))).toEqual({ ended: "completed" });
  });

  test("R9: a stop without a reason has one all the same", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("stop", { execId: null, stopped: {} as { reason: string } });
    expect(tree.state.execs["run"]?.stopped).toEqual({ reason: "no reason given" });
  });

  test("R24: an execution that a worker goes on with by itself is not parked any more; one in doubt waits", async () => {
    const error = { code: null, name: "E", message: "", retryable: false, fields: {}, cause: null } as const;
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("suspended", { execId: "run", error });
    expect(tree.standings.status).toBe("suspended");
    await tree.say("admit", admission("run", 1, "llm#1", "a"));
    expect(tree.standings.status).toBe("running");
    await tree.say("doubt", { execId: "run", lane: 2, key: "tool#1", awakeable: "d", error });
    await tree.say("admit", admission("run", 2, "llm#2", "b"));
    expect(tree.standings.status).toBe("suspended");
  });
});

describe("a call whose outcome nobody knows", () => {
  const usage = { inputTokens: 90, outputTokens: 10 };
  const reserve = { tokens: 100, cost: 1, turns: 1 };
  const call = (nonce: string, key = "llm#1") => ({ ...admission("run", 1, key, nonce), reserve, usage });
  const account = {
    execId: "run",
    agentId: "lead",
    parent: null,
    priority: 2,
    status: "completed",
    usage: { inputTokens: 5, outputTokens: 5 },
    costUsd: 0.1,
    modelCalls: 1,
    toolCalls: 0,
    retries: 1,
    wasteUsd: 0,
  } as const;

  test("R18: what was set aside for one that is made again is in the account, beside what its second try took", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("admit", call("a"));
    const { reserved = "" } = await tree.say("admit", call("b"));
    const settle = [{ id: reserved, actual: { tokens: 10, cost: 0.1, turns: 1 } }];
    await tree.say("over", { ...over("run"), account: account as never, settle });
    expect(tree.standings.accounts).toMatchObject([
      { usage: { inputTokens: 95, outputTokens: 15 }, costUsd: 1.1, modelCalls: 1, retries: 1, wasteUsd: 1 },
    ]);
    expect(tree.state.result).toMatchObject({ costUsd: 1.1 });
    expect(tree.standings.used).toMatchObject({ cost: 1.1, turns: 2 });
  });

  test("R18: one that was in flight at the end is in the account and in doubt, with all its tries", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("admit", call("a"));
    const again = {
      execId: "run",
      lane: 1,
      id: "again",
      key: "llm#1",
      nonce: "a",
      spend: { tokens: 50, turns: 1 },
    };
    await tree.say("reserve", { ...again, wrapUp: false, what: undefined, settle: [] });
    await tree.say("over", over("run"));
    expect(tree.standings).toMatchObject({
      inDoubt: ["run:llm#1"],
      accounts: [{ usage: { inputTokens: 140, outputTokens: 10 }, costUsd: null, modelCalls: 1 }],
    });
  });

  test("R18: one that nobody has set money aside for is in doubt where its execution says that it left it", async () => {
    const tree = await StoredTree.start(rootLaunch(), {});
    await tree.say("over", { ...over("run"), settle: [{ left: "run:llm#1" }, { left: "run:llm#1" }] });
    expect(tree.standings.inDoubt).toEqual(["run:llm#1"]);
  });

  test("R18: a further try of a call that is made again is not held any longer than the call itself", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("admit", call("a"));
    const again = { execId: "run", lane: 1, id: "again", key: "llm#1", nonce: "a", spend: reserve };
    await tree.say("reserve", { ...again, wrapUp: false, what: undefined, settle: [] });
    const { reserved } = await tree.say("admit", call("b"));
    expect(Object.keys(tree.state.open)).toEqual([reserved]);
  });
});

test("R11: of a run that a layer has answered for no agent is listed, since none has begun", async () => {
  const refused = { status: "completed", result: { status: "completed", output: "no", stopReason: "done" } };
  const tree = await StoredTree.start({ ...rootLaunch(), refused });
  expect(tree.standings).toMatchObject({ status: "over", result: refused, accounts: [] });
});

test("R24: what came of a child is told and then forgotten, unless somebody may still join it", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", { ...hire(1, "a"), isJoinable: false });
  await tree.say("hire", { ...hire(2, "b"), isJoinable: true });
  for (const name of ["a", "b"]) await tree.say("over", over(`run/hire:${name}`));
  for (const name of ["a", "b"])
    expect(tree.resolved.get(`over-${name}`)).toMatchObject({ result: { output: `run/hire:${name}` } });
  const { execs } = tree.state;
  expect(execs["run/hire:a"]?.outcome).toEqual({ status: "completed" });
  expect(execs["run/hire:b"]?.outcome).toMatchObject({ result: { output: "run/hire:b" } });
  await tree.say("join", { execId: "run", lane: 3, child: "run/hire:b", over: "later" });
  expect(tree.resolved.get("later")).toMatchObject({ result: { output: "run/hire:b" } });
  await tree.say("over", over("run"));
  expect(tree.standings.result).toMatchObject({ result: { output: "run" } });
  expect(tree.standings.accounts?.map(({ status }) => status)).toEqual([
    "completed",
    "completed",
    "completed",
  ]);
});

test("R24: a result that has no room beside others that may still be joined is a failure, and is not tried for ever", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const ended = (name: string, output: string) => {
    const message = over(`run/hire:${name}`);
    return tree.say("over", { ...message, outcome: { status: "completed", result: { output } } });
  };
  for (const [at, name] of ["a", "b", "c"].entries())
    await tree.say("hire", { ...hire(at + 1, name), isJoinable: true });
  // What hardly packs: three quarters of it are left.
  const large = randomBytes(LARGE).toString("base64");
  await ended("a", large);
  await ended("b", large.slice(7));
  await ended("c", "small");
  expect(tree.resolved.get("over-a")).toMatchObject({ status: "completed" });
  expect(tree.resolved.get("over-b")).toMatchObject({
    status: "failed",
    failure: { code: "INVALID_VALUE", message: expect.stringContaining("run/hire:b") },
  });
  expect(tree.resolved.get("over-c")).toMatchObject({ status: "completed" });
  // Nobody can join them once the root has ended.
  await tree.say("over", { ...over("run"), outcome: { status: "completed", result: { output: large } } });
  expect(tree.standings.result).toMatchObject({ status: "completed" });
  expect(tree.state.execs["run/hire:a"]?.outcome).toEqual({ status: "completed" });
});

test("R24: what is delivered early is refused where there is no room for it, and takes none from the result", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const large = randomBytes(LARGE).toString("base64");
  expect(await tree.say("deliver", { id: "1", name: "go", value: large })).toBe(null);
  const second = await tree.say("deliver", { id: "2", name: "go", value: large.slice(7) });
  expect(second).toMatchObject({
    refused: { code: "INVALID_VALUE", message: expect.stringContaining("deliver value") },
  });
  expect(await tree.say("deliver", { id: "3", name: "go", value: "small" })).toBe(null);
  expect(tree.state.signals["go"]?.map((value) => String(value).length)).toEqual([large.length, 5]);
  expect(tree.state.delivered).toEqual(["1", "3"]);
  await tree.say("over", { ...over("run"), outcome: { status: "completed", result: { output: large } } });
  expect(tree.standings.result).toMatchObject({ status: "completed" });
});

test("R24: what is delivered to somebody who waits is refused where there is no room for it, and the wait goes on", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const large = randomBytes(LARGE).toString("base64");
  for (const key of ["a", "b"])
    await tree.say("want", { execId: "run", lane: 1, key, name: "go", awakeable: `told ${key}` });
  expect(await tree.say("deliver", { id: "1", name: "go", value: large })).toBe(null);
  const second = await tree.say("deliver", { id: "2", name: "go", value: large.slice(7) });
  expect(second).toMatchObject({
    refused: { code: "INVALID_VALUE", message: expect.stringContaining("deliver value") },
  });
  expect(tree.resolved.get("told b")).toBe(undefined);
  expect(await tree.say("deliver", { id: "3", name: "go", value: "small" })).toBe(null);
  expect(tree.resolved.get("told b")).toMatchObject({ value: "small" });
  expect(tree.state.delivered).toEqual(["1", "3"]);
});

test("R24: a message to a child is refused where there is no room for it beside those that it has not read", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", hire(1, "a"));
  const large = randomBytes(LARGE).toString("base64");
  const ask = (id: string, content: string) => {
    const message = { id, from: "lead", content, at: 0 };
    return tree.say("ask", { execId: "run", lane: 2, child: "run/hire:a", message, awakeable: id });
  };
  await ask("m1", large);
  await ask("m2", large.slice(7));
  await ask("m3", "small");
  expect(tree.resolved.get("m1")).toBe(undefined);
  expect(tree.resolved.get("m2")).toMatchObject({
    refused: { code: "INVALID_VALUE", message: expect.stringContaining("ask.message") },
  });
  expect(tree.state.execs["run/hire:a"]?.mail.map(({ id }) => id)).toEqual(["m1", "m3"]);
});

test("R24: what comes with a message to a child takes room too", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", hire(1, "a"));
  const large = randomBytes(LARGE).toString("base64");
  for (const [id, url] of Object.entries({ m1: large, m2: large.slice(7) })) {
    const message = { id, from: "lead", content: "?", attachments: [{ type: "image", url }], at: 0 } as const;
    await tree.say("ask", { execId: "run", lane: 2, child: "run/hire:a", message, awakeable: id });
  }
  expect(tree.resolved.get("m1")).toBe(undefined);
  expect(tree.resolved.get("m2")).toMatchObject({ refused: { code: "INVALID_VALUE" } });
});

test("R24: what was given to an execution takes no room from its result", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const large = randomBytes(LARGE).toString("base64");
  await tree.say("want", { execId: "run", lane: 1, key: "a", name: "go", awakeable: "told" });
  await tree.say("deliver", { id: "1", name: "go", value: large });
  const outcome = { status: "completed", result: { output: large.slice(7) } };
  await tree.say("over", { ...over("run"), outcome });
  expect(tree.standings.result).toMatchObject({ status: "completed" });
});

test("R24: nor do messages that it has not read", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", hire(1, "a"));
  const child = "run/hire:a";
  const large = randomBytes(LARGE).toString("base64");
  const message = { id: "m", from: "lead", content: large, at: 0 };
  await tree.say("ask", { execId: "run", lane: 2, child, message, awakeable: "m" });
  const outcome = { status: "completed", result: { output: large.slice(7) } };
  await tree.say("over", { ...over(child), outcome });
  expect(tree.state.execs[child]).toMatchObject({ outcome: { status: "completed" }, mail: [] });
});

test("R24: so is a small one beside so many that were given already, came early, are not read yet or wait for a slot, that it has no room", async () => {
  const { state } = await StoredTree.start(rootLaunch());
  const root = state.execs["run"];
  if (root === undefined) throw new Error("there is no root");
  const values = Array.from({ length: 600 }, (_, n) => {
    return [`wait#${n}`, { lane: 1, value: randomBytes(42_500).toString("base64") }] as const;
  });
  const given = { ...state, execs: { run: { ...root, given: Object.fromEntries(values) } } };
  const early = { ...state, signals: { go: values.map(([, { value }]) => value) } };
  const mail = values.map(([id, { value }]) => ({ id, from: "lead", content: value, at: 0 }));
  const unread = { ...state, execs: { run: { ...root, mail } } };
  const unhired = { ...state, early: { "run/hire:a": mail } };
  const waiting = values.map(([id, { value }]) => [
    id,
    { ...root, launch: { ...rootLaunch(), input: value } },
  ]);
  const queued = { ...state, execs: { run: root, ...Object.fromEntries(waiting) } };
  for (const full of [given, early, unread, unhired, queued])
    expect(noRoomFor("deliver value", full, "small")).toMatchObject({ code: "INVALID_VALUE" });
  expect(noRoomFor("deliver value", state, "small")).toBe(undefined);
});

test("R24: nor are so many small results that they have no room together", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", { ...hire(1, "a"), isJoinable: true });
  const { state } = tree;
  const kept = state.execs["run/hire:a"];
  if (kept === undefined) throw new Error("nobody was hired");
  const execs = Array.from({ length: 600 }, (_, n) => {
    const output = randomBytes(42_500).toString("base64");
    return [`run/hire:b#${n}`, { ...kept, outcome: { status: "completed", result: { output } } }] as const;
  });
  const full = { ...state, execs: { ...state.execs, ...Object.fromEntries(execs) } };
  const small = { status: "completed", result: { output: "small" } };
  expect(fitOutcome(full, "run/hire:a", small)).toMatchObject({
    status: "failed",
    failure: { message: expect.stringContaining("run/hire:a") },
  });
  expect(fitOutcome(state, "run/hire:a", small)).toBe(small);
});

test("R24: a result of a large tree is not weighed with all of its state where the others are forgotten, or small", async () => {
  const tree = await StoredTree.start(rootLaunch());
  await tree.say("hire", { ...hire(1, "a"), isJoinable: true });
  const { state } = tree;
  const kept = state.execs["run/hire:a"];
  if (kept === undefined) throw new Error("nobody was hired");
  const execs = Array.from({ length: 600 }, (_, n) => {
    const outcome = n < 300 ? { status: "completed" } : { status: "completed", result: { output: `${n}` } };
    return [`run/hire:b#${n}`, { ...kept, outcome }] as const;
  });
  const large = { ...state, execs: { ...state.execs, ...Object.fromEntries(execs) } };
  const small = { status: "completed", result: { output: "small" } };
  const writing = vi.spyOn(JSON, "stringify");
  const fitted = fitOutcome(large, "run/hire:a", small);
  const written = writing.mock.calls.map(([value]: unknown[]) => value);
  writing.mockRestore();
  expect(fitted).toBe(small);
  expect(written).toContain(small);
  expect(
    written.filter((value) => typeof value === "object" && value !== null && "execs" in value),
  ).toHaveLength(0);
});

test("R24: a result that fits as it is need not be packed to know that", async () => {
  const { state } = await StoredTree.start(rootLaunch());
  const packing = vi.spyOn(STATE_SERDE, "serialize");
  onTestFinished(() => packing.mockRestore());
  const large = { status: "completed", result: { output: "x".repeat(1024 * 1024) } };
  expect(fitOutcome(state, "run", large)).toBe(large);
  expect(packing).not.toHaveBeenCalled();
});
