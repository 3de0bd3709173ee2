import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  type AgentContext,
  type AgentResult,
  AgentId,
  BudgetExhaustedError,
  CancellationError,
  type ChatContext,
  type ChatMessage,
  type CompactionStrategy,
  defineTool,
  type FunctionContext,
  type Gate,
  type HookEvent,
  type HookPayloads,
  type Hooks,
  type HireLeaf,
  type HireOutcome,
  type InferSchema,
  isRaviError,
  type JsonSchema,
  type JsonValue,
  type Leaf,
  type LlmLeaf,
  type LlmOutcome,
  type Middleware,
  type Next,
  type Outcome,
  type RunContext,
  type RunHandle,
  type SchemaLike,
  type Tool,
  type ToolLeaf,
  type ToolOutcome,
  type Usage,
} from "@ravi/kernel";

interface Place {
  readonly city: string;
}

/** As libraries declare JSON Schemas: the values are `any`. */
type Loose = Record<string, ReturnType<typeof JSON.parse>>;

describe("defineTool infers its arguments", () => {
  test("from zod, with defaults and transforms", () => {
    const tool = defineTool({
      name: "search",
      description: "Finds documents.",
      input: z.object({
        query: z.string(),
        limit: z.number().default(5),
        since: z.string().transform((text) => new Date(text)),
      }),
      needsApproval(args) {
        expectTypeOf(args).toEqualTypeOf<{ query: string; limit: number; since: Date }>();
        return args.limit > 100;
      },
      execute(args) {
        expectTypeOf(args).toEqualTypeOf<{ query: string; limit: number; since: Date }>();
        return [args.query];
      },
    });
    expectTypeOf(tool).toEqualTypeOf<Tool<{ query: string; limit: number; since: Date }, string[]>>();
    // A tool of any arguments fits where tools are listed.
    expectTypeOf(tool).toExtend<Tool>();
  });

  test("from any Standard Schema that gives JSON Schema; from raw JSON Schema they are a record of unknown values", () => {
    const standard = {
      "~standard": {
        version: 1,
        vendor: "mine",
        types: undefined as { input: string; output: number } | undefined,
        validate: (value: unknown) => ({ value: Number(value) }),
        jsonSchema: { input: () => ({ type: "string" }), output: () => ({ type: "number" }) },
      },
    } as const;
    expectTypeOf<InferSchema<typeof standard>>().toEqualTypeOf<number>();
    defineTool({
      name: "n",
      description: "",
      input: standard,
      execute: (args) => expectTypeOf(args).toEqualTypeOf<number>(),
    });
    defineTool({
      name: "raw",
      description: "",
      input: { type: "object" },
      execute: (args) => expectTypeOf(args).toEqualTypeOf<Readonly<Record<string, unknown>>>(),
    });
    // Of a contextual type `unknown`, the compiler would make them `any`.
    defineTool({
      name: "raw",
      description: "",
      input: { type: "object", properties: { city: { type: "string" } } },
      execute: ({ city }) => expectTypeOf(city).toEqualTypeOf<unknown>(),
    });
    const schema: JsonSchema = { type: "object" };
    defineTool({
      name: "raw",
      description: "",
      input: schema,
      async execute({ city }) {
        expectTypeOf(city).toEqualTypeOf<unknown>();
      },
    });
    const said = defineTool({
      name: "raw",
      description: "",
      input: { type: "object", properties: { city: { type: "string" } } },
      execute: ({ city }: { city: string }) => city.length,
    });
    expectTypeOf(said).toEqualTypeOf<Tool<unknown, number>>();
    const input = { type: "object", properties: { city: { type: "string" } } };
    const named = defineTool({ name: "raw", description: "", input, execute: ({ city }: Place) => city });
    expectTypeOf(named).toEqualTypeOf<Tool<unknown, string>>();
  });

  test("a schema whose type says nothing of its keywords, as many libraries', is a raw JSON Schema", () => {
    expectTypeOf<InferSchema<Loose>>().toBeUnknown();
    const schema: Loose = { type: "object", properties: { city: { type: "string" } } };
    defineTool({
      name: "raw",
      description: "",
      input: schema,
      execute: ({ city }) => expectTypeOf(city).toEqualTypeOf<unknown>(),
    });
  });

  test("an annotation that does not fit the arguments of the schema is a compile error", () => {
    const input = z.object({ city: z.string() });
    // @ts-expect-error `city` is a string
    const wrong = defineTool({ name: "t", description: "", input, execute: (args: { city: Date }) => args });
    expect(wrong.name).toBe("t");
  });

  test("fields without a schema around them are no schema: reading an argument says so", () => {
    const read = () =>
      // @ts-expect-error Property 'city' does not exist on a text that tells what to write
      defineTool({ name: "t", description: "", input: { city: z.string() }, execute: ({ city }) => city });
    expectTypeOf(read).returns.toExtend<Tool>();
    expectTypeOf<InferSchema<{ city: z.ZodString }>>().toEqualTypeOf<{
      readonly "an object of schemas is not a schema: wrap it, as in z.object({ ... })": never;
    }>();
    expectTypeOf<InferSchema<{ type: "object"; properties: { city: { type: "string" } } }>>().toBeUnknown();
    const nothing = {};
    expectTypeOf<InferSchema<typeof nothing>>().toBeUnknown();
    expectTypeOf<InferSchema<JsonSchema>>().toBeUnknown();
    expectTypeOf<InferSchema<SchemaLike>>().toBeUnknown();
  });

  test("a schema that cannot give JSON Schema is a compile error", () => {
    const mute = {
      "~standard": { version: 1, vendor: "mute", validate: (value: unknown) => ({ value }) },
    } as const;
    // @ts-expect-error it could not be described to a model
    const tool = defineTool({ name: "mute", description: "", input: mute, execute: () => "" });
    expect(tool.name).toBe("mute");
  });

  test("a generator function is refused when the tool is made: nobody would read what it yields", () => {
    const input = z.object({});
    const tools = [
      () => defineTool({ name: "t", description: "", input, execute: async function* () {} }),
      () => defineTool({ name: "t", description: "", input, *execute() {} }),
    ];
    for (const tool of tools)
      expect(tool).toThrow(
        "tool t: execute is a function; expected one that returns the result, not a generator function (context.progress tells how far it is)",
      );
  });

  test("a bad name or time limit is refused", () => {
    const input = z.object({});
    for (const name of ["", "has space", "ünï", "x".repeat(65)]) {
      expect(() => defineTool({ name, description: "", input, execute: () => "" })).toThrow(
        /tool name is .*; expected 1 to 64 letters/,
      );
    }
    expect(() => defineTool({ name: "t", description: "", input, timeoutS: 0, execute: () => "" })).toThrow(
      "tool t: timeoutS is 0; expected a number of seconds greater than 0",
    );
  });
});

describe("R21: hook payloads are typed by event", () => {
  test("R21: each event has its payload, and no other event exists", () => {
    expectTypeOf<HookPayloads[typeof HookEvent.LLM_END]["usage"]>().toEqualTypeOf<Usage>();
    expectTypeOf<HookPayloads["tool_end"]>().toExtend<{
      toolName: string;
      status: "ok" | "error";
      durationMs: number;
    }>();
    expectTypeOf<HookPayloads["step_start"]["step"]>().toEqualTypeOf<number>();
    expectTypeOf<keyof HookPayloads>().toEqualTypeOf<HookEvent>();
    expectTypeOf<Parameters<Hooks["has"]>[0]>().toEqualTypeOf<HookEvent>();
  });
});

describe("contracts", () => {
  test("R10: a loop sees its id and its window, a strategy makes a window of a history", () => {
    expectTypeOf<AgentContext["agentId"]>().toEqualTypeOf<AgentId>();
    const lastTwo: CompactionStrategy = { compact: (messages) => messages.slice(-2) };
    const messages: ChatMessage[] = [1, 2, 3].map((n) => ({ role: "user", content: `${n}` }));
    expect(lastTwo.compact(messages)).toEqual(messages.slice(1));
  });

  test("R11: a layer wraps, and its context has the fields of its level", () => {
    const layer: Middleware<ChatContext> = {
      level: "chat",
      async process(context, next) {
        expectTypeOf(context.agentName).toEqualTypeOf<string>();
        expectTypeOf(context.systemInstructions).toEqualTypeOf<string>();
        expectTypeOf(next).toEqualTypeOf<Next>();
        await next();
      },
    };
    expect(layer.level).toBe("chat");
    expectTypeOf<FunctionContext>().toExtend<{
      functionName: string;
      arguments: unknown;
      agentName: string;
      runId: string;
    }>();
  });

  test("R12: any object with an id and a run is an agent", async () => {
    const echo = {
      id: AgentId("echo"),
      run: async (_ctx: RunContext, inbox: { input: string }): Promise<AgentResult> => ({
        status: "completed",
        output: inbox.input,
        stopReason: "done",
      }),
    };
    expectTypeOf(echo).toExtend<Agent>();
    expect(Object.keys(echo)).toEqual(["id", "run"]);
  });

  test("R23: a leaf of a batch can be hired by itself, and its kind need not be said", () => {
    expectTypeOf<ReturnType<typeof hireLeaf>>().toEqualTypeOf<Promise<HireOutcome<{ answer: number }>>>();
    expectTypeOf<ReturnType<typeof hireTerms>>().toEqualTypeOf<Promise<HireOutcome<{ answer: number }>>>();
    expectTypeOf<ReturnType<typeof spawnLeaf>>().toEqualTypeOf<Promise<RunHandle<{ answer: number }>>>();
  });

  test("R11: a gate may be asked by a name alone", () => {
    expectTypeOf<ReturnType<typeof requireName>>().toEqualTypeOf<Promise<JsonValue>>();
  });

  test("R23: a batch gives its leaves' outcomes", () => {
    expectTypeOf<ReturnType<typeof hires>>().toEqualTypeOf<Promise<HireOutcome<{ answer: number }>[]>>();
    expectTypeOf<ReturnType<typeof tools>>().toEqualTypeOf<Promise<ToolOutcome<string>[]>>();
    expectTypeOf<ReturnType<typeof calls>>().toEqualTypeOf<Promise<LlmOutcome[]>>();
    expectTypeOf<ReturnType<typeof mixed>>().toEqualTypeOf<Promise<(LlmOutcome | HireOutcome)[]>>();
    expectTypeOf<ReturnType<typeof any>>().toEqualTypeOf<Promise<Outcome[]>>();
    // Written as a literal, each has its place: nothing is "possibly undefined", also if all are of one type.
    expectTypeOf<ReturnType<typeof pair>>().toEqualTypeOf<
      Promise<[HireOutcome<{ answer: number }>, HireOutcome<{ answer: number }>]>
    >();
    expectTypeOf<ReturnType<typeof mapped>>().toEqualTypeOf<Promise<HireOutcome<{ answer: number }>[]>>();
    expectTypeOf<ReturnType<typeof several>>().toEqualTypeOf<
      Promise<[HireOutcome<{ n: number }>, HireOutcome<{ s: string }>, ToolOutcome<string>, LlmOutcome]>
    >();
  });

  test("R13: an error's code says what it tells", () => {
    const scopeOf = (error: unknown): string => {
      if (!isRaviError(error)) return "";
      switch (error.code) {
        case "BUDGET_EXHAUSTED":
          return error.scope;
        case "DEADLINE_EXCEEDED":
          return String(error.deadline);
        case "CANCELLED":
          return error.reason;
        default:
          return error.message;
      }
    };
    const spent = new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "lead" });
    expect([spent, new CancellationError({ reason: "late" }), 7].map(scopeOf)).toEqual(["lead", "late", ""]);
  });
});

type Answering = Agent<{ answer: number }>;
const hireLeaf = (ctx: RunContext, agent: Answering) => ctx.hire({ kind: "hire", agent, input: "x" });
const hireTerms = (ctx: RunContext, agent: Answering) => ctx.hire({ agent, input: "x" });
const spawnLeaf = (ctx: RunContext, agent: Answering) => ctx.spawn(agent, { kind: "hire", input: "x" });
const requireName = (gate: Gate) => gate.require("approval:deploy");
const hires = (ctx: RunContext, leaves: readonly HireLeaf<{ answer: number }>[]) => ctx.batch(leaves);
const tools = (ctx: RunContext, leaves: readonly ToolLeaf<string>[]) => ctx.batch(leaves);
const calls = (ctx: RunContext, leaves: readonly LlmLeaf[]) => ctx.batch(leaves);
const any = (ctx: RunContext, leaves: readonly Leaf[]) => ctx.batch(leaves);
const mixed = (ctx: RunContext, leaves: readonly (LlmLeaf | HireLeaf)[]) => ctx.batch(leaves);
const pair = (ctx: RunContext, agent: Answering) =>
  ctx.batch([
    { kind: "hire", agent, input: "one" },
    { kind: "hire", agent, input: "other" },
  ]);
const mapped = (ctx: RunContext, agent: Answering) =>
  ctx.batch(["one", "other"].map((input) => ({ kind: "hire", agent, input })));
const several = (
  ctx: RunContext,
  [one, other]: readonly [Agent<{ n: number }>, Agent<{ s: string }>],
  [tool, call]: readonly [Tool<unknown, string>, LlmLeaf],
) =>
  ctx.batch([
    { kind: "hire", agent: one, input: "" },
    { kind: "hire", agent: other, input: "" },
    { kind: "tool", call: { id: "1", name: "t", arguments: "" }, tool },
    call,
  ]);
