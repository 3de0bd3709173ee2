import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import {
  AgentId,
  type AgentRunContext,
  type ChatContext,
  classifyError,
  defineTool,
  type FunctionContext,
  type Ledger,
  type LLMClient,
  type Meter,
  type ModelEvent,
  type ModelResponse,
  type Pipeline,
  type Price,
  ProviderError,
  type RaviError,
  textOf,
} from "@ravi/kernel";
import { bareContext, planLoop, toolLoop } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, done, FakeLedger } from "../support/helpers.ts";
import { said as saying } from "../support/open-house.ts";

// A client that somebody wrote without a compiler gives what it likes. That is the provider's failure, told by its field; it is no crash
// of the agent that would read it, and what it took is paid.

const good = { role: "assistant", content: "fine" };
const usage = { inputTokens: 3, outputTokens: 2 };

function holed(): unknown[] {
  const list: unknown[] = [];
  list.length = 1;
  return list;
}

const ODD: readonly (readonly [what: string, given: unknown, problem: RegExp])[] = [
  ["nothing", undefined, /^m returned undefined instead of a response$/],
  ["an answer without a message", {}, /message is undefined; expected an object/],
  ["a message that is null", { message: null }, /message is null; expected an object/],
  ["a message that is a text", { message: "hi" }, /message is "hi"; expected an object/],
  ["another role", { message: { ...good, role: "model" } }, /message.role is "model"; expected "assistant"/],
  ["no content", { message: { role: "assistant" } }, /message.content is undefined; expected a string/],
  [
    "a content that is null",
    { message: { ...good, content: null } },
    /message.content is null; expected a string/,
  ],
  [
    "a content that is a number",
    { message: { ...good, content: 5 } },
    /message.content is 5; expected a string/,
  ],
  [
    "a part that is null",
    { message: { ...good, content: [null] } },
    /message.content is .*; expected a string/,
  ],
  ["a part without its text", { message: { ...good, content: [{ type: "text" }] } }, /message.content is/],
  [
    "calls that are null",
    { message: { ...good, toolCalls: null } },
    /message.toolCalls is null; expected an array/,
  ],
  [
    "calls that are no list",
    { message: { ...good, toolCalls: {} } },
    /message.toolCalls is .*; expected an array/,
  ],
  ["a call that is null", { message: { ...good, toolCalls: [null] } }, /message.toolCalls is/],
  [
    "a call that is missing",
    { message: { ...good, toolCalls: Array.from({ length: 1 }) } },
    /message.toolCalls is/,
  ],
  ["a list with a hole", { message: { ...good, toolCalls: holed() } }, /message.toolCalls is/],
  ["a call without a name", { message: { ...good, toolCalls: [{ id: "1" }] } }, /message.toolCalls is/],
];

function client(given: unknown): LLMClient {
  const generate = async (): Promise<ModelResponse> => given as ModelResponse;
  return { id: "m", info: { provider: "x", model: "m" }, generate };
}

function streaming(...events: readonly unknown[]): LLMClient {
  return {
    ...client(undefined),
    async *stream() {
      yield* events as readonly ModelEvent[];
    },
  };
}

const looping = (model: LLMClient) =>
  agent("lead", (ctx, inbox) => toolLoop(planLoop("lead", { name: "lead", model }), ctx, inbox));

const HOUSES: readonly (readonly [string, () => RuntimeOptions])[] = [
  ["bare", () => ({})],
  ["with a journal", () => ({ journal: new MemoryJournal() })],
];

describe.each(ODD)("%s", (_, given, problem) => {
  test.each(HOUSES)("T11: is the provider's error, %s", async (_house, options) => {
    const { status, error, agents } = await new Runtime(options()).run(looping(client(given)), "").result;
    expect({ status, code: error?.code }).toEqual({ status: "failed", code: "PROVIDER_ERROR" });
    expect(error).toMatchObject({ kind: "FORMAT_ERROR", provider: "x", model: "m" });
    expect(error?.message).toMatch(problem);
    expect(agents).toMatchObject([{ modelCalls: 1 }]);
  });

  test("T11: is the same in a context without a runtime", async () => {
    const ctx = bareContext({ agentId: AgentId("lead") });
    await expect(ctx.llm(client(given), { messages: [] })).rejects.toThrow(problem);
  });
});

test("T11: what is allowed stays so: no reason, parts of other kinds, arguments of any kind", async () => {
  const parts = [
    { type: "text", text: "a" },
    { type: "image", mediaType: "image/png", data: "" },
  ];
  const allowed = { message: { role: "assistant", content: parts } };
  expect(await new Runtime().run(looping(client(allowed)), "").result).toMatchObject({ output: "a" });
});

describe("what it took", () => {
  const spent = async (model: LLMClient, onEvent?: () => void): Promise<FakeLedger> => {
    const ledger = new FakeLedger({ maxTokens: 1e6 });
    const { error } = await new Runtime({ ledger: () => ledger }).run(looping(model), "", { onEvent }).result;
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", kind: "FORMAT_ERROR" });
    return ledger;
  };

  test("T11: is paid by its usage where it says so", async () => {
    const { used } = await spent(client({ message: null, usage }));
    expect(used).toMatchObject({ tokens: 5, turns: 1 });
  });

  test("T11: is all that was set aside where it does not", async () => {
    const { used } = await spent(client({ message: null }));
    expect(used.tokens).toBeGreaterThan(5);
    expect(used.turns).toBe(1);
  });

  test.each([
    ["null", null],
    ["a text", "hi"],
    ["an object without a type", {}],
  ])("T11: of a stream that gives %s is all that was set aside", async (_, event) => {
    const { used } = await spent(streaming({ type: "text", delta: "a" }, event), () => {});
    expect(used.tokens).toBeGreaterThan(5);
    expect(used.turns).toBe(1);
  });

  test.each<readonly [string, unknown]>([
    ["undefined", undefined],
    ["a promise of one", Promise.resolve([])],
  ])("T11: of a stream that is %s is all that was set aside", async (_, stream) => {
    const model = { ...client(undefined), stream: () => stream as AsyncIterable<ModelEvent> };
    expect((await spent(model, () => {})).used.tokens).toBeGreaterThan(5);
  });

  const begun = [{ type: "text", delta: "a" }] as const;
  test.each([
    ["without a status before anything came is its turn alone", undefined, [], false],
    ["without a status in the middle of an answer is all that was set aside", undefined, begun, true],
    ["with a status before anything came is its turn alone", 429, [], false],
    // As gateways report it, under the status 200 of the answer.
    ["with a status in the middle of an answer is all that was set aside", 429, begun, true],
  ])("R18: of a rate limit %s", async (_, status, events, isCharged) => {
    const model: LLMClient = {
      ...client(undefined),
      async *stream() {
        yield* events;
        throw new ProviderError({ kind: "RATE_LIMIT", message: "slow down", status });
      },
    };
    const ledger = new FakeLedger({ maxTokens: 1e6 });
    await new Runtime({ ledger: () => ledger }).run(looping(model), "", { onEvent: () => {} }).result;
    expect([ledger.used.tokens > 0, ledger.used.turns]).toEqual([isCharged, 1]);
  });

  test.each([
    [408, true],
    [504, true],
    [524, true],
    [503, false],
    [500, false],
    [429, false],
  ])(
    "R18: of status %i, nothing but what a gateway hides is charged: its model may work on",
    async (status, isCharged) => {
      const failing = async (): Promise<never> => {
        throw new ProviderError({ kind: classifyError({ status }).kind, message: "no", status });
      };
      const ledger = new FakeLedger({ maxTokens: 1e6 });
      await new Runtime({ ledger: () => ledger }).run(
        looping({ ...client(undefined), generate: failing }),
        "",
      ).result;
      expect([ledger.used.tokens > 0, ledger.used.turns]).toEqual([isCharged, 1]);
    },
  );

  test("R23: a model without the id that its calls are recorded under is named", async () => {
    const { id: _, ...nameless } = client({ message: good, usage, finishReason: "stop" });
    const runtime = new Runtime({ journal: new MemoryJournal() });
    const { status, error } = await runtime.run(looping(nameless as LLMClient), "").result;
    expect([status, error?.message]).toEqual(["failed", "model.id is undefined; expected a string"]);
  });

  test("T11: a list of events is a stream", async () => {
    const response = { message: good, usage, finishReason: "stop" };
    const events: unknown = [
      { type: "text", delta: "fine" },
      { type: "finish", response },
    ];
    const model = { ...client(undefined), stream: () => events as AsyncIterable<ModelEvent> };
    const run = new Runtime().run(looping(model), "", { onEvent: () => {} });
    expect(await run.result).toMatchObject({ output: "fine" });
  });

  test("T11: is waste where the agent goes on without it", async () => {
    let asks = 0;
    const model: LLMClient = {
      ...client(undefined),
      generate: async () =>
        (asks++ === 0
          ? { message: null, usage }
          : { message: good, usage, finishReason: "stop" }) as ModelResponse,
    };
    const lead = agent("lead", async (ctx) => {
      const first = await ctx.llm(model, { messages: [] }).catch((error: unknown) => String(error));
      await ctx.llm(model, { messages: [] });
      return done(String(first));
    });
    const meter: Meter = {
      estimate: () => ({ inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.5 } }),
      price: () => ({ usd: 0.25 }),
    };
    const ledger = (): Ledger => new FakeLedger({ maxTokens: 1e6 });
    const { cost, agents } = await new Runtime({ meter, ledger }).run(lead, "").result;
    expect(cost).toBe(0.5);
    expect(agents).toMatchObject([{ wasteUsd: 0.25, modelCalls: 2 }]);
  });

  test("T11: a price that nobody can say, of a bad answer, fails the call too", async () => {
    const meter: Meter = {
      estimate: () => ({ inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.5 } }),
      price: () => Promise.reject(new Error("no price")),
    };
    const ledger = new FakeLedger({ maxTokens: 1e6 });
    const options = { meter, ledger: () => ledger };
    const { status, error } = await new Runtime(options).run(looping(client({ message: good, usage })), "")
      .result;
    expect({ status, message: error?.message }).toMatchObject({
      status: "failed",
      message: expect.stringMatching(/no price/),
    });
    expect(ledger.used).toMatchObject({ tokens: 20, turns: 1 });
  });

  const broken = (name: string): unknown =>
    Object.defineProperty({ message: good, usage }, name, {
      get(): never {
        throw new Error("broken getter");
      },
    });

  test.each<readonly [string, unknown, unknown, RegExp]>([
    ["an answer whose message throws", broken("message"), { usd: 0.25 }, /broken getter/],
    ["an answer whose usage throws", broken("usage"), { usd: 0.25 }, /broken getter/],
    [
      "a price that is undefined",
      { message: good, usage },
      undefined,
      /the price of x:m is undefined; expected/,
    ],
    ["a price that is null", { message: good, usage }, null, /the price of x:m is null; expected/],
    ["a price that is a number", { message: good, usage }, 0.25, /the price of x:m is 0.25; expected/],
  ])(
    "R18: of %s is all that was set aside, and none of it is in doubt",
    async (_, answer, price, problem) => {
      const meter: Meter = {
        estimate: () => ({ inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.5 } }),
        price: () => price as Price,
      };
      const ledger = new FakeLedger({ maxTokens: 1e6 });
      const settled: unknown[] = [];
      const reserve = ledger.reserve.bind(ledger);
      vi.spyOn(ledger, "reserve").mockImplementation((estimate) => {
        const reservation = reserve(estimate);
        return { ...reservation, settle: (actual) => (settled.push(actual), reservation.settle(actual)) };
      });
      const lead = agent("lead", async (ctx) => {
        const said = await ctx.llm(client(answer), { messages: [] }).catch((error: unknown) => String(error));
        // It is settled before anybody goes on.
        return done(`${String(said)}, ${settled.length}`);
      });
      const options = { meter, ledger: () => ledger };
      const { output, cost, inDoubt } = await new Runtime(options).run(lead, "").result;
      expect(output).toMatch(problem);
      expect(output).toMatch(/, 1$/);
      expect({ cost, inDoubt, settled }).toEqual({ cost: 0.5, inDoubt: [], settled: [{ estimated: true }] });
    },
  );

  test("T11: of a stream that ends with no answer is the same", async () => {
    const { used } = await spent(streaming({ type: "finish", response: { message: null, usage } }), () => {});
    expect(used).toMatchObject({ tokens: 5, turns: 1 });
  });
});

describe("what layers leave as a result", () => {
  const asked: ModelResponse = {
    message: { role: "assistant", content: "", toolCalls: [{ id: "1", name: "t", arguments: "{}" }] },
    finishReason: "toolCalls",
  };
  const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "made" });

  /** Asks for the tool once, and then says what came of it. */
  const reporting: LLMClient = {
    ...client(undefined),
    generate: async ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === "tool" ? saying(textOf(last)) : asked;
    },
  };

  function layer(
    level: "agent" | "chat" | "function",
    when: "admit" | "run",
    result: unknown,
  ): RuntimeOptions {
    const set = (context: object): void => void Object.assign(context, { result });
    const pipeline: Pipeline<AgentRunContext & ChatContext & FunctionContext> = {
      isNoop: false,
      admit: (context) => (when === "admit" ? set(context) : undefined),
      run: async (context, core) => (when === "run" ? set(context) : core()),
    };
    return { pipelines: { [level]: pipeline } };
  }

  const lead = () =>
    agent("lead", (ctx, inbox) => {
      const plan = planLoop("lead", { name: "lead", model: reporting, tools: [tool] });
      return toolLoop(plan, ctx, inbox);
    });
  const ran = async (options: RuntimeOptions) => {
    const journal = new MemoryJournal();
    const outcomes = [];
    for (const more of [{}, { journal }]) {
      const { status, output, error } = await new Runtime({ ...options, ...more })
        .run(lead(), "")
        .result.catch((cause: unknown) => ({ status: "rejected", output: "", error: cause as RaviError }));
      outcomes.push({ status, output, code: error?.code, message: error?.message });
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
    return outcomes[0];
  };

  test.each(["admit", "run"] as const)(
    "T11: around a model call, in its %s, is no answer: their error",
    async (when) => {
      expect(await ran(layer("chat", when, {}))).toMatchObject({
        status: "failed",
        code: "MIDDLEWARE_ERROR",
        message:
          "middleware chat: a layer set a response whose message is undefined; expected an object with role and content",
      });
    },
  );

  test.each(["admit", "run"] as const)(
    "T11: around a tool, in its %s, is no result: told to the model",
    async (when) => {
      expect(await ran(layer("function", when, {}))).toMatchObject({
        status: "completed",
        output: "error: a layer around t set a result without valid content",
      });
    },
  );

  test.each(["admit", "run"] as const)(
    "T11: around an agent, in its %s, is no result: named by its field",
    async (when) => {
      expect(await ran(layer("agent", when, {}))).toMatchObject({
        code: "INVALID_VALUE",
        message: 'lead: result.status is undefined; expected "completed", "partial" or "paused"',
      });
    },
  );

  test.each([undefined, null])("T11: %s is none", async (nothing) => {
    const problem = "a layer neither called next() nor set a result";
    expect(await ran(layer("chat", "run", nothing))).toMatchObject({
      message: `middleware chat: ${problem}`,
    });
    expect(await ran(layer("agent", "run", nothing))).toMatchObject({
      message: `middleware agent: ${problem}`,
    });
    expect(await ran(layer("function", "run", nothing))).toMatchObject({
      output: "error: a layer around t neither called next() nor set a result",
    });
    for (const level of ["agent", "chat", "function"] as const)
      expect(await ran(layer(level, "admit", nothing))).toMatchObject({ output: "made" });
  });
});
