import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  CancellationError,
  type DelegateTool,
  type HireLeaf,
  type Leaf,
  type LLMClient,
  type ModelResponse,
  type Outcome,
  RaviError,
  SuspendedError,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import {
  bareContext,
  delegateTo,
  isStop,
  type LoopExtension,
  planLoop,
  readTurn,
  tellHandoff,
  toolLoop,
  toolTurn,
  type TurnContext,
} from "@ravi/kernel/loop";
import * as z from "zod";

const call = (name: string, id: string): ToolCall => ({ id, name, arguments: "{}" });
const asking = (...toolCalls: ToolCall[]): ModelResponse => ({
  message: { role: "assistant", content: "", toolCalls },
  finishReason: "toolCalls",
});
const tool = (name: string, execute: Tool["execute"]): Tool => ({
  name,
  description: name,
  input: {},
  execute,
});
const free = { validator: () => [] };

describe("toolTurn tells each result as it comes", () => {
  test("once, while another call of the batch still runs", async () => {
    const told: string[] = [];
    const gate = Promise.withResolvers<string>();
    const tools = [tool("slow", () => gate.promise), tool("quick", () => "soon")];
    const running = toolTurn(
      bareContext(free),
      asking(call("slow", "1"), call("quick", "2"), call("nobody", "3")),
      tools,
      { onResult: ({ id }, { content }) => told.push(`${id}: ${String(content).slice(0, 14)}`) },
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual(["3: error: unknown", "2: soon"]);
    gate.resolve("late");
    await running;
    expect(told).toEqual(["3: error: unknown", "2: soon", "1: late"]);
  });

  test("a hand-off that was stopped is for the model to deal with, a tool that was stopped ends the run", async () => {
    const helper: Agent = { id: AgentId("helper"), run: () => Promise.reject(new Error("never")) };
    const error = new CancellationError({ reason: "enough" });
    const stopped = (kind: Leaf["kind"]) => {
      const outcome = kind === "hire" ? { status: "cancelled", error } : { error };
      const ctx: TurnContext = Object.assign(Object.create(bareContext(free)) as TurnContext, {
        batch: async () => [outcome],
      });
      const given = kind === "hire" ? delegateTo(helper) : tool("helper", () => "never");
      return toolTurn(ctx, asking({ ...call("helper", "1"), arguments: '{"task":"it"}' }), [given]);
    };
    const handedOff = await stopped("hire");
    expect(handedOff.stop).toBeUndefined();
    expect(handedOff.messages).toMatchObject([{ toolCallId: "1", isError: true }]);
    expect((await stopped("tool")).stop).toBe(error);
  });

  test("also of a context that tells nothing early, and of a hand-off", async () => {
    const told: string[] = [];
    const bare = bareContext(free);
    const ctx: TurnContext = {
      batch: ((leaves: readonly Leaf[]): Promise<Outcome[]> =>
        bare.batch(
          leaves.map((leaf) => (leaf.kind === "tool" ? { ...leaf, onResult: undefined } : leaf)),
        )) as TurnContext["batch"],
    };
    const helper: Agent = {
      id: AgentId("helper"),
      run: async () => ({ status: "completed", output: "helped", stopReason: "done" }),
    };
    const hire = { id: "2", name: "helper", arguments: '{"task":"help"}' };
    await toolTurn(ctx, asking(call("quick", "1"), hire), [tool("quick", () => "soon"), delegateTo(helper)], {
      onResult: ({ id }, { content }) => told.push(`${id}: ${String(content)}`),
    });
    expect(told).toEqual(["1: soon", "2: helped"]);
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "hired.hire(args) is undefined; expected { kind"],
    ["a promise", Promise.resolve({}), "(hire must not be async)"],
    ["nobody", { kind: "hire", input: "" }, "hired.hire(args).agent is undefined"],
    [
      "no task",
      { kind: "hire", agent: { id: AgentId("a"), run: () => {} } },
      "hired.hire(args).input is undefined",
    ],
  ])(
    "T11: a delegate that hires %s is told as a failed call, and the others are made",
    async (_, leaf, why) => {
      const delegate = {
        kind: "delegate",
        name: "hired",
        description: "",
        input: {},
        hire: () => leaf as HireLeaf,
      } as const;
      const tools = [tool("quick", () => "soon"), delegate];
      const { messages } = await toolTurn(
        bareContext(free),
        asking(call("hired", "1"), call("quick", "2")),
        tools,
      );
      expect(messages).toMatchObject([{ isError: true }, { content: "soon" }]);
      expect(messages[0]?.content).toContain(why);
    },
  );

  test("a stop between two batches keeps what was done, and answers every call", async () => {
    let batches = 0;
    const bare = bareContext(free);
    const stop = new CancellationError({ reason: "enough" });
    const ctx: TurnContext = {
      batch: (async (leaves: readonly Leaf[]) => {
        if (++batches === 2) throw stop;
        return bare.batch(leaves);
      }) as TurnContext["batch"],
    };
    const told: string[] = [];
    const calls = asking(call("quick", "1"), call("quick", "2"), call("quick", "3"));
    const turn = await toolTurn(ctx, calls, [tool("quick", () => "soon")], {
      concurrency: 1,
      onResult: ({ id }) => told.push(id),
    });
    expect(turn.stop).toBe(stop);
    expect(turn.messages.map(({ content }) => content)).toEqual([
      "soon",
      "error: not run: the run is ending",
      "error: not run: the run is ending",
    ]);
    expect(told).toEqual(["1"]);
  });

  test.each([new SuspendedError({ reason: "closed" }), new Error("broken")])(
    "%s of the context is thrown on",
    async (error) => {
      const ctx: TurnContext = {
        async batch() {
          throw error;
        },
      };
      await expect(toolTurn(ctx, asking(call("quick", "1")), [tool("quick", () => "soon")])).rejects.toBe(
        error,
      );
    },
  );
});

describe("a loop that a call ends", () => {
  const model = (...responses: readonly ModelResponse[]): LLMClient & { asked: number } => ({
    id: "m",
    info: { provider: "test", model: "m" },
    asked: 0,
    async generate() {
      return responses[this.asked++] ?? Promise.reject(new Error("asked too often"));
    },
  });
  const forward: LoopExtension = {
    before: ({ name }) =>
      name === "forward"
        ? { finish: { status: "completed", output: "as it is", stopReason: "done" } }
        : undefined,
  };

  test("gives the answer of the call, after the other calls of the turn", async () => {
    const made: string[] = [];
    const tools = [
      tool("forward", () => void made.push("forward")),
      tool("note", () => void made.push("note")),
    ];
    const asked = model(asking(call("forward", "1"), call("note", "2")));
    const ctx = bareContext(free);
    const plan = planLoop("Test", { name: "a", model: asked, tools });
    expect(await toolLoop(plan, ctx, "go", forward)).toEqual({
      status: "completed",
      output: "as it is",
      stopReason: "done",
    });
    expect({ asked: asked.asked, made }).toEqual({ asked: 1, made: ["note"] });
    expect(ctx.window().at(-2)).toEqual({
      role: "tool",
      toolCallId: "1",
      name: "forward",
      content: "done: the run ends with this answer",
    });
  });

  test("R24: whoever has asked gets that answer", async () => {
    const ctx = bareContext(free);
    const inbox = ctx.inbox("go");
    const question = inbox.send("lead", "well?");
    const asked = model(asking(call("forward", "1")));
    await toolLoop(
      planLoop("Test", { name: "a", model: asked, tools: [tool("forward", () => "")] }),
      ctx,
      inbox,
      forward,
    );
    expect(await inbox.replyTo(question)).toBe("as it is");
  });

  test("a result stands for a call, which is not made", async () => {
    const plan = planLoop("Test", {
      name: "a",
      model: model(asking(call("note", "1")), {
        message: { role: "assistant", content: "ok" },
        finishReason: "stop",
      }),
      tools: [tool("note", () => expect.unreachable())],
    });
    const ctx = bareContext(free);
    await toolLoop(plan, ctx, "go", { before: () => ({ content: "known already", isError: false }) });
    expect(ctx.window()[2]).toMatchObject({ role: "tool", content: "known already" });
  });
});

test("arguments that a hand-off's schema throws at are told to the model, and the others are made", async () => {
  const fussy: DelegateTool = {
    ...delegateTo({ id: AgentId("helper"), run: () => expect.unreachable() }),
    name: "fussy",
    input: z.object({ at: z.string().transform((text) => new Date(text).toISOString()) }),
  };
  const { messages, stop } = await toolTurn(
    bareContext(free),
    asking({ id: "1", name: "fussy", arguments: '{"at":"soon"}' }, call("quick", "2")),
    [fussy, tool("quick", () => "soon")],
  );
  expect(messages.map(({ content }) => content)).toEqual([
    "error: invalid arguments for fussy: Invalid time value",
    "soon",
  ]);
  expect(stop).toBeUndefined();
});

test("a turn without calls has a list of its own: nobody else sees what is done to it", async () => {
  const turns = [1, 2].map(() => toolTurn(bareContext(free), asking(), []));
  const [one, other] = await Promise.all(turns);
  expect(one?.messages).toEqual([]);
  expect(one?.messages).not.toBe(other?.messages);
});

test("an answer that never fits its schema ends as invalid", async () => {
  const never: LLMClient = {
    id: "m",
    info: { provider: "test", model: "m" },
    generate: async () => ({ message: { role: "assistant", content: "1" }, finishReason: "stop" }),
  };
  const plan = planLoop("Test", {
    name: "a",
    model: never,
    output: { type: "string" },
    validator: () => [{ message: "no" }],
  });
  expect(await toolLoop(plan, bareContext(), "go")).toEqual({
    status: "partial",
    output: "1",
    stopReason: "invalid",
    problem: "no",
  });
});

test("a result that is invalid names the fields, but not at any length", async () => {
  const plan = (message: string) =>
    planLoop("Test", {
      name: "a",
      model: {
        id: "m",
        info: { provider: "test", model: "m" },
        generate: async () => ({ message: { role: "assistant", content: "{}" }, finishReason: "stop" }),
      },
      output: { type: "object" },
      outputRetries: 0,
      validator: () => [{ message, path: ["items", 3, "price"] }],
    });
  const short = await toolLoop(plan("expected a number"), bareContext(), "go");
  expect(short.problem).toBe("items.3.price: expected a number");
  const long = await toolLoop(plan("x".repeat(1e6)), bareContext(), "go");
  expect(long.problem).toMatch(/^items\.3\.price: xxx/);
  expect(long.problem?.length).toBeLessThanOrEqual(2_000);
});

test("R13: a suspension is a stop, also after JSON", () => {
  expect(isStop(new SuspendedError({ reason: "closed" }))).toBe(true);
  expect(isStop(new RaviError({ code: "SUSPENDED", message: "m" }))).toBe(true);
});

test("what authors of loops share: the meaning of an answer, and how a hand-off is told", () => {
  expect(readTurn(asking(call("x", "1")))).toEqual({ kind: "tools", isCutOff: false });
  const events: unknown[] = [];
  const ctx = bareContext({ onEvent: ({ event }) => events.push(event) });
  const agent: Agent = { id: AgentId("b"), run: async () => expect.unreachable() };
  tellHandoff(ctx, { agent, input: "do it" });
  expect(events).toEqual([{ type: "handoff", to: "b", task: "do it" }]);
});
