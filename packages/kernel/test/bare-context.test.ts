import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentEvent,
  AgentId,
  type AgentResult,
  CancellationError,
  defineTool,
  executionBudget,
  type JsonValue,
  type LLMClient,
  type ModelEvent,
  type ModelResponse,
  type RunEvent,
  type RunHandle,
  Supervision,
  textOf,
} from "@ravi/kernel";
import { bareContext, type BareContextOptions, planLoop, toolLoop } from "@ravi/kernel/loop";
import * as z from "zod";

// What holds in a Runtime holds here too.

const done = (output: JsonValue): AgentResult => ({
  status: "completed",
  output: String(output),
  stopReason: "done",
});
const waiter: Agent = {
  id: AgentId("waiter"),
  run: async (ctx) => done(await ctx.waitFor("answer")),
};

describe("a bare context keeps what a runtime keeps", () => {
  test("J5: what the caller says of a run is copied: its own stays as it is, and the run's does not change with it", () => {
    const metadata = { tags: ["a"] };
    const { scope } = bareContext({ metadata });
    metadata.tags.push("b");
    expect(metadata.tags).toEqual(["a", "b"]);
    expect(scope.metadata).toEqual({ tags: ["a"] });
    expect(Object.isFrozen(scope.metadata["tags"])).toBe(true);
  });

  test("J5: what cannot be copied is handed on, and nothing of the caller's is frozen", () => {
    const user = { name: "Ada", bytes: new Uint8Array([1]), id: 7n };
    const { scope } = bareContext({ metadata: { user } as never });
    expect(scope.metadata["user"]).toBe(user);
    expect(Object.isFrozen(user)).toBe(false);
  });

  test.each<[string, NonNullable<Agent["defaults"]>["executionBudget"]]>([
    ["turns", { maxTurns: 3 }],
    ["dollars", executionBudget({ maxCostUsd: 0 })],
    ["time", { deadlineS: 60 }],
    ["a ledger", { reserve() {} } as never],
  ])("R16: a budget that nothing enforces here is refused, of whomever it is: %s", async (_, budget) => {
    const limited: Agent = { ...waiter, defaults: { executionBudget: budget } };
    const refused = { code: "INVALID_VALUE", field: "agent waiter: executionBudget" };
    const message = /expected none, because nothing enforces it without a runtime; use a Runtime/;
    expect(() => bareContext({ agent: limited })).toThrow(expect.objectContaining(refused));
    expect(() => bareContext({ agent: limited })).toThrow(message);
    const ctx = bareContext();
    expect(await ctx.hire({ agent: limited, input: "" })).toMatchObject({ status: "denied", error: refused });
    await expect(ctx.spawn(limited, { input: "" })).rejects.toMatchObject(refused);
  });

  test("R16: also that of a hire, and that of a supervision that is given", async () => {
    const hired = await bareContext().hire({
      agent: waiter,
      input: "",
      executionBudget: { maxTokens: 5 },
    });
    const field = "hire of waiter: executionBudget";
    expect(hired).toMatchObject({ status: "denied", error: { code: "INVALID_VALUE", field } });
    const supervision = Supervision.root(waiter.id, { executionBudget: { maxToolCalls: 1 } });
    expect(() => bareContext({ supervision })).toThrow(/^bareContext\.supervision: executionBudget is /);
  });

  test("R16: a budget without a limit is none", async () => {
    const free: Agent = { ...waiter, defaults: { executionBudget: { maxTurns: null } } };
    const ctx = bareContext({ agent: free, supervision: Supervision.root(free.id) });
    ctx.deliver("answer", "yes");
    const hired = await ctx.hire({ agent: free, input: "", executionBudget: {} });
    expect(hired).toMatchObject({ status: "completed", result: { output: "yes" } });
  });

  test("R23: spawn refuses a time that nobody keeps", async () => {
    const spawned = bareContext().spawn(waiter, { input: "", timeoutS: 5 });
    await expect(spawned).rejects.toMatchObject({ code: "INVALID_VALUE", field: "spawn.timeoutS" });
  });

  test.each([
    ["onFull", "wait"],
    ["onPreempt", "pause"],
    ["onTimeout", "kill"],
    ["timeoutS", -1],
  ])("R23: a hire whose %s is %j is refused; in a batch that is its outcome", async (field, value) => {
    const terms = { agent: waiter, input: "", [field]: value };
    const refusal = { code: "INVALID_VALUE", field: `hire.${field}` };
    await expect(bareContext().hire(terms)).rejects.toMatchObject(refusal);
    const outcomes = await bareContext().batch([{ kind: "hire", ...terms }]);
    expect(outcomes).toMatchObject([{ status: "failed", error: refusal }]);
  });

  test("R23: so is one with a field that nobody knows, whatever its name, or with a second argument", async () => {
    const free: Agent = {
      id: AgentId("free"),
      run: async () => ({ status: "completed", output: "", stopReason: "done" }),
    };
    const refusal = { code: "INVALID_VALUE", field: "hire.onfull" };
    const misspelt = { agent: free, input: "", onfull: "queue" };
    await expect(bareContext().hire(misspelt)).rejects.toMatchObject(refusal);
    await expect(bareContext().spawn(free, misspelt)).rejects.toMatchObject(refusal);
    const budget = { usd: 1 };
    const limited = { agent: free, input: "", budget };
    const meant = /^hire\.budget is .*known fields: .*executionBudget.*; did you mean executionBudget\?$/;
    await expect(bareContext().hire(limited)).rejects.toThrow(meant);
    await expect(bareContext().spawn(free, { ...limited })).rejects.toThrow(meant);
    const labelled = { agent: free, input: "", label: "first" };
    await expect(bareContext().hire(labelled)).rejects.toMatchObject({ field: "hire.label" });
    const ctx = bareContext();
    const two = [{ agent: free, input: "" }, { executionBudget: { maxTurns: 1 } }];
    const second = { field: "the second argument of ctx.hire" };
    await expect(Reflect.apply(ctx.hire.bind(ctx), undefined, two)).rejects.toMatchObject(second);
    class Labelled {
      readonly agent = free;
      readonly input = "";
      readonly label = "an instance may have fields of its own";
    }
    expect(await bareContext().hire(new Labelled())).toMatchObject({ status: "completed" });
  });

  test("R24: an answer that comes as its waiter is stopped is for whoever waits next", async () => {
    const ctx = bareContext();
    const handle: RunHandle = await ctx.spawn(waiter, { input: "" });
    handle.cancel("no longer needed");
    ctx.deliver("answer", 42);
    expect((await ctx.join(handle)).status).toBe("cancelled");
    const next = await ctx.spawn(waiter, { input: "" });
    expect(await ctx.join(next)).toMatchObject({ result: { output: "42" } });
  });

  test("R24: what a journal could not keep is not delivered", () => {
    const ctx = bareContext();
    for (const odd of [Number.NaN, new Date(0), undefined])
      expect(() => ctx.deliver("answer", odd as never)).toThrow("deliver.value");
  });

  test("R24: one that is stopped already takes no answer", async () => {
    const ctx = bareContext();
    const stopped: Agent = {
      id: AgentId("stopped"),
      async run(inner) {
        inner.meta.cancellation.cancel("no longer needed");
        return done(await inner.waitFor("answer"));
      },
    };
    ctx.deliver("answer", 42);
    expect((await ctx.hire({ agent: stopped, input: "" })).status).toBe("cancelled");
    expect(await ctx.waitFor("answer")).toBe(42);
  });
});

describe("what a tool reports in a bare context", () => {
  const { promise: later, resolve: goOn } = Promise.withResolvers<void>();
  const copier = (timeoutS?: number) =>
    defineTool({
      name: "copier",
      description: "",
      input: z.object({}),
      timeoutS,
      execute: async (_, { progress }) => {
        progress?.("rows", { done: 1 });
        await later;
        progress?.("rows", { done: 2 });
        return "copied";
      },
    });
  const call = { id: "c1", name: "copier", arguments: "{}" };
  const report = (rows: number) => ({ type: "progress", name: "rows", data: { done: rows }, callId: "c1" });

  test("J3: is an event with the id of its call; of one that took too long nothing more is heard", async () => {
    const due: (() => void)[] = [];
    const clock = {
      now: () => 0,
      setTimer: (callback: () => void) => (due.push(callback), { cancel: () => {} }),
    };
    const seen: RunEvent[] = [];
    const ctx = bareContext({ clock, agentId: AgentId("a"), onEvent: (event) => seen.push(event) });
    const slow = ctx.tool(call, copier(5));
    while (due.length === 0) await Promise.resolve();
    for (const fire of due) fire();
    expect(await slow).toMatchObject({ isError: true, content: expect.stringContaining("took longer") });
    goOn();
    expect(await ctx.tool(call, copier())).toMatchObject({ value: "copied" });
    expect(seen.map(({ event }) => event)).toEqual([report(1), report(1), report(2)]);
    expect(seen).toMatchObject([1, 2, 3].map((seq) => ({ seq, agentId: "a" })));
  });
});

test("a tool that took too long pays for no more calls, and the one under way is aborted", async () => {
  const due: (() => void)[] = [];
  const clock = {
    now: () => 0,
    setTimer: (callback: () => void) => (due.push(callback), { cancel: () => {} }),
  };
  const asked: (boolean | undefined)[] = [];
  const { promise: abandoned, resolve: end } = Promise.withResolvers<unknown[]>();
  const model: LLMClient = {
    id: "m",
    info: { provider: "test", model: "m" },
    generate: (_, { signal } = {}) => {
      asked.push(signal?.aborted);
      return new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(new CancellationError({ reason: "aborted" }))),
      );
    },
  };
  const asker = defineTool({
    name: "asker",
    description: "",
    input: z.object({}),
    timeoutS: 5,
    async execute(_, { llm }) {
      const request = { messages: [{ role: "user", content: "go" }] } as const;
      const first = await llm(model, request).catch((error: unknown) => error);
      const second = await llm(model, request).catch((error: unknown) => error);
      end([first, second]);
    },
  });
  const slow = bareContext({ clock }).tool({ id: "c", name: "asker", arguments: "{}" }, asker);
  while (asked.length === 0) await Promise.resolve();
  for (const fire of due) fire();
  expect(await slow).toMatchObject({ isError: true, content: expect.stringContaining("took longer") });
  expect(await abandoned).toMatchObject([{ code: "CANCELLED" }, { code: "CANCELLED" }]);
  expect(asked).toEqual([false]);
});

describe("R10: an answer that was not streamed is told all at once", () => {
  const REQUEST = { messages: [{ role: "user", content: "go" }] } as const;
  const response: ModelResponse = {
    message: {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "all of it" },
      ],
    },
    finishReason: "stop",
  };
  const plain: LLMClient = {
    id: "plain",
    info: { provider: "plain", model: "plain" },
    generate: async () => response,
  };
  const streaming = (...events: readonly ModelEvent[]): LLMClient => ({
    ...plain,
    async *stream() {
      yield* events;
      yield { type: "finish", response };
    },
  });
  const thought = { type: "reasoning", delta: "hm" } as const;
  const text = { type: "text", delta: "all of it" } as const;

  test.each<[string, LLMClient, readonly AgentEvent[]]>([
    ["of a model that cannot stream", plain, [thought, text]],
    ["of one that streams nothing but its end", streaming(), [thought, text]],
    ["of one that streams its thoughts only", streaming(thought), [thought, text]],
    [
      "of one that streams its calls only",
      streaming({ type: "toolCall", index: 0, id: "c1", name: "look", delta: "{}" }),
      [{ type: "toolArguments", index: 0, name: "look", delta: "{}" }, thought, text],
    ],
    ["and one that was, not again", streaming(text), [text]],
  ])("%s", async (_, model, told) => {
    const seen: AgentEvent[] = [];
    const ctx = bareContext({ onEvent: ({ event }) => seen.push(event) });
    await ctx.llm(model, REQUEST);
    expect(seen).toEqual(told);
  });

  test("to somebody who comes to watch while it is made", async () => {
    const seen: AgentEvent[] = [];
    let isWatched = false;
    const ctx = bareContext({
      get onEvent() {
        return isWatched ? ({ event }: RunEvent) => void seen.push(event) : undefined;
      },
    });
    const asked = ctx.llm(plain, REQUEST);
    isWatched = true;
    await asked;
    expect(seen).toEqual([thought, text]);
  });

  test.each([
    ["plain", plain],
    ["streaming", streaming(text)],
  ])("but not that of a quiet call to a %s model, alone or in a batch", async (_, model) => {
    const seen: AgentEvent[] = [];
    const ctx = bareContext({ onEvent: ({ event }) => seen.push(event) });
    expect(textOf((await ctx.llm(model, REQUEST, { quiet: true })).message)).toBe("all of it");
    const leaf = { kind: "llm", model, request: REQUEST, quiet: true } as const;
    expect(await ctx.batch([leaf])).toMatchObject([{ status: "completed" }]);
    expect(seen).toEqual([]);
    await ctx.batch([{ ...leaf, quiet: false }]);
    expect(seen).toContainEqual(text);
  });

  test.each([
    ["plain", plain],
    ["streaming", streaming(text)],
  ])("but not what a tool asks a %s model, as in a Runtime", async (_, model) => {
    const seen: AgentEvent[] = [];
    const ctx = bareContext({ onEvent: ({ event }) => seen.push(event) });
    const asking = defineTool({
      name: "asking",
      description: "",
      input: z.object({}),
      execute: async (_input, context) => textOf((await context.llm(model, REQUEST)).message),
    });
    const result = await ctx.tool({ id: "c1", name: "asking", arguments: "{}" }, asking);
    expect(result).toMatchObject({ content: "all of it", isError: false });
    expect(seen).toEqual([]);
  });
});

describe("T8: what observers do wrong changes no run", () => {
  const plain: LLMClient = {
    id: "plain",
    info: { provider: "test", model: "plain" },
    generate: async () => ({ message: { role: "assistant", content: "hi" }, finishReason: "stop" }),
  };
  const plan = planLoop("test", { name: "a", model: plain });
  const broken = async (): Promise<never> => {
    throw new Error("an observer is broken");
  };
  const throwing = (): never => {
    throw new Error("an observer is broken");
  };

  test.each<[string, BareContextOptions]>([
    ["a listener that throws", { onEvent: throwing }],
    ["a listener that rejects", { onEvent: (): unknown => broken() }],
    ["hooks that throw", { hooks: { has: () => true, dispatch: throwing } }],
    ["hooks that cannot even say what they listen to", { hooks: { has: throwing, dispatch: throwing } }],
    ["hooks that reject", { hooks: { has: () => true, dispatch: broken } }],
    [
      "an agent's own hooks that throw",
      { agent: { ...waiter, hooks: { has: () => true, dispatch: throwing } } },
    ],
  ])("%s", async (_what, options) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      expect(await toolLoop(plan, bareContext(options), "go")).toEqual(done("hi"));
      // Node reports what nobody has handled before it calls the next timer.
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });
});

test("R23: who was spawned does not outlive its parent, as in a Runtime", async () => {
  const ctx = bareContext();
  let reason: unknown;
  const idle: Agent = {
    id: AgentId("idle"),
    run: async (inner, inbox) => {
      inner.meta.cancellation.onCancel((error) => (reason = error.reason));
      return done((await inbox.receive()).id);
    },
  };
  const parent: Agent = {
    id: AgentId("parent"),
    run: async (inner) => done((await inner.spawn(idle, { input: "" })).status),
  };
  expect(await ctx.hire({ agent: parent, input: "" })).toMatchObject({ result: { output: "running" } });
  expect(reason).toBe("its parent parent/1 has ended");
});

test("R9: a child that fails in some other way when it is cancelled was cancelled, as in a Runtime", async () => {
  const ctx = bareContext();
  const rude: Agent = {
    id: AgentId("rude"),
    run: async () => {
      ctx.meta.cancellation.cancel("enough");
      throw new Error("socket hang up");
    },
  };
  expect(await ctx.hire({ agent: rude, input: "" })).toMatchObject({
    status: "cancelled",
    error: { code: "CANCELLED", reason: "enough" },
  });
});

test("R9: of a child that has ended nothing stays at its parent's token, whatever it has left there", async () => {
  const ctx = bareContext();
  let calls = 0;
  const careless: Agent = {
    id: AgentId("careless"),
    run: async (inner) => {
      inner.meta.cancellation.onCancel(() => calls++);
      inner.signal.addEventListener("abort", () => calls++);
      return done("");
    },
  };
  await ctx.hire({ agent: careless, input: "" });
  ctx.meta.cancellation.cancel("stop");
  expect(calls).toBe(0);
});

test("R23: a child that cannot be told to stop does not keep its parent from ending", async () => {
  const stubborn: Agent = {
    id: AgentId("stubborn"),
    run: async (inner, inbox) => {
      inner.meta.cancellation.onCancel(() => {
        throw new Error("I am not listening");
      });
      return done((await inbox.receive()).id);
    },
  };
  const parent: Agent = {
    id: AgentId("parent"),
    run: async (inner) => done((await inner.spawn(stubborn, { input: "" })).status),
  };
  expect(await bareContext().hire({ agent: parent, input: "" })).toMatchObject({ status: "completed" });
});

test.each([Number.NaN, Infinity, -Infinity])(
  "R23: sleeping until %s is refused, as in a Runtime",
  async (time) => {
    await expect(bareContext().sleepUntil(time)).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: "sleepUntil",
    });
  },
);
