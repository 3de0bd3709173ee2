import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentResult,
  CancellationError,
  MiddlewareTermination,
  type CallOptions,
  defineTool,
  HookEvent,
  type Hooks,
  type Leaf,
  type LLMClient,
  type ModelRequest,
  type ModelResponse,
  type RootHandle,
  type RunContext,
  type RunResult,
  textOf,
  type Tool,
  type ToolContext,
} from "@ravi/kernel";
import { messageOf, planLoop, toolLoop } from "@ravi/kernel/loop";
import { Runtime, type RunOptions, type RuntimeOptions } from "@ravi/runtime";
import * as z from "zod";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import { agent, ask, done } from "./support/helpers.ts";

// An execution that was given nothing takes a short way. Whatever a program does, it must come out as it does on the long one:
// otherwise what works without a journal fails with one, or the other way round.

interface Program {
  readonly agent: Agent;
  readonly options?: RunOptions;
  readonly during?: (handle: RootHandle, runtime: Runtime) => Promise<void>;
  /** What the agent saw. */
  readonly notes?: unknown[];
}

type Answer = unknown;
type Answering = (request: ModelRequest, options: CallOptions | undefined) => Answer;

const usage = { inputTokens: 3, outputTokens: 2 };
const LISTENING: Hooks = { has: (event) => event !== HookEvent.BUDGET_WARNING, dispatch() {}, drain() {} };

function say(content: string, more: Readonly<Record<string, unknown>> = {}): Answer {
  return { message: { role: "assistant", content }, finishReason: "stop", usage, ...more };
}

function asking(...args: readonly string[]): Answer {
  const toolCalls = args.map((each, n) => ({ id: `c${n}`, name: "t", arguments: each }));
  return { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls", usage };
}

/** Tells what the tool's message says. */
const echo = ({ messages }: ModelRequest): Answer => say(JSON.stringify(messages.at(-1)));

/** A model that was not compiled: it gives whatever it likes, one after the other. */
function model(...answers: readonly Answer[]): LLMClient {
  let n = 0;
  return {
    id: "m",
    info: { provider: "p", model: "m" },
    generate: async (request, options) => {
      const answer = answers[Math.min(n++, answers.length - 1)];
      const isAsked = typeof answer === "function";
      return (isAsked ? await (answer as Answering)(request, options) : answer) as ModelResponse;
    },
  };
}

function failing(why: string): LLMClient {
  return model(() => Promise.reject(new Error(why)));
}

/** One whose promise is none. */
function odd(generate: () => unknown): LLMClient {
  return { ...model(), generate: () => generate() as Promise<ModelResponse> };
}

/** What only looks like a promise. */
function thenable(value: unknown): unknown {
  const then = (ok: (value: unknown) => void): void => {
    ok(value);
  };
  // oxlint-disable-next-line unicorn/no-thenable -- that is what it is
  return { then };
}

async function rejectedWith(reason: unknown): Promise<never> {
  throw reason;
}

function tool(execute: (context: ToolContext) => unknown, more: Partial<Tool> = {}): Tool {
  const made = defineTool({
    name: "t",
    description: "a tool",
    input: z.object({}),
    idempotent: true,
    execute: (_input, context) => execute(context),
  });
  return { ...made, ...more };
}

/** The loop that the agents of the library run. */
function looping(asked: LLMClient, tools: readonly Tool[] = []): Program {
  const plan = planLoop("a", { name: "a", model: asked, tools, maxSteps: 6 });
  return { agent: agent("a", (ctx, inbox) => toolLoop(plan, ctx, inbox)) };
}

function written(run: (ctx: RunContext) => unknown, rest: Omit<Program, "agent"> = {}): Program {
  return { agent: agent("a", (ctx) => run(ctx) as Promise<AgentResult>), ...rest };
}

const toolLeaf = (made: Tool): Leaf => ({
  kind: "tool",
  call: { id: "1", name: "t", arguments: "{}" },
  tool: made,
});
const fates = (all: readonly PromiseSettledResult<unknown>[]): AgentResult =>
  done(
    all.map((one) => (one.status === "fulfilled" ? "done" : (one.reason as { code: string }).code)).join(),
  );
const hanging: Answering = (_, options) =>
  new Promise((_resolve, reject) =>
    options?.signal?.addEventListener("abort", () => reject(new Error("aborted"))),
  );
const cancelSoon = async (handle: RootHandle): Promise<void> => {
  await new Promise(setImmediate);
  handle.cancel("enough");
};
const refused = async (ctx: RunContext, leaf: unknown): Promise<AgentResult> =>
  done(await ctx.batch([leaf as Leaf]).then(JSON.stringify, messageOf));

const PROGRAMS: Readonly<Record<string, () => Program>> = {
  "a model that gives null": () => looping(model(null)),
  "a model that gives nothing": () => looping(model(undefined)),
  "a model that gives a text": () => looping(model("hello")),
  "an answer without a message": () => looping(model({ finishReason: "stop", usage })),
  "an answer without usage": () => looping(model(say("x", { usage: undefined }))),
  "usage that is null": () => looping(model(say("x", { usage: null }))),
  "usage that is no number": () =>
    looping(model(say("x", { usage: { inputTokens: Number.NaN, outputTokens: -4 } }))),
  "usage that is text": () => looping(model(say("x", { usage: { inputTokens: "7", outputTokens: "8" } }))),
  "a model that throws at once": () =>
    looping(
      odd(() => {
        throw new Error("at once");
      }),
    ),
  "a model that gives its answer without a promise": () => looping(odd(() => say("plain"))),
  "a model that gives a thenable": () => looping(odd(() => thenable(say("th")))),
  "a model that rejects": () => looping(failing("no")),
  "a tool that throws": () =>
    looping(model(asking("{}"), echo), [
      tool(() => {
        throw new Error("bad");
      }),
    ]),
  "a tool that throws no error": () => looping(model(asking("{}"), echo), [tool(() => rejectedWith("why"))]),
  "a tool that gives nothing": () => looping(model(asking("{}"), echo), [tool(() => undefined)]),
  "a tool that gives an object": () =>
    looping(model(asking("{}"), echo), [tool(() => ({ a: 1, b: undefined }))]),
  "a tool that gives what JSON cannot write": () => looping(model(asking("{}"), echo), [tool(() => 10n)]),
  "a tool that gives a result": () =>
    looping(model(asking("{}"), echo), [tool(() => ({ content: "shaped", isError: true }))]),
  "a tool that gives a thenable": () => looping(model(asking("{}"), echo), [tool(() => thenable("th"))]),
  "arguments that are no JSON": () => looping(model(asking("{"), echo), [tool(() => "x")]),
  "no arguments": () => looping(model(asking(""), echo), [tool(() => "x")]),
  "arguments that are no text": () =>
    looping(
      model(
        {
          message: {
            role: "assistant",
            content: "",
            toolCalls: [undefined, 7, "{}"].map((args, n) => ({ id: `c${n}`, name: "t", arguments: args })),
          },
          finishReason: "toolCalls",
          usage,
        },
        ({ messages }: ModelRequest) => say(messages.slice(-3).map(textOf).join("; ")),
      ),
      [tool(() => "x")],
    ),
  "arguments that do not fit": () => looping(model(asking('"s"'), echo), [tool(() => "x")]),
  "a tool that is not there": () => looping(model(asking("{}"), echo), [tool(() => "x", { name: "other" })]),
  "two calls with one id": () =>
    looping(
      model(
        {
          message: {
            role: "assistant",
            content: "",
            toolCalls: [1, 2].map(() => ({ id: "same", name: "t", arguments: "{}" })),
          },
          finishReason: "toolCalls",
          usage,
        },
        echo,
      ),
      [tool(() => "x")],
    ),
  "a schema that takes its time": () =>
    looping(model(asking("{}"), echo), [tool(() => "x", { input: z.object({}).refine(async () => true) })]),
  "a schema that takes its time and refuses": () =>
    looping(model(asking("{}"), echo), [
      tool(() => "x", { input: z.object({}).refine(async () => false, "no!") }),
    ]),
  "a schema that throws": () =>
    looping(model(asking("{}"), echo), [
      tool(() => "x", {
        input: z.object({}).transform(() => {
          throw new Error("a bug of the schema");
        }),
      }),
    ]),
  "a tool that asks a model": () =>
    looping(model(asking("{}"), echo), [
      tool(async ({ llm }) => (await llm(model(say("inner")), ask("?"))).message.content),
    ]),
  "a tool that asks a model which fails": () =>
    looping(model(asking("{}"), echo), [
      tool(async ({ llm }) => (await llm(failing("in"), ask("?"))).message),
    ]),
  "a tool that asks a model which gives null": () =>
    looping(model(asking("{}"), echo), [tool(async ({ llm }) => (await llm(model(null), ask("?"))).message)]),
  "two model calls at once": () =>
    written(async (ctx) => {
      const asked = model(say("x"));
      return fates(await Promise.allSettled([ctx.llm(asked, ask("1")), ctx.llm(asked, ask("2"))]));
    }),
  "two batches at once, of tools that are done at once": () =>
    written(async (ctx) => {
      const leaf = toolLeaf(tool(() => "x"));
      return fates(await Promise.allSettled([ctx.batch([leaf]), ctx.batch([leaf])]));
    }),
  "two batches at once, of tools that take their time": () =>
    written(async (ctx) => {
      const leaf = toolLeaf(tool(async () => "x"));
      return fates(await Promise.allSettled([ctx.batch([leaf]), ctx.batch([leaf])]));
    }),
  "a batch of nothing": () => written(async (ctx) => done(JSON.stringify(await ctx.batch([])))),
  "a batch of everything": () =>
    written(async (ctx) => {
      const child = agent("kid", async () => done("kid"));
      const outcomes = await ctx.batch([
        toolLeaf(tool(() => "x")),
        { kind: "hire", agent: child, input: "go" },
        { kind: "llm", model: model(say("l")), request: ask("?") },
      ]);
      return done(outcomes.map(({ status }) => status).join());
    }),
  "a batch with a model that gives null": () =>
    written(async (ctx) => {
      const [outcome] = await ctx.batch([{ kind: "llm", model: model(null), request: ask("?") }]);
      return done(outcome !== undefined && "error" in outcome ? outcome.error.message : "no error");
    }),
  "a leaf of no kind": () => written((ctx) => refused(ctx, { kind: "what" })),
  "a leaf that is nothing": () => written((ctx) => refused(ctx, undefined)),
  "a tool leaf without a tool": () => written((ctx) => refused(ctx, { kind: "tool", call: {} })),
  "a tool leaf without a call": () => written((ctx) => refused(ctx, { kind: "tool", tool: tool(() => "x") })),
  "a model leaf without a model": () => written((ctx) => refused(ctx, { kind: "llm", request: ask("?") })),
  "a hire without an agent": () => written((ctx) => refused(ctx, { kind: "hire", input: "go" })),
  "a model call without a model": () =>
    written(async (ctx) => {
      const nobody = undefined as LLMClient | undefined;
      return done(await ctx.llm(nobody as LLMClient, ask("?")).then(String, messageOf));
    }),
  "a child that crashes": () =>
    written(async (ctx) => {
      const child = agent("kid", () => Promise.reject(new Error("crash")));
      const outcome = await ctx.hire({ agent: child, input: "go" });
      return done(`${outcome.status}: ${"error" in outcome ? outcome.error?.message : ""}`);
    }),
  "an agent that gives nothing": () => written(async () => undefined),
  "an agent that gives its result without a promise": () => written(() => done("at once")),
  "an agent that throws": () => written(() => Promise.reject(new Error("crash"))),
  "a signal": () =>
    written(async (ctx) => done(String(await ctx.waitFor("go"))), {
      during: (handle, runtime) => runtime.deliver(handle.runId, "go", 42),
    }),
  "a cancellation in the middle of a model call": () =>
    written((ctx) => ctx.llm(model(hanging), ask("?")), { during: cancelSoon }),
  "a cancellation that the agent does not mind": () =>
    written((ctx) => ctx.llm(model(hanging), ask("?")).then(undefined, () => done("so what")), {
      during: cancelSoon,
    }),
  "a cancellation in the middle of a tool": () => {
    const notes: unknown[] = [];
    const cutOff = tool(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cut off")))),
    );
    const run = async (ctx: RunContext): Promise<AgentResult> => {
      for (const outcome of await ctx.batch([toolLeaf(cutOff)])) {
        notes.push([outcome.status, "error" in outcome ? outcome.error?.code : undefined]);
      }
      return done("so what");
    };
    return written(run, { during: cancelSoon, notes });
  },
  "a tool that goes on after a cancellation": () => {
    const notes: unknown[] = [];
    const late = tool(
      ({ signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => setImmediate(resolve, "late"))),
    );
    const run = async (ctx: RunContext): Promise<AgentResult> => {
      for (const outcome of await ctx.batch([toolLeaf(late)])) notes.push(outcome.status);
      return done("so what");
    };
    return written(run, { during: cancelSoon, notes });
  },
  "a tool that throws what stops a run": () =>
    looping(model(asking("{}"), echo), [
      tool(() => rejectedWith(new MiddlewareTermination({ reason: "by a tool" }))),
    ]),
  "a tool that throws a cancellation of its own": () =>
    looping(model(asking("{}"), echo), [
      tool(() => rejectedWith(new CancellationError({ reason: "by a tool" }))),
    ]),
  "a deadline in the middle of a model call": () =>
    written((ctx) => ctx.llm(model(hanging), ask("?")), {
      options: { executionBudget: { deadlineS: 0.02 } },
    }),
  "a window that was looked at while it was empty": () =>
    written(async (ctx) => {
      const seen = await ctx.window();
      ctx.remember({ role: "user", content: "a" });
      const more = await ctx.window({ system: "s" });
      return done(JSON.stringify([seen, more]));
    }),
};

/** All that can be seen of a run, but for its times and what has no price without a meter. */
async function seenOf(make: () => Program, house: RuntimeOptions): Promise<unknown> {
  const { agent: who, options, during, notes } = make();
  const runtime = new Runtime(house);
  const handle = runtime.run(who, "go", { runId: "r", ...options });
  await during?.(handle, runtime);
  const { error, agents, ...result }: RunResult = await handle.result;
  const accounts = agents?.map(({ status, modelCalls, toolCalls, retries, usage: used }) => {
    return { status, modelCalls, toolCalls, retries, used };
  });
  return { ...result, code: error?.code, message: error?.message, accounts, notes };
}

const HOUSES: readonly (readonly [string, () => RuntimeOptions])[] = [
  ["a journal", () => ({ journal: new MemoryJournal() })],
  ["listeners", () => ({ hooks: LISTENING })],
];

describe.each(Object.entries(PROGRAMS))("%s", (_, make) => {
  test.each(HOUSES)("R23: comes out as it does with %s", async (_name, house) => {
    expect(await seenOf(make, {})).toEqual(await seenOf(make, house()));
  });
});

describe("and as it should", () => {
  const seen = async (name: string): Promise<unknown> =>
    seenOf(PROGRAMS[name] ?? (() => looping(model())), {});

  test("T11: an answer that is none is the provider's error, and was a call", async () => {
    expect(await seen("a model that gives null")).toMatchObject({
      code: "PROVIDER_ERROR",
      message: "m returned null instead of a response",
      accounts: [{ modelCalls: 1 }],
    });
  });

  test.each(["usage that is null", "usage that is no number", "usage that is text"])(
    "T11: %s counts as not said",
    async (name) => {
      expect(await seen(name)).toMatchObject({
        status: "completed",
        usage: { inputTokens: 0, outputTokens: 0 },
        cost: null,
      });
    },
  );

  test("T11: a call whose arguments are neither text nor an object is told so to the model, one without any is made, and so is the one beside them", async () => {
    expect(await seen("arguments that are no text")).toMatchObject({
      status: "completed",
      output: expect.stringMatching(/^x; error: invalid arguments for t: .*; x$/),
    });
  });

  test("R13: a cancellation of a tool's own, such as of its wait for a limiter, is the tool's failure, and the run goes on", async () => {
    expect(await seen("a tool that throws a cancellation of its own")).toMatchObject({
      status: "completed",
      output: expect.stringContaining("error: cancelled: by a tool"),
    });
    expect(await seen("a tool that throws what stops a run")).toMatchObject({
      status: "failed",
      code: "MIDDLEWARE_TERMINATION",
    });
  });

  test.each([["nothing", () => ({})] as const, ...HOUSES])(
    "R13: once the time is up it is no failure of the tool, also if no timer says so: with %s",
    async (_name, house) => {
      let now = 0;
      const outcomes: unknown[] = [];
      const slow = tool(() => {
        now = 6_000;
        return rejectedWith(new CancellationError({ reason: "by a tool" }));
      });
      const run = async (ctx: RunContext): Promise<AgentResult> => {
        outcomes.push(...(await ctx.batch([toolLeaf(slow)])));
        return done("so what");
      };
      const runtime = new Runtime({ ...house(), clock: { now: () => now } });
      await runtime.run(agent("a", run), "go", { executionBudget: { deadlineS: 5 } }).result;
      expect(outcomes).toMatchObject([{ status: "cancelled", error: { code: "DEADLINE_EXCEEDED" } }]);
    },
  );

  test("R23: a second batch while one is under way is refused, however fast the first is", async () => {
    const name = "two batches at once, of tools that are done at once";
    expect(await seen(name)).toMatchObject({ output: "done,LANE_VIOLATION" });
  });

  test("R10: a window that was handed out while it was empty grows, and belongs to its run", async () => {
    const user = { role: "user", content: "a" };
    const output = JSON.stringify([[user], [{ role: "system", content: "s" }, user]]);
    const name = "a window that was looked at while it was empty";
    expect(await seen(name)).toMatchObject({ output });
    expect(await seen(name)).toMatchObject({ output });
  });

  test("a model call of a tool's own is used, and is not a call of the agent's", async () => {
    expect(await seen("a tool that asks a model")).toMatchObject({
      usage: { inputTokens: 9, outputTokens: 6 },
      accounts: [{ modelCalls: 2, toolCalls: 1 }],
    });
  });

  test.each([
    ["a leaf of no kind", /leaf\.kind is "what"; expected "tool", "llm" or "hire"/],
    ["a leaf that is nothing", /leaf\.kind is undefined/],
    ["a tool leaf without a tool", /leaf\.tool is undefined; expected a tool made by defineTool/],
    ["a tool leaf without a call", /leaf\.call is undefined/],
    ["a model leaf without a model", /leaf\.model is undefined; expected a model/],
    ["a hire without an agent", /leaf\.agent is undefined; expected an agent/],
    ["a model call without a model", /model is undefined; expected a model/],
  ])("T11: %s is told so", async (name, message) => {
    expect(await seen(name)).toMatchObject({ status: "completed", output: expect.stringMatching(message) });
  });
});
