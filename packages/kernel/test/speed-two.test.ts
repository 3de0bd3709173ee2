import { describe, expect, test } from "vitest";
import {
  type AbortSignalLike,
  type Agent,
  AgentId,
  CancellationError,
  CancellationToken,
  executionBudget,
  type JsonValue,
  type Leaf,
  type ModelResponse,
  spawnBudget,
  SuspendedError,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import { bareContext, delegateTo, type ToolTurn, toolTurn, type TurnContext } from "@ravi/kernel/loop";

// What was made faster, looked at by somebody who did not make it: a turn of tools whose context is not asynchronous, budgets that
// only look like budgets, and tokens that are taken apart while they fire.

const call = (name: string, id: string): ToolCall => ({ id, name, arguments: "{}" });
const asking = (...toolCalls: ToolCall[]): ModelResponse => ({
  message: { role: "assistant", content: "", toolCalls },
  finishReason: "toolCalls",
});
const quick: Tool = { name: "quick", description: "", input: {}, execute: () => "soon" };
const free = { validator: () => [] };

/** No promise, and its `then` gives nothing back. */
function thenable<T>(promise: Promise<T>): unknown {
  const name = ["th", "en"].join("");
  const settle = (...handlers: Parameters<Promise<T>["then"]>): void => void promise.then(...handlers);
  return { [name]: settle };
}

function contextOf(batch: (leaves: readonly Leaf[]) => unknown): TurnContext {
  return { batch: batch as TurnContext["batch"] };
}

function summary({ messages, stop }: ToolTurn) {
  return { contents: messages.map(({ content }) => content), stop };
}

describe("a turn of tools, whatever its context does", () => {
  const stop = new CancellationError({ reason: "enough" });
  const stops: [string, () => unknown][] = [
    [
      "throws at once",
      () => {
        throw stop;
      },
    ],
    ["rejects", () => Promise.reject(stop)],
    ["rejects by a thenable", () => thenable(Promise.reject(stop))],
  ];

  test.each(stops)(
    "R9: a stop that the context %s is the turn's, in one batch and in several",
    async (_, batch) => {
      const calls = asking(call("quick", "1"), call("nobody", "2"), call("quick", "3"));
      const expected = {
        contents: [
          "error: not run: the run is ending",
          'error: unknown tool "nobody"; available tools: quick',
          "error: not run: the run is ending",
        ],
        stop,
      };
      expect(summary(await toolTurn(contextOf(batch), calls, [quick]))).toEqual(expected);
      expect(summary(await toolTurn(contextOf(batch), calls, [quick], { concurrency: 1 }))).toEqual(expected);
    },
  );

  test("R9: a suspension that the context throws at once suspends the turn, as a rejection", async () => {
    const suspended = new SuspendedError({ reason: "closed" });
    const ctx = contextOf(() => {
      throw suspended;
    });
    await expect(toolTurn(ctx, asking(call("quick", "1")), [quick])).rejects.toBe(suspended);
  });

  test("R23: outcomes that come by a thenable are waited for", async () => {
    const bare = bareContext(free);
    const ctx = contextOf((leaves) => thenable(bare.batch(leaves)));
    const turn = await toolTurn(ctx, asking(call("quick", "1")), [quick]);
    expect(summary(turn)).toEqual({ contents: ["soon"], stop: undefined });
  });

  test("R23: a schema may check by a thenable, and its refusal is told to the model", async () => {
    let made = 0;
    const validate = (): unknown => thenable(Promise.resolve({ issues: [{ message: "not this one" }] }));
    const strict = {
      ...quick,
      input: { "~standard": { version: 1, vendor: "own", validate } } as object as Tool["input"],
      execute: () => String(++made),
    };
    const { messages } = await toolTurn(bareContext(free), asking(call("quick", "1")), [strict]);
    expect(messages).toMatchObject([{ isError: true, content: expect.stringContaining("not this one") }]);
    expect(made).toBe(0);
  });

  test("R23: what throws while the turn is planned or told is a rejection, also behind a hand-off", async () => {
    const helper: Agent = {
      id: AgentId("helper"),
      run: async () => ({ status: "completed", output: "helped", stopReason: "done" }),
    };
    const before = ({ id }: ToolCall): undefined => {
      if (id === "2") throw new TypeError("no opinion");
    };
    const calls = asking({ id: "1", name: "helper", arguments: '{"task":"help"}' }, call("quick", "2"));
    const tools = [delegateTo(helper), quick];
    await expect(toolTurn(bareContext(free), calls, tools, { before })).rejects.toThrow("no opinion");
    const only = asking(call("quick", "2"));
    await expect(toolTurn(bareContext(free), only, tools, { before })).rejects.toThrow("no opinion");
  });
});

describe("a budget is one that was made and checked", () => {
  const kinds = [
    ["executionBudget", executionBudget, { maxTokens: 5 }, "maxTokens"],
    ["spawnBudget", spawnBudget, { maxAgents: 5 }, "maxAgents"],
  ] as const;
  type Make = (options: object) => object;

  test.each(kinds)(
    "R5: a copy of a %s that kept its class is checked, and made anew",
    (_, factory, given, field) => {
      const make = factory as Make;
      const budget = make(given);
      const copy = (changed: object): object =>
        Object.assign(Object.create(Object.getPrototypeOf(budget) as object) as object, budget, changed);
      const again = make(copy({}));
      expect(again).toEqual(budget);
      expect(Object.isFrozen(again)).toBe(true);
      expect(() => make(copy({ [field]: -1 }))).toThrow(field);
      expect(() => make(Object.freeze(copy({ [field]: "many" })))).toThrow(field);
    },
  );

  test.each(kinds)("R5: an empty look-alike of a %s has no limits but the defaults", (_, factory, given) => {
    const make = factory as Make;
    const empty = Object.create(Object.getPrototypeOf(make(given)) as object) as object;
    expect(make(Object.freeze(empty))).toEqual(make({}));
  });

  test.each(kinds)("R5: a %s that was cloned, spread or read back is the same value", (_, factory, given) => {
    const make = factory as Make;
    const budget = make(given);
    expect(make(structuredClone(budget))).toEqual(budget);
    expect(make({ ...budget })).toEqual(budget);
    expect(Object.keys(budget)).not.toContain("toJSON");
    expect(factory.fromJSON(JSON.parse(JSON.stringify(budget)))).toEqual(budget);
  });

  test("R5: an heir of a budget is checked by what it says itself and what it inherits", () => {
    const heir: object = Object.create(executionBudget({ maxTokens: 5 }), {
      maxTokens: { value: 7, enumerable: true },
    });
    expect(executionBudget(heir)).toMatchObject({ maxTokens: 7 });
    expect(executionBudget(heir)).not.toBe(heir);
  });
});

/** A signal of somebody's own: it keeps its listeners whatever they ask for, and fires when it is told to. */
class LooseSignal {
  aborted = false;
  reason: unknown;
  readonly listeners: (() => void)[] = [];
  removed = 0;

  throwIfAborted(): void {}

  addEventListener(_: "abort", listener: () => void): void {
    this.listeners.push(listener);
  }

  removeEventListener(): void {
    this.removed++;
  }

  get asSignal(): AbortSignalLike {
    return this as object as AbortSignalLike;
  }

  fire(): void {
    for (const listener of this.listeners) listener();
  }
}

describe("a token that is taken apart while it fires", () => {
  test("R9: an outer signal that fires late, or twice, is heard once", () => {
    const outer = new LooseSignal();
    const token = new CancellationToken(outer.asSignal);
    const heard: string[] = [];
    token.onCancel(({ reason }) => heard.push(reason));
    outer.reason = "first";
    outer.fire();
    outer.reason = "second";
    outer.fire();
    expect(heard).toEqual(["first"]);
    expect(token.reason).toBe("first");
    expect(outer.removed).toBe(1);
  });

  test("R9: a token that was disposed of has left its outer signal once, and calls nobody when that fires all the same", () => {
    const outer = new LooseSignal();
    const token = new CancellationToken(outer.asSignal);
    const heard: string[] = [];
    const off = token.onCancel(({ reason }) => heard.push(reason));
    token.dispose();
    token.dispose();
    off();
    outer.fire();
    expect(heard).toEqual([]);
    expect(outer).toMatchObject({ removed: 1 });
    expect(outer.listeners).toHaveLength(1);
  });

  test("R9: a listener that disposes of the token, of its parent or of a sibling changes nothing for the others", () => {
    const parent = new CancellationToken();
    const [first, second, third] = [parent.child(), parent.child(), parent.child()];
    const heard: string[] = [];
    first.onCancel(() => {
      heard.push("first");
      first.dispose();
      third.dispose();
      parent.dispose();
    });
    first.onCancel(() => heard.push("first, again"));
    second.onCancel(({ reason }) => heard.push(`second: ${reason}`));
    third.onCancel(() => heard.push("third"));
    parent.cancel("enough");
    expect(heard).toEqual(["first", "first, again", "second: enough"]);
    expect([first, second, third, parent].map(({ reason }) => reason)).toEqual(Array(4).fill("enough"));
  });

  test("R9: who stops listening may listen again, to a parent and to an outer signal", () => {
    const outer = new AbortController();
    const root = new CancellationToken(outer.signal);
    const child = root.child();
    const heard: string[] = [];
    for (const name of ["a", "b"]) child.onCancel(() => heard.push(name))();
    child.onCancel(() => heard.push("c"));
    outer.abort("over");
    expect(heard).toEqual(["c"]);
    expect([root.reason, child.reason]).toEqual(["over", "over"]);
  });

  test("R9: a child of a token that was disposed of is nobody's, whenever it was made", () => {
    const parent = new CancellationToken();
    const before = parent.child();
    const heard: string[] = [];
    before.onCancel(() => heard.push("before"));
    parent.dispose();
    const after = parent.child();
    after.onCancel(({ reason }) => heard.push(reason));
    parent.cancel("too late");
    expect(heard).toEqual([]);
    expect([before.isCancelled, after.isCancelled]).toEqual([false, false]);
    after.cancel("by itself");
    expect(heard).toEqual(["by itself"]);
  });

  test("R9: a grandchild that listens hears with the error of whoever was cancelled, and its signal aborts with it", () => {
    const root = new CancellationToken();
    const grandchild = root.child().child();
    const { signal } = grandchild;
    const reasons: unknown[] = [];
    grandchild.onCancel((error) => reasons.push(error));
    const error = new CancellationError({ reason: "enough" });
    root.cancel(error);
    expect(reasons).toEqual([error]);
    expect(signal.reason).toBe(error);
    expect(grandchild.isCancelled).toBe(true);
  });
});

test("T11: a fact may come by a thenable, and is checked all the same", async () => {
  const ctx = bareContext(free);
  const record = (value: JsonValue): unknown =>
    ctx.record("fact", () => thenable(Promise.resolve(value)) as Promise<JsonValue>);
  expect(await record({ n: 1 })).toEqual({ n: 1 });
  await expect(record(Number.NaN)).rejects.toMatchObject({ code: "INVALID_VALUE" });
});
