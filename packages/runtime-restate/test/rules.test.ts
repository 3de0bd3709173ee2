import { type AgentId, BudgetExhaustedError, type BudgetWarning, type Supervision } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { AdmissionOrder } from "../src/execution/admission-order.ts";
import { decideAll } from "../src/root/decide.ts";
import type { Admission, Settle } from "../src/root/messages.ts";
import { rootObject } from "../src/root/object.ts";
import { STATE_SERDE } from "../src/root/state-serde.ts";
import { childLaunch, QueueHeadcount, rootLaunch, TurnLedger } from "./fakes.ts";
import { admission, over, PORTS, StoredTree } from "./tree.ts";

/** Warns once, at four fifths of its turns. */
class WarningLedger extends TurnLedger {
  private isWarned = false;
  private readonly most: number;

  constructor(budget: Supervision["executionBudget"]) {
    super(budget);
    this.most = budget.maxTurns ?? Infinity;
  }

  override charge(actual: Parameters<TurnLedger["charge"]>[0]): ReturnType<TurnLedger["charge"]> {
    super.charge(actual);
    const isNew = !this.isWarned && this.used.turns >= 0.8 * this.most;
    this.isWarned ||= isNew;
    const warning: BudgetWarning = {
      dimension: "turns",
      used: this.used.turns,
      limit: this.most,
      scope: "lead",
    };
    return { warnings: isNew ? [warning] : [], exceeded: [] } as never;
  }
}

const WARNING = { ...PORTS, ledger: (root: Supervision) => new WarningLedger(root.executionBudget) };

const FULL = { dimension: "cost", used: 2, limit: 2, scope: "lead", hint: "1 open call" } as const;

class FullLedger extends TurnLedger {
  override reserve(): never {
    throw new BudgetExhaustedError({ ...FULL, waitable: true });
  }
}

test("R18: a refusal does not say that the call may wait, because each message is answered at once", async () => {
  const tree = await StoredTree.start(rootLaunch({}), { ...PORTS, ledger: () => new FullLedger({}) });
  const { refused } = await tree.say("admit", admission("run", 1, "llm#1", "a"));
  expect(refused).toMatchObject({ code: "BUDGET_EXHAUSTED" });
  expect(refused?.fields).toEqual(FULL);
});

describe("warnings", () => {
  test("R21: an admission says when its call may pass a threshold, and the settlement of that call hears of it", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }), WARNING);
    const near: unknown[] = [];
    let warned: readonly BudgetWarning[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      const {
        reserved = "",
        isNear,
        warnings,
      } = await tree.say("admit", admission("run", n, `llm#${n}`, "a"));
      expect(warnings).toEqual([]);
      near.push(isNear === true);
      const settle = [{ id: reserved, actual: { turns: 1 } }];
      warned = [...warned, ...(await tree.say("settle", { execId: "run", lane: n, settle })).warnings];
    }
    expect(near).toEqual([false, false, false, true, false]);
    expect(warned).toMatchObject([{ dimension: "turns", used: 4, limit: 5 }]);
  });

  test("R21: what nobody could be told when it came goes with the next answer, once", async () => {
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 9 }), WARNING);
    const ids: string[] = [];
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const { reserved } = await tree.say("admit", admission("run", 1, `llm#${n}`, "a"));
      ids.push(reserved ?? "");
    }
    const settle = ids.map((id) => ({ id, actual: { turns: 1 } }));
    await tree.say("settle", { execId: "run", lane: 1, settle, isOneWay: true });
    const { warnings } = await tree.say("admit", admission("run", 2, "llm#9", "b"));
    expect(warnings).toMatchObject([{ dimension: "turns", used: 8 }]);
    expect((await tree.say("admit", admission("run", 3, "llm#10", "c"))).warnings).toEqual([]);
  });

  test("R21: what the end of a child has caused is told to its parent", async () => {
    const shared = (root: Supervision) =>
      new (class extends WarningLedger {
        override child(): TurnLedger {
          return this;
        }
      })(root.executionBudget);
    const tree = await StoredTree.start(rootLaunch({ maxTurns: 5 }), { ...WARNING, ledger: shared });
    const launch = childLaunch(rootLaunch(), "run/hire:a", "a");
    const terms = { key: "hire:a", agentId: "a", priority: null, budget: null, onFull: "deny" } as const;
    await tree.say("hire", { execId: "run", lane: 1, launch, ...terms });
    const settle: Settle[] = [];
    for (const n of [1, 2, 3, 4]) {
      const { reserved = "" } = await tree.say("admit", admission("run/hire:a", 1, `llm#${n}`, "a"));
      settle.push({ id: reserved, actual: { turns: 1 } });
    }
    await tree.say("over", { ...over("run/hire:a"), settle });
    const { warnings } = await tree.say("admit", admission("run", 2, "llm#1", "a"));
    expect(warnings).toMatchObject([{ dimension: "turns", used: 4, limit: 5 }]);
  });
});

test("R17: crashes are counted by the tree, whichever worker tells, and one that is told twice is one", async () => {
  const tree = await StoredTree.start(rootLaunch());
  expect(await tree.say("crashed", { execId: "run", nonce: "a" })).toEqual({ crashes: 1 });
  expect(await tree.say("crashed", { execId: "run", nonce: "a" })).toEqual({ crashes: 1 });
  expect(await tree.say("crashed", { execId: "run", nonce: "b" })).toEqual({ crashes: 2 });
});

test("R11: a run that a layer has answered for is over at once, and starts nobody", async () => {
  const result = { status: "completed", output: "no", stopReason: "done" };
  const tree = await StoredTree.start({ ...rootLaunch(), refused: { status: "completed", result } });
  expect(tree.launched).toEqual([]);
  expect(tree.standings).toMatchObject({ status: "over", result: { result: { output: "no" } } });
});

test("R9: who was stopped and can hear nothing is named, and is cancelled when it was killed for that", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const error = { code: null, name: "E", message: "no", retryable: false, fields: {}, cause: null };
  await tree.say("suspended", { execId: "run", error });
  expect(await tree.say("stop", { execId: null, stopped: { reason: "enough" } })).toEqual({ deaf: ["run"] });
  await tree.say("over", { execId: "run", outcome: { status: "failed" }, settle: [], isKilled: true });
  expect(tree.standings.result).toMatchObject({
    status: "cancelled",
    failure: { message: "cancelled: enough" },
  });
});

test("R18: what an execution has used is known while it lives, to who waits for it and to a result that is not final", async () => {
  const tree = await StoredTree.start(rootLaunch());
  const usage = { inputTokens: 3, outputTokens: 2 };
  const used = { usage, costUsd: 0.5, modelCalls: 1, toolCalls: 0, retries: 0, wasteUsd: 0 };
  await tree.say("admit", { ...admission("run", 1, "llm#1", "a"), used });
  expect(await tree.say("waited", { execId: "run", lane: 1, child: "run" })).toEqual({
    stillMs: 0,
    isStill: false,
    usage,
    costUsd: 0.5,
  });
});

test("R24: several messages are decided in order in one session, as if each had come by itself", async () => {
  const one = await StoredTree.start(rootLaunch({ maxTurns: 2 }));
  const together = await StoredTree.start(rootLaunch({ maxTurns: 2 }));
  const said = ["a", "b", "c"].map((key) => admission("run", 1, key, key));
  const apart: Admission[] = [];
  for (const message of said) apart.push(await one.say("admit", message));
  const all = said.map((message) => ({ name: "admit", message: { at: 1_001, ...message } }) as const);
  const { answer, state } = await decideAll(together.state, PORTS, all);
  const verdicts = (answers: unknown[]): unknown[] =>
    (answers as Admission[]).map(({ verdict, reserved, refused }) => [verdict, reserved, refused?.code]);
  expect(verdicts(answer)).toEqual(verdicts(apart));
  expect(Object.keys(state.open)).toEqual(Object.keys(one.state.open));
});

test("R18: what is granted counts for who asks next, also in the same session", async () => {
  const tree = await StoredTree.start(rootLaunch({ maxTurns: 0 }));
  const grant = { at: 1_001, execId: "run", lane: 1, key: "raise#1", more: { turns: 1 } };
  const { answer } = await decideAll(tree.state, PORTS, [
    { name: "raise", message: grant },
    { name: "admit", message: { at: 1_002, ...admission("run", 1, "llm#1", "a") } },
    { name: "admit", message: { at: 1_003, ...admission("run", 1, "llm#2", "b") } },
  ]);
  const codes = (answer as (Admission | null)[]).map((one) => one?.refused?.code);
  expect(codes).toEqual([undefined, undefined, "BUDGET_EXHAUSTED"]);
});

type Handlers = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

test("R24: a state of another format is refused by every handler with its number, and nothing is written", async () => {
  const { state } = await StoredTree.start(rootLaunch());
  const touched: string[] = [];
  const context = new Proxy(
    { key: "run", get: async () => ({ ...state, format: 2 }) },
    { get: (target, name) => Reflect.get(target, name) ?? (() => void touched.push(String(name))) },
  );
  const object = Reflect.get(rootObject(PORTS), "object") as Handlers;
  const message = { launch: rootLaunch(), at: 1, nonce: "n", said: [] };
  for (const [name, handler] of Object.entries(object)) {
    const refused = await handler(context, message).catch((error: unknown) => error);
    expect([name, refused]).toEqual([
      name,
      expect.objectContaining({
        code: "INVALID_VALUE",
        message:
          "the format of run run is 2; expected format 1; a worker with another version of @ravi/runtime-restate wrote it, so run workers of that version",
      }),
    ]);
  }
  expect(Object.keys(object)).toEqual(
    expect.arrayContaining(["start", "forget", "standings", "admit", "several"]),
  );
  expect(touched).toEqual([]);
});

test("R24: a large state is kept packed, a small one as it is, and both are read back", async () => {
  const { state } = await StoredTree.start(rootLaunch());
  const small = STATE_SERDE.serialize(state);
  expect(new TextDecoder().decode(small)).toBe(JSON.stringify(state));
  expect(STATE_SERDE.deserialize(small)).toEqual(state);
  const large = { ...state, delivered: Array.from({ length: 2_000 }, (_, n) => `delivery number ${n}`) };
  const packed = STATE_SERDE.serialize(large);
  expect(packed.length).toBeLessThan(JSON.stringify(large).length / 3);
  expect(STATE_SERDE.deserialize(packed)).toEqual(large);
  expect(STATE_SERDE.deserialize(new TextEncoder().encode(JSON.stringify(large)))).toEqual(large);
});

test("R23: calls of a batch ask in their order, however they are begun, and who need not ask holds nobody up", async () => {
  const turns = new AdmissionOrder();
  const [first, second, third] = [turns.next(), turns.next(), turns.next()];
  const asked: string[] = [];
  const ask = async (name: string, turn: typeof first): Promise<void> => {
    await turn.reached();
    asked.push(name);
    turn.pass();
  };
  const begun = [ask("third", third), ask("first", first)];
  await begun[1];
  expect(asked).toEqual(["first"]);
  second.pass();
  await begun[0];
  expect(asked).toEqual(["first", "third"]);
});

test.each(["ledger", "headcount"] as const)(
  "R18: a factory that gives no %s is refused, and not taken for no limit",
  async (name) => {
    for (const given of [undefined, Promise.resolve({})]) {
      const started = StoredTree.start(rootLaunch(), { ...PORTS, [name]: () => given });
      await expect(started).rejects.toMatchObject({ code: "INVALID_VALUE", field: name });
    }
  },
);

test("R14: a headcount is told who the root of its tree is", async () => {
  const named: string[] = [];
  class NamedHeadcount extends QueueHeadcount {
    nameRoot(id: AgentId): boolean {
      named.push(id);
      return true;
    }
  }
  await StoredTree.start(rootLaunch(), { ...PORTS, headcount: (root) => new NamedHeadcount(root) });
  expect(named).toEqual(["lead"]);
  const other = (root: Supervision): QueueHeadcount =>
    Object.assign(new QueueHeadcount(root), { nameRoot: () => false });
  await expect(async () => StoredTree.start(rootLaunch(), { ...PORTS, headcount: other })).rejects.toThrow(
    /a headcount whose root is lead/,
  );
});
