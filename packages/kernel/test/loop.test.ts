import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type AgentResult,
  BudgetExhaustedError,
  defineTool,
  type DelegateTool,
  HookEvent,
  type JsonValue,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  NO_HOOKS,
  type RunEvent,
  textOf,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import {
  argumentsText,
  bareContext,
  isStop,
  land,
  parseWith,
  readArguments,
  readStream,
  readTurn,
  toolSpec,
  toolTurn,
  toToolResult,
  messageOf,
} from "@ravi/kernel/loop";
import { jsonSchemaOf } from "../src/loop/tool-spec.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

const call = (name: string, args: unknown, id = "c1"): ToolCall => ({
  id,
  name,
  arguments: JSON.stringify(args),
});
const asking = (...toolCalls: ToolCall[]): ModelResponse => ({
  message: { role: "assistant", content: "", toolCalls },
  finishReason: "toolCalls",
});

/** The edge of these tests: a model that says what it is told to. */
function model(answer: (request: ModelRequest) => ModelResponse): LLMClient & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: "fake",
    info: { provider: "fake", model: "fake" },
    requests,
    generate: async (request) => {
      requests.push({ ...request, messages: [...request.messages] });
      return answer(request);
    },
  };
}
const saying = (text: string): ModelResponse => ({
  message: { role: "assistant", content: text },
  finishReason: "stop",
});

function agent<T = unknown>(name: string, run: Agent<T>["run"]): Agent<T> {
  return { id: AgentId(name), run };
}
const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });

describe("toolSpec", () => {
  test("gives what the schema accepts, once for each tool", () => {
    expect(toolSpec(add)).toEqual({
      name: "add",
      description: "Adds two numbers.",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
    });
    expect(toolSpec(add)).toBe(toolSpec(add));
  });

  test("a schema that has no JSON form is refused with the tool's name", () => {
    const tool = defineTool({
      name: "when",
      description: "",
      input: z.object({ at: z.date() }),
      execute: () => "",
    });
    expect(() => toolSpec(tool)).toThrow(
      /^tool when: input is an object; expected a schema that can be converted to JSON Schema/,
    );
    expect(() => toolSpec(tool)).toThrow(
      /Date cannot be represented.*such as z\.iso\.date\(\), and convert it/,
    );
  });
});

test("fields without a schema around them are refused with what to write", () => {
  const input = { city: z.string(), days: z.number() };
  const tool = defineTool({ name: "weather", description: "", input, execute: () => "" });
  expect(() => toolSpec(tool)).toThrow(
    "tool weather: input is an object; expected one schema; an object of schemas has to be wrapped, as in z.object({ … })",
  );
  // A JSON Schema that says nothing, and one that has such a keyword.
  for (const raw of [{}, { type: "object", "x-schema": z.string() }])
    expect(jsonSchemaOf(raw, "output")).toBe(raw);
});

test("a schema that does not say its JSON form, as those of zod/mini, is refused with what to use instead", () => {
  const input = { "~standard": { version: 1, vendor: "zod", validate: (value: unknown) => ({ value }) } };
  const tool = defineTool({ name: "when", description: "", input: input as never, execute: () => "" });
  expect(() => toolSpec(tool)).toThrow(/^tool when: input .* no ~standard\.jsonSchema; schemas of zod 4\.2/);
  expect(() => toolSpec(tool)).toThrow("for Valibot use toStandardJsonSchema");
});

describe("parseWith", () => {
  test("says where a value is wrong", async () => {
    expect(await parseWith(add.input, { a: 1, b: 2 })).toEqual({ ok: true, value: { a: 1, b: 2 } });
    expect(await parseWith(add.input, { a: "1" })).toEqual({
      ok: false,
      problem:
        "a: Invalid input: expected number, received string; b: Invalid input: expected number, received undefined",
    });
  });

  describe("an asynchronous check of zod, which zod itself runs once more than needed", () => {
    const runs: string[] = [];
    const known = z.object({
      name: z.string().refine(async (name) => {
        runs.push(name);
        if (name === "eve") throw new Error("the database is down");
        return name === "ann";
      }, "nobody of that name"),
    });

    test.each([
      ["that rejects", "eve", undefined],
      ["that passes", "ann", { ok: true, value: { name: "ann" } }],
      ["that finds a problem", "bob", { ok: false, problem: "name: nobody of that name" }],
    ])("%s leaves no promise behind that would end the process", async (_what, name, expected) => {
      const unhandled: unknown[] = [];
      const note = (error: unknown): void => void unhandled.push(error);
      process.on("unhandledRejection", note);
      try {
        const parsed = Promise.resolve(parseWith(known, { name }));
        if (expected === undefined) await expect(parsed).rejects.toThrow("the database is down");
        else expect(await parsed).toEqual(expected);
        // Node reports what nobody has handled before it calls the next timer.
        await new Promise((resolve) => setImmediate(resolve));
      } finally {
        process.off("unhandledRejection", note);
      }
      expect(unhandled).toEqual([]);
    });

    test("is made once for a value that passes, and a check that is not asynchronous takes no promise", async () => {
      runs.length = 0;
      await parseWith(known, { name: "ann" });
      expect(runs).toEqual(["ann"]);

      let calls = 0;
      const short = z.string().refine((text) => ++calls > 0 && text.length < 3, "too long");
      expect(parseWith(short, "ab")).toEqual({ ok: true, value: "ab" });
      expect(calls).toBe(1);
      expect(parseWith(short, "abc")).toEqual({ ok: false, problem: "too long" });
    });

    test("is made once too where an earlier value has not reached it, and a later one has", async () => {
      runs.length = 0;
      const perhaps = z.object({ known: known.optional() });
      expect(parseWith(perhaps, {})).toEqual({ ok: true, value: {} });
      // That it is asynchronous shows with this value, for which zod asks it once more than needed.
      expect(await parseWith(perhaps, { known: { name: "ann" } })).toMatchObject({ ok: true });
      runs.length = 0;
      expect(await parseWith(perhaps, { known: { name: "ann" } })).toMatchObject({ ok: true });
      expect(runs).toEqual(["ann"]);
    });
  });

  test("waits for a schema that is asynchronous", async () => {
    const known = z.string().refine(async (name) => name === "ada", "nobody of that name");
    expect(await parseWith(known, "bob")).toEqual({ ok: false, problem: "nobody of that name" });
  });

  test("checks a raw JSON Schema with the validator it is given, and refuses to guess without", async () => {
    const raw = { type: "object", required: ["q"] };
    const validator = (_: unknown, value: unknown) =>
      typeof value === "object" && value !== null && "q" in value ? [] : [{ message: "q is missing" }];
    expect(await parseWith(raw, { q: 1 }, validator)).toEqual({ ok: true, value: { q: 1 } });
    expect(await parseWith(raw, {}, validator)).toEqual({ ok: false, problem: "q is missing" });
    expect(() => parseWith(raw, {})).toThrow("pass a JsonSchemaValidator");
  });

  test.each<[string, () => unknown]>([
    ["true", () => true],
    ["undefined", () => undefined],
    ["a promise that rejects, which ends no process", () => Promise.reject(new Error("too late"))],
  ])("refuses a validator that gives no list of issues: %s", async (_, answer) => {
    expect(() => parseWith({ type: "object" }, {}, answer as never)).toThrow(
      /^validator\(schema, value\) is .*; expected a list of issues, at once/,
    );
    // Rejections that nobody handles are reported, and fail the test, when the event loop has turned.
    await new Promise((resolve) => setImmediate(resolve));
  });

  test("of a union, the model is told what is wrong with each choice", async () => {
    const schema = z.object({ at: z.union([z.iso.date(), z.object({ day: z.number() }), z.null()]) });
    expect(await parseWith(schema, { at: { day: "1" } })).toEqual({
      ok: false,
      problem:
        "at: Invalid input (Invalid input: expected string, received object, or day: Invalid input: expected number, received string, or Invalid input: expected null, received object)",
    });
    const long = z.union(Array.from({ length: 40 }, (_, n) => z.literal(`${n}`)));
    const parsed = await parseWith(long, 1);
    expect(!parsed.ok && parsed.problem.split(", or ")).toHaveLength(5);
  });

  test("lists at most ten problems", async () => {
    const many = await parseWith(
      z.array(z.number()),
      Array.from({ length: 25 }, () => "x"),
    );
    expect(many).toMatchObject({ ok: false, problem: expect.stringMatching(/; and 15 more$/) });
  });
});

describe("tool calls", () => {
  test("T11: arguments are read within limits, and empty ones, or ones that a client leaves out, are none", async () => {
    expect(await readArguments({ id: "c", name: "add", arguments: '{"a":1,"b":2}' }, add)).toEqual({
      ok: true,
      value: { a: 1, b: 2 },
    });
    const none = defineTool({ name: "now", description: "", input: z.object({}), execute: () => "" });
    const parsed = { id: "c", name: "add", arguments: { a: 1, b: 2 } };
    expect(await readArguments(parsed as never, add)).toEqual({ ok: true, value: { a: 1, b: 2 } });
    expect(await readArguments({ id: "c", name: "now", arguments: "" }, none)).toEqual({
      ok: true,
      value: {},
    });
    for (const omitted of [undefined, null, { toJSON: () => undefined }]) {
      const without = { id: "c", name: "now", arguments: omitted } as never;
      expect(await readArguments(without, none)).toEqual({ ok: true, value: {} });
      expect(argumentsText(without)).toBe("");
      expect(await readArguments(without, add)).toMatchObject({ ok: false });
    }
    for (const bad of ["{", "[".repeat(5_000), '{"a":1,"b":2,"__proto__":{}}', '"x"', "null"]) {
      expect(await readArguments({ id: "c", name: "add", arguments: bad }, add)).toMatchObject({ ok: false });
    }
  });

  test("what a tool returns becomes text for the model", () => {
    expect(toToolResult("plain")).toEqual({ content: "plain", isError: false, value: "plain" });
    expect(toToolResult({ n: 1 })).toEqual({ content: '{"n":1}', isError: false, value: { n: 1 } });
    expect(toToolResult(undefined)).toEqual({ content: "", isError: false });
    expect(toToolResult(null).content).toBe("null");
    expect(toToolResult(1n)).toMatchObject({ isError: true });
    expect(toToolResult(new Date(0)).content).toBe('"1970-01-01T00:00:00.000Z"');
    for (const [value, name] of [
      [() => "the source", "a Function"],
      [Date, "a Function"],
      [Symbol("x"), "a Symbol"],
      [{ toJSON: () => undefined }, "an Object"],
      [Buffer.from("<html>"), "a Uint8Array"],
      [new Float32Array([0.5]), "a Float32Array"],
    ] as const)
      expect(toToolResult<unknown>(value)).toEqual({
        content: `error: the tool returned ${name}, which JSON cannot represent; return plain data`,
        isError: true,
      });
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(toToolResult(loop)).toMatchObject({ isError: true });
  });

  test.each([
    [{ tags: new Set(["a"]) }, "a Set at tags"],
    [{ rows: [{ id: 1 }, { id: 2, prices: new Map([["eur", 5]]) }] }, "a Map at rows.1.prices"],
    [[[], new Map()], "a Map at 1"],
    [{ "the answer": Promise.resolve(1) }, "a Promise at the answer"],
    [{ failed: new Error("no such vendor") }, "an Error at failed"],
    [{ toJSON: () => ({ found: /x/ }) }, "a RegExp at found"],
    [{ status: 200, headers: new Headers({ etag: "1" }) }, "a Headers at headers"],
    [{ status: 200, body: new Response("text").body }, "a ReadableStream at body"],
    [{ query: new URLSearchParams("a=1") }, "a URLSearchParams at query"],
    [{ file: new Blob(["text"]) }, "a Blob at file"],
    [{ bytes: new ArrayBuffer(8) }, "an ArrayBuffer at bytes"],
  ])("%o would lose a part without a word, so the model is told", (value, part) => {
    expect(toToolResult<unknown>(value)).toEqual({
      content: `error: the tool returned ${part}, which JSON cannot represent; return plain data`,
      isError: true,
    });
  });

  test.each([
    { a: {}, b: [{}], c: Object.create(null), d: "{}" },
    { at: new Date(0), by: { toJSON: () => ({}) } },
    {
      point: new (class {
        x = 1;
      })(),
    },
    [runInNewContext("({ a: {} })")],
    { n: new Number(5), bytes: new Uint8Array(0), filters: Object.create({ all: true }), o: {} },
  ])("%o is said as JSON says it", (value) => {
    expect(toToolResult<unknown>(value)).toEqual({ content: JSON.stringify(value), isError: false, value });
  });

  test("an event with data that JSON cannot write is refused by its name", () => {
    const ctx = bareContext();
    const data: Record<string, JsonValue> = {};
    data["self"] = data;
    expect(() => ctx.emit({ type: "progress", name: "ring", data })).toThrow(
      expect.objectContaining({
        code: "INVALID_VALUE",
        message: expect.stringContaining("event ring: data is"),
      }),
    );
    ctx.emit({ type: "progress", name: "share", data: Number.NaN });
  });

  test("rules stop a run, everything else is the model's to deal with", () => {
    expect(isStop(new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "a" }))).toBe(true);
    expect(isStop(new Error("broken"))).toBe(false);
  });
});

describe("readStream", () => {
  async function* events(...list: ModelEvent[]): AsyncGenerator<ModelEvent> {
    yield* list;
  }

  test("hands on each delta and gives the response", async () => {
    const seen: string[] = [];
    const stream = events(
      { type: "text", delta: "a" },
      { type: "text", delta: "b" },
      { type: "finish", response: saying("ab") },
    );
    expect(await readStream(stream, (event) => seen.push(event.delta))).toEqual(saying("ab"));
    expect(seen).toEqual(["a", "b"]);
  });

  test("an end without finish is a failure", async () => {
    await expect(readStream(events({ type: "text", delta: "a" }), () => {})).rejects.toMatchObject({
      code: "PROVIDER_ERROR",
      retryable: true,
    });
  });
});

describe("toolTurn", () => {
  test("runs every call and answers each in the order asked", async () => {
    const turn = await toolTurn(
      bareContext(),
      asking(call("add", { a: 1, b: 2 }, "x"), call("add", { a: 5, b: 5 }, "y")),
      [add],
    );
    expect(turn).toEqual({
      stop: undefined,
      messages: [
        { role: "tool", toolCallId: "x", name: "add", content: "3" },
        { role: "tool", toolCallId: "y", name: "add", content: "10" },
      ],
    });
  });

  test("an unknown tool, bad arguments and a failing tool are answers that the model can act on", async () => {
    const broken = defineTool({
      name: "broken",
      description: "",
      input: z.object({}),
      execute: () => {
        throw new Error("no index");
      },
    });
    const { messages, stop } = await toolTurn(
      bareContext(),
      asking(call("ad", {}, "1"), call("add", { a: 1 }, "2"), call("broken", {}, "3"), {
        id: "4",
        name: "add",
        arguments: "{",
      }),
      [add, broken],
    );
    expect(stop).toBeUndefined();
    expect(messages.map(({ toolCallId, isError }) => [toolCallId, isError])).toEqual([
      ["1", true],
      ["2", true],
      ["3", true],
      ["4", true],
    ]);
    expect(messages.map((message) => message.content)).toEqual([
      'error: unknown tool "ad"; available tools: add, broken',
      "error: invalid arguments for add: b: Invalid input: expected number, received undefined",
      "error: no index",
      expect.stringMatching(/^error: arguments is "\{"; expected valid JSON/),
    ]);
  });

  test("an answer cut off by its length runs none of its calls", async () => {
    let ran = 0;
    const counted = defineTool({
      name: "pay",
      description: "",
      input: z.object({}),
      execute: () => String(++ran),
    });
    const { messages } = await toolTurn(
      bareContext(),
      { ...asking(call("pay", {}), call("pay", {}, "c2")), finishReason: "length" },
      [counted],
    );
    expect(ran).toBe(0);
    expect(messages.map((message) => message.isError)).toEqual([true, true]);
    expect(messages[0]?.content).toContain("cut off by its length limit");
  });

  test.each([
    ["none", ""],
    ["half of them", '{"folder":'],
  ])(
    "an answer that ended for no known reason, with %s of its arguments, runs none of its calls",
    async (_, text) => {
      const ran: unknown[] = [];
      const wipe = defineTool({
        name: "wipe",
        description: "",
        input: z.object({ folder: z.string().optional() }),
        execute: (given) => void ran.push(given),
      });
      const cut: ModelResponse = {
        ...asking(call("wipe", { folder: "tmp" }), { id: "c2", name: "wipe", arguments: text }),
        finishReason: "other",
      };
      const { messages } = await toolTurn(bareContext(), cut, [wipe]);
      expect(ran).toEqual([]);
      expect(messages.map((message) => message.isError)).toEqual([true, true]);
      expect(messages[0]?.content).toContain("ended in the middle of its calls");
      expect(readTurn(cut)).toEqual({ kind: "tools", isCutOff: true });
      const whole: ModelResponse = { ...asking(call("wipe", { folder: "tmp" })), finishReason: "other" };
      await toolTurn(bareContext(), whole, [wipe]);
      expect(ran).toEqual([{ folder: "tmp" }]);
      expect(readTurn(whole)).toEqual({ kind: "tools", isCutOff: false });
    },
  );

  test("a tool may be an object of a class, with what that needs beside", async () => {
    class Counting {
      readonly name = "count";
      readonly input = z.object({ by: z.number() });
      private counted = 0;
      get description(): string {
        return "counts";
      }
      execute({ by }: { by: number }): number {
        return (this.counted += by);
      }
    }
    const tool = defineTool(new Counting());
    const ctx = bareContext();
    const byTwo = call("count", { by: 2 });
    await ctx.tool(byTwo, tool);
    expect([tool.description, (await ctx.tool(byTwo, tool)).content]).toEqual(["counts", "4"]);
  });

  test("a tool with a misspelt name is told so, and not that it has none", () => {
    const misspelt = { nam: "t", description: "", input: {}, execute: () => 1 };
    expect(() => defineTool(misspelt as never)).toThrow(/^tool\.nam /);
  });

  test("a tool with a misspelt field is refused: its approval would never be asked for", () => {
    const execute = (): string => "";
    const definition = { name: "wipe", description: "", input: z.object({}), needApproval: true, execute };
    expect(() => defineTool(definition)).toThrow(/tool wipe\.needApproval/);
  });

  test("a rule that a tool met ends the run, and every call still has its answer", async () => {
    const spend = defineTool({
      name: "spend",
      description: "",
      input: z.object({}),
      execute: () => {
        throw new BudgetExhaustedError({ dimension: "cost", used: 5, limit: 5, scope: "lead" });
      },
    });
    const turn = await toolTurn(
      bareContext(),
      asking(call("spend", {}, "1"), call("add", { a: 1, b: 1 }, "2")),
      [spend, add],
      { concurrency: 1 },
    );
    expect(turn.stop).toMatchObject({ code: "BUDGET_EXHAUSTED" });
    expect(turn.messages.map((message) => message.toolCallId)).toEqual(["1", "2"]);
    expect(turn.messages[1]?.content).toBe("error: not run: the run is ending");
  });

  test("concurrency bounds how many run at once", async () => {
    let [running, most] = [0, 0];
    const slow = defineTool({
      name: "slow",
      description: "",
      input: z.object({}),
      execute: async () => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
      },
    });
    const calls = Array.from({ length: 7 }, (_, n) => call("slow", {}, `c${n}`));
    await toolTurn(bareContext(), asking(...calls), [slow], { concurrency: 3 });
    expect(most).toBe(3);
  });

  const delegate = (to: Agent, extra: object = {}): DelegateTool => ({
    kind: "delegate",
    name: "handoff",
    description: "",
    input: z.object({ task: z.string() }),
    hire: (args) => ({ kind: "hire", agent: to, input: (args as { task: string }).task, ...extra }),
  });

  test("a hand-off is a hire; the child's output is the answer", async () => {
    const echo = agent("echo", async (ctx, inbox) =>
      done(`${ctx.agentId} of ${ctx.supervision.parentId}: ${inbox.input}`),
    );
    const { messages } = await toolTurn(
      bareContext({ agentId: AgentId("lead") }),
      asking(call("handoff", { task: "hi" })),
      [delegate(echo)],
    );
    expect(messages[0]).toMatchObject({ content: "echo/1 of lead: hi" });
    expect(messages[0]).not.toHaveProperty("isError");
  });

  test("R16: a child that says nothing is an error for the model, by its name", async () => {
    const { messages, stop } = await toolTurn(bareContext(), asking(call("handoff", { task: "t" })), [
      delegate(agent("mute", async () => done(""))),
    ]);
    expect(messages[0]).toMatchObject({ content: "error: mute gave no answer", isError: true });
    expect(stop).toBeUndefined();
  });

  test("a child that was cut off never looks like success", async () => {
    const cut = agent("cut", async () => ({ status: "partial", output: "half", stopReason: "budget" }));
    const paused = agent("paused", async () => ({ status: "paused", output: "some", stopReason: "paused" }));
    const failed = agent("failed", async () => {
      throw new Error("crashed");
    });
    for (const [child, text] of [
      [cut, "error: only a partial result (budget): half"],
      [paused, "error: paused for more urgent work; the result so far: some"],
      [failed, "error: failed failed: crashed"],
    ] as const) {
      const { messages, stop } = await toolTurn(bareContext(), asking(call("handoff", { task: "t" })), [
        delegate(child),
      ]);
      expect(messages[0]).toMatchObject({ content: text, isError: true });
      expect(stop).toBeUndefined();
    }
  });
});

describe("land", () => {
  const request: ModelRequest = {
    messages: [
      { role: "user", content: "q" },
      { role: "assistant", content: "thinking aloud" },
    ],
    tools: [toolSpec(add)],
    toolChoice: "auto",
  };

  test("takes one last turn without tools and gives a partial result", async () => {
    const last = model(() => saying("best so far"));
    expect(await land(bareContext(), { model: last, request, stopReason: "budget" })).toEqual({
      status: "partial",
      output: "best so far",
      stopReason: "budget",
    });
    expect(last.requests[0]).not.toHaveProperty("tools");
    expect(last.requests[0]?.messages.at(-1)).toMatchObject({
      role: "user",
      content: expect.stringContaining("Your budget is used up"),
    });
    expect(request.messages).toHaveLength(2);
  });

  test("falls back to what was said when even that turn is refused, but lets a cancellation through", async () => {
    const refused = model(() => {
      throw new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "a" });
    });
    expect(await land(bareContext(), { model: refused, request, stopReason: "budget" })).toMatchObject({
      output: "thinking aloud",
    });
    expect(
      await land(bareContext(), { model: refused, request, stopReason: "budget", said: "" }),
    ).toMatchObject({ output: "" });
    const stopped = bareContext({ signal: AbortSignal.abort("enough") });
    await expect(land(stopped, { model: refused, request, stopReason: "steps" })).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });
});

describe("R12, R23: bareContext runs any agent without rules", () => {
  const loop = agent("worker", async (ctx, inbox) => {
    await ctx.remember({ role: "user", content: inbox.input });
    const adder = model((request) =>
      request.messages.some((message) => message.role === "tool")
        ? saying("3")
        : asking(call("add", { a: 1, b: 2 })),
    );
    for (;;) {
      const response = await ctx.llm(adder, {
        messages: await ctx.window({ system: "add" }),
        tools: [toolSpec(add)],
      });
      await ctx.remember(response.message);
      if (response.message.toolCalls === undefined) return done(textOf(response.message));
      for (const message of (await toolTurn(ctx, response, [add])).messages) await ctx.remember(message);
    }
  });

  test("R12: a whole loop, with a window that grows and starts with the system prompt", async () => {
    const ctx = bareContext();
    expect(await loop.run(ctx, ctx.inbox("1 + 2"))).toEqual(done("3"));
    expect(ctx.window().map((message) => message.role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
  });

  test("R23: children have their own window, place and execution id; a batch joins them in order", async () => {
    const ctx = bareContext({ agentId: AgentId("lead") });
    const who = agent("who", async (child, inbox) =>
      done(`${inbox.input} ${child.execId.slice(ctx.execId.length)} ${(await child.window()).length}`),
    );
    ctx.remember({ role: "user", content: "for the lead only" });
    const outcomes = await ctx.batch([
      { kind: "hire", agent: who, input: "a" },
      { kind: "hire", agent: who, input: "b" },
    ]);
    expect(outcomes.map((outcome) => "result" in outcome && outcome.result.output)).toEqual([
      "a /hire:who#1 0",
      "b /hire:who#2 0",
    ]);
  });

  test("R23: no two agents of a tree have the same id, and a hire that throws at once has failed", async () => {
    const ids: string[] = [];
    const leaf = agent("leaf", async (child) => {
      ids.push(child.agentId);
      return done("");
    });
    const lead = agent("lead", async (child) => {
      for (let n = 0; n < 2; n++) await child.hire({ agent: leaf, input: "" });
      return done("");
    });
    const ctx = bareContext();
    await ctx.hire({ agent: lead, input: "" });
    await ctx.hire({ agent: lead, input: "" });
    expect(ids).toEqual(["leaf/1.1", "leaf/1.2", "leaf/2.1", "leaf/2.2"]);
    const hasty = agent("hasty", () => {
      throw new Error("no time");
    });
    expect(await ctx.hire({ agent: hasty, input: "" })).toMatchObject({ status: "failed" });
  });

  test("R24: each value of a name is read once, and who gave up waiting takes none", async () => {
    const ctx = bareContext();
    ctx.deliver("a", 1);
    ctx.deliver("a", null);
    expect([await ctx.waitFor("a"), await ctx.waitFor("a")]).toEqual([1, null]);
    const impatient = agent("impatient", async (child) => {
      await child.waitFor("a");
      return done("");
    });
    const child = await ctx.spawn(impatient, { input: "" });
    await Promise.resolve();
    child.cancel("enough");
    await ctx.join(child);
    const second = ctx.waitFor("a");
    ctx.deliver("a", 2);
    expect(await second).toBe(2);
  });

  test("another system prompt takes the place of the first, and what was handed out stays as it was", () => {
    const ctx = bareContext();
    const first = ctx.window({ system: "one" });
    ctx.remember({ role: "user", content: "x" });
    const second = ctx.window({ system: "two" });
    ctx.remember({ role: "user", content: "y" });
    expect(first.map(({ content }) => content)).toEqual(["one", "x"]);
    expect(second.map(({ content }) => content)).toEqual(["two", "x", "y"]);
    expect(ctx.window()).toBe(second);
  });

  test("R23: a living child can be asked, joined and cancelled", async () => {
    const ctx = bareContext();
    const clerk = agent("clerk", async (_, inbox) => {
      for (let answered = 0; ; answered++) {
        const message = await inbox.receive();
        if (message.content === "bye") return done(`answered ${answered}`);
        await inbox.reply(message, `re: ${JSON.stringify(message.content)}`);
      }
    });
    const handle = await ctx.spawn(clerk, { input: "" });
    expect(await ctx.ask(handle, "one")).toBe('re: "one"');
    expect(handle.status).toBe("running");
    expect(await ctx.ask(handle, "two")).toBe('re: "two"');
    const left = await ctx.spawn(clerk, { input: "" });
    left.cancel("not needed");
    expect(await ctx.join(left)).toMatchObject({ status: "cancelled", error: { reason: "not needed" } });
    expect(left.status).toBe("cancelled");
    await expect(ctx.ask({ ...left, execId: ctx.execId }, "x")).rejects.toThrow("expected a child of");
  });

  test("R23: a question with a time limit that nobody could keep is refused before it is asked", async () => {
    const ctx = bareContext();
    const heard: unknown[] = [];
    const clerk = agent("clerk", async (_, inbox) => {
      heard.push((await inbox.receive()).content);
      return done("");
    });
    const handle = await ctx.spawn(clerk, { input: "" });
    await expect(ctx.ask(handle, "early", { timeoutS: -1 })).rejects.toMatchObject({ field: "ask.timeoutS" });
    await expect(ctx.ask(handle, "early", { timeoutS: 5 })).rejects.toThrow("clock.setTimer");
    await expect(ctx.ask(handle, "early", { timeoutMs: 5 } as never)).rejects.toThrow(
      "ask options.timeoutMs",
    );
    // The child ends without a reply to this one, and nobody else waits for any.
    await expect(ctx.ask(handle, "late")).rejects.toThrow("without a reply");
    expect(heard).toEqual(["late"]);
  });

  test("R23: an early signal is kept, a later one is waited for", async () => {
    const ctx = bareContext();
    ctx.deliver("early", 1);
    expect(await ctx.waitFor("early")).toBe(1);
    const waiting = ctx.waitFor("late");
    ctx.deliver("late", { yes: true });
    expect(await waiting).toEqual({ yes: true });
  });

  test("R9: cancelling the outer signal ends everything that waits", async () => {
    const outer = new AbortController();
    const ctx = bareContext({ signal: outer.signal });
    const idle = agent("idle", async (_, inbox) => done((await inbox.receive()).id));
    const waits = [ctx.waitFor("never"), ctx.hire({ agent: idle, input: "" }), ctx.inbox("").receive()];
    outer.abort("ctrl-c");
    const [waited, hired, received] = await Promise.allSettled(waits);
    expect(waited).toMatchObject({ status: "rejected", reason: { code: "CANCELLED", reason: "ctrl-c" } });
    expect(hired).toMatchObject({ status: "fulfilled", value: { status: "cancelled" } });
    expect(received).toMatchObject({ status: "rejected" });
    await expect(
      ctx.llm(
        model(() => saying("x")),
        { messages: [] },
      ),
    ).rejects.toMatchObject({ code: "CANCELLED" });
  });

  test("a hire with a time limit that nobody could keep is refused before the child has begun", async () => {
    let begun = 0;
    const child: Agent = {
      id: AgentId("child"),
      run: async () => {
        begun++;
        return { status: "completed", output: "", stopReason: "done" };
      },
    };
    await expect(bareContext().hire({ agent: child, input: "", timeoutS: 5 })).rejects.toThrow(
      "clock.setTimer",
    );
    expect(begun).toBe(0);
  });

  test("a time limit needs a clock with timers, and says so", async () => {
    const ctx = bareContext();
    await expect(ctx.sleepUntil(ctx.now() + 1000)).rejects.toThrow(
      "clock.setTimer is undefined; expected a clock with timers",
    );
    await ctx.sleepUntil(ctx.now() - 1);
  });

  test("a time limit cancels a child, or leaves it living, as the hire says", async () => {
    const due: (() => void)[] = [];
    const clock = {
      now: () => 0,
      setTimer: (callback: () => void) => (due.push(callback), { cancel: () => {} }),
    };
    const ctx = bareContext({ clock });
    const idle = agent("idle", async (_, inbox) => done((await inbox.receive()).id));
    const cancelled = ctx.hire({ agent: idle, input: "", timeoutS: 5 });
    const left = ctx.hire({ agent: idle, input: "", timeoutS: 5, onTimeout: "leave" });
    for (const fire of due) fire();
    expect(await cancelled).toMatchObject({ status: "cancelled", error: { code: "DEADLINE_EXCEEDED" } });
    const outcome = await left;
    if (outcome.status !== "timedOut") throw new Error(`not timedOut but ${outcome.status}`);
    expect(outcome.handle.status).toBe("running");
    outcome.handle.cancel("the test is over");
    expect(await ctx.join(outcome.handle)).toMatchObject({ status: "cancelled" });
    expect(
      await ctx.hire({ agent: idle, input: "", timeoutS: -1 }).catch((error: unknown) => error),
    ).toMatchObject({ field: "hire.timeoutS" });
  });

  test("a child that may be left living is cancelled if it is the run that is cancelled", async () => {
    const clock = { now: () => 0, setTimer: () => ({ cancel: () => {} }) };
    const ctx = bareContext({ clock });
    const idle = agent("idle", async (_, inbox) => done((await inbox.receive()).id));
    const hired = ctx.hire({ agent: idle, input: "", timeoutS: 5, onTimeout: "leave" });
    ctx.meta.cancellation.cancel("ctrl-c");
    expect(await hired).toMatchObject({ status: "cancelled", error: { reason: "ctrl-c" } });
  });

  test("an agent with middleware is refused, because nothing would run it", async () => {
    const pipeline = { isNoop: false, admit: () => {}, run: async () => {} };
    const guarded: Agent = { ...agent("guarded", async () => done("")), pipelines: { chat: pipeline } };
    expect(await bareContext().hire({ agent: guarded, input: "" })).toMatchObject({
      status: "denied",
      error: { code: "INVALID_VALUE", message: expect.stringContaining("use a Runtime") },
    });
    const noop: Agent = { ...guarded, pipelines: { chat: { ...pipeline, isNoop: true } } };
    expect(await bareContext().hire({ agent: noop, input: "" })).toMatchObject({ status: "completed" });
  });

  test("J3: events are numbered over the whole tree, and models stream where somebody looks", async () => {
    const seen: RunEvent[] = [];
    const streaming: LLMClient = {
      ...model(() => saying("unused")),
      async *stream() {
        yield { type: "reasoning", delta: "hm" };
        yield { type: "text", delta: "ok" };
        yield { type: "toolCall", index: 0, id: "c1", name: "add", delta: "{}" };
        yield { type: "finish", response: saying("ok") };
      },
    };
    const child = agent("child", async (ctx) => {
      await ctx.llm(streaming, { messages: [] });
      return done("");
    });
    const ctx = bareContext({ onEvent: (event) => seen.push(event), agentId: AgentId("lead") });
    ctx.emit({ type: "started", input: "" });
    await ctx.hire({ agent: child, input: "" });
    expect(seen.map(({ seq, agentId, event }) => [seq, agentId, event.type])).toEqual([
      [1, "lead", "started"],
      [2, "child/1", "reasoning"],
      [3, "child/1", "text"],
      [4, "child/1", "toolArguments"],
    ]);
  });

  test("a tool gets the scope, a key of its own, and a model that it may call", async () => {
    const keys: string[] = [];
    const asks: Tool = defineTool({
      name: "asks",
      description: "",
      input: z.object({}),
      execute: async (_, context) => {
        keys.push(context.idempotencyKey);
        return [
          context.scope.userId,
          (
            await context.llm(
              model(() => saying("deep")),
              { messages: [] },
            )
          ).message.content,
        ];
      },
    });
    const ctx = bareContext({ userId: "u1", metadata: { plan: "pro" } });
    expect(await ctx.tool(call("asks", {}), asks)).toMatchObject({
      content: '["u1","deep"]',
      isError: false,
    });
    await ctx.tool(call("asks", {}), asks);
    expect(new Set(keys).size).toBe(2);
    expect(Object.isFrozen(ctx.scope) && Object.isFrozen(ctx.scope.metadata)).toBe(true);
  });

  test("R24: a message that is refused comes again, three times at the most", async () => {
    const inbox = bareContext().inbox("");
    const sent = inbox.send("user", "hard");
    for (let delivery = 1; delivery <= 3; delivery++) {
      expect(await inbox.take()).toBe(sent);
      await inbox.nack(sent, "not now");
    }
    expect(await inbox.take()).toBeUndefined();
    await inbox.ack(sent);
  });

  test("nobody listens on a context that was given no hooks", () => {
    expect(NO_HOOKS.has(HookEvent.RUN_START)).toBe(false);
    expect(bareContext().hooks).toBe(NO_HOOKS);
  });
});

test("R19: what is thrown has a message, whatever it is", () => {
  const hostile = {
    toString() {
      throw new Error("no text");
    },
  };
  expect([new Error("x"), "text", 0, null, undefined, Symbol("s")].map(messageOf)).toEqual([
    "x",
    "text",
    "0",
    "null",
    "undefined",
    "Symbol(s)",
  ]);
  expect([Object.create(null), hostile].map(messageOf)).toEqual(["[object Object]", "[object Object]"]);
  const refuse = hostile.toString;
  const silent = new Proxy({}, { get: refuse, getPrototypeOf: refuse });
  const mute = Object.defineProperty(new Error("x"), "message", { get: refuse });
  expect([silent, mute].map(messageOf)).toEqual(["[object Object]", "[object Error]"]);
});
