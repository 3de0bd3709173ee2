import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentResult,
  BudgetExhaustedError,
  type ChatMessage,
  type Clock,
  HookEvent,
  type Hooks,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  type RunContext,
  RunMeta,
  textOf,
  type Tool,
  ToolError,
} from "@ravi/kernel";
import {
  bareContext,
  bareInbox,
  delegateTo,
  type Hired,
  hireResult,
  hookBase,
  type LoopExtension,
  type LoopOptions,
  planLoop,
  textSchema,
  toolLoop,
} from "@ravi/kernel/loop";

type Turn = string | { readonly call: string; readonly args?: object };

/** A model that does as its script says, and keeps what it was sent. */
function scripted(
  turns: readonly Turn[],
  during: (call: number) => void = () => {},
): LLMClient & { readonly seen: (readonly ChatMessage[])[] } {
  const seen: (readonly ChatMessage[])[] = [];
  return {
    id: "scripted",
    info: { provider: "test", model: "scripted" },
    seen,
    async generate({ messages }): Promise<ModelResponse> {
      seen.push([...messages]);
      const turn = turns[seen.length - 1] ?? "no more";
      during(seen.length);
      if (typeof turn === "string")
        return { message: { role: "assistant", content: turn }, finishReason: "stop" };
      const toolCalls = [{ id: "c", name: turn.call, arguments: JSON.stringify(turn.args ?? {}) }];
      return { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls" };
    },
  };
}

const plan = (options: Omit<LoopOptions, "name"> & { readonly name?: string }) =>
  planLoop("TestAgent", { name: "a", ...options });
const helper: Agent = {
  id: AgentId("helper"),
  run: async (_, { input }) => ({ status: "completed", output: `did ${input}`, stopReason: "done" }),
};

test("a mistake in the options is named after its owner", () => {
  expect(() => plan({ model: scripted([]), maxSteps: 0 })).toThrow(/^TestAgent\.maxSteps is 0/);
  expect(() => planLoop("Other", { name: "a", model: scripted([]), tools: [helper as never] })).toThrow(
    /^Other\.tools\[0\]/,
  );
});

test("T8: an observer that is told of a call cannot change it before it is made", async () => {
  const made: unknown[] = [];
  const note: Tool = {
    name: "note",
    description: "",
    input: textSchema({ text: "A text." }),
    execute: (args) => (made.push(args), "noted"),
  };
  const ctx = bareContext({
    onEvent({ event }) {
      if (event.type === "toolCall") Reflect.set(event.call, "arguments", '{"text":"spoilt"}');
    },
  });
  const model = scripted([{ call: "note", args: { text: "as asked" } }, "done"]);
  await toolLoop(plan({ model, tools: [note] }), ctx, "go");
  expect(made).toEqual([{ text: "as asked" }]);
});

test("R12: with a text instead of an inbox it runs just the same", async () => {
  const result = await toolLoop(plan({ model: scripted(["four"]) }), bareContext(), "two and two?");
  expect(result).toEqual({ status: "completed", output: "four", stopReason: "done" });
});

test("R10: a context that takes its time to remember has every message, in order, before the model is asked again", async () => {
  const bare = bareContext();
  let writing = 0;
  let most = 0;
  const ctx: RunContext = Object.create(bare, {
    remember: {
      value: async (message: ChatMessage) => {
        most = Math.max(most, ++writing);
        await new Promise((resolve) => setImmediate(resolve));
        bare.remember(message);
        writing--;
      },
    },
  });
  const model: LLMClient & { seen: string[][] } = {
    id: "m",
    info: { provider: "test", model: "m" },
    seen: [],
    async generate({ messages }) {
      model.seen.push(messages.map(({ role, content }) => `${role} ${textOf({ content })}`));
      const calls = ["1", "2", "3"].map((id) => ({ id, name: "say", arguments: JSON.stringify({ id }) }));
      if (model.seen.length === 1)
        return {
          message: { role: "assistant", content: "asking", toolCalls: calls },
          finishReason: "toolCalls",
        };
      if (model.seen.length === 2)
        return { message: { role: "assistant", content: "" }, finishReason: "stop" };
      return { message: { role: "assistant", content: "done" }, finishReason: "stop" };
    },
  };
  const say: Tool = {
    name: "say",
    description: "",
    input: { type: "object" },
    execute: (args) => JSON.stringify(args),
  };
  expect(await toolLoop(plan({ model, tools: [say], validator: () => [] }), ctx, "go")).toMatchObject({
    output: "done",
  });
  const [first = [], second = [], third = []] = model.seen;
  expect(first).toEqual(["user go"]);
  expect(second).toEqual(["user go", "assistant asking", ...[1, 2, 3].map((id) => `tool {"id":"${id}"}`)]);
  expect(third.slice(0, 5)).toEqual(second);
  expect(third.slice(5)).toEqual([expect.stringMatching(/^user /)]);
  expect(most).toBe(1);
});

describe("R24: what is said to an agent while it works", () => {
  test("is heard before the next model call, with who said it", async () => {
    const inbox = bareInbox("go");
    const model = scripted([{ call: "nothing" }, "done"], (call) => {
      if (call !== 1) return;
      inbox.send("user", "be brief");
      inbox.send("lead", { hurry: true });
    });
    await toolLoop(plan({ model }), bareContext(), inbox);
    expect(model.seen[1]?.slice(-2)).toEqual([
      { role: "user", content: "be brief" },
      { role: "user", content: '[message from lead] {"hurry":true}' },
    ]);
  });

  test("is heard before it completes, and the answer takes it into account", async () => {
    const inbox = bareInbox("go");
    const model = scripted(["done", "done, in French"], (call) => {
      if (call === 1) inbox.send("user", "in French, please");
    });
    const result = await toolLoop(plan({ model }), bareContext(), inbox);
    expect(result.output).toBe("done, in French");
    expect(model.seen[1]?.at(-1)).toEqual({ role: "user", content: "in French, please" });
  });

  test("whoever asks gets the agent's next answer as the reply", async () => {
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const model = scripted(["first", "the answer"]);
    const generate = model.generate.bind(model);
    model.generate = async (...args) => {
      started.resolve();
      await go.promise;
      return generate(...args);
    };
    const child: Agent = { id: AgentId("child"), run: (ctx, inbox) => toolLoop(plan({ model }), ctx, inbox) };
    const ctx = bareContext();
    const handle = await ctx.spawn(child, { input: "go" });
    await started.promise;
    const reply = ctx.ask(handle, "what is it?");
    go.resolve();
    expect(await reply).toBe("the answer");
  });

  test("who has ended without a reply will not give one: asking is an error and not a hang", async () => {
    const ctx = bareContext();
    const handle = await ctx.spawn(helper, { input: "x" });
    await ctx.join(handle);
    await expect(ctx.ask(handle, "still there?")).rejects.toThrow(ToolError);
  });

  test("an inbox that cannot say whether there is mail is not asked for any", async () => {
    const { input } = bareInbox("go");
    const never = (): never => expect.unreachable("reading it would leave a record");
    const inbox = { input, take: never, receive: never, ack: never, nack: never, reply: never };
    expect((await toolLoop(plan({ model: scripted(["x"]) }), bareContext(), inbox)).output).toBe("x");
  });
});

describe("what an agent of its own kind adds", () => {
  const run = async (turns: readonly Turn[], extension: LoopExtension) => {
    const model = scripted(turns);
    const ctx = bareContext();
    const tools = [delegateTo(helper)];
    const result = await toolLoop(plan({ model, tools }), ctx, "go", extension);
    return { result, model, window: ctx.window() };
  };
  const handsOver: Turn = { call: "helper", args: { task: "it" } };

  test("before: a text refuses the call, and nobody is hired", async () => {
    const hired: string[] = [];
    const { window } = await run([handsOver, "ok"], {
      before: ({ name }) => `${name} is on holiday`,
      onHire: (_, { input }) => hired.push(input),
    });
    expect(window[2]).toMatchObject({ content: "error: helper is on holiday", isError: true });
    expect(hired).toEqual([]);
  });

  test("onHire is told of each hire, afterHires says what the model hears of it", async () => {
    const told: string[] = [];
    const { window } = await run([handsOver, "ok"], {
      onHire: ({ name }, { input }) => told.push(`${name}: ${input}`),
      afterHires: (hires: readonly Hired[]) =>
        hires.map(({ outcome }) => ({ ...hireResult(outcome), content: "edited" })),
    });
    expect(told).toEqual(["helper: it"]);
    expect(window[2]).toMatchObject({ role: "tool", content: "edited" });
  });

  test("beforeAnswer: what it still has to hear makes it go on", async () => {
    const news: ChatMessage[] = [{ role: "user", content: "there is more" }];
    const { result, model } = await run(["early", "late"], { beforeAnswer: () => news.splice(0) });
    expect(result.output).toBe("late");
    expect(model.seen[1]?.slice(-2)).toEqual([
      { role: "assistant", content: "early" },
      { role: "user", content: "there is more" },
    ]);
  });
});

describe("R18: onBudget", () => {
  /** A context whose money is gone after so many calls, and where somebody may grant some more. */
  const poor = (calls: number, answers: boolean[]) => {
    const ctx = bareContext();
    const llm = ctx.llm.bind(ctx);
    const asked: string[] = [];
    let left = calls;
    ctx.llm = async (model, request, options) => {
      if (left === 0 && options?.wrapUp !== true)
        throw new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "a" });
      left = Math.max(0, left - 1);
      return llm(model, request, options);
    };
    ctx.requestBudget = async ({ dimension }) => {
      asked.push(dimension);
      const granted = answers.shift() === true;
      if (granted) left++;
      return granted;
    };
    return { ctx, asked };
  };
  const turns = (): LLMClient => scripted([{ call: "x" }, { call: "x" }, "done"]);
  const tools: readonly Tool[] = [{ name: "x", description: "", input: {}, execute: () => "" }];

  test("ask: with more granted it goes on where it stood", async () => {
    const { ctx, asked } = poor(1, [true, true]);
    const able = plan({ model: turns(), tools, validator: () => [], onBudget: "ask" });
    const result = await toolLoop(able, ctx, "go");
    expect(result).toEqual({ status: "completed", output: "done", stopReason: "done" });
    expect(asked).toEqual(["turns", "turns"]);
  });

  test("ask: a call that was refused and then granted is one step", async () => {
    const { ctx } = poor(1, [true, true]);
    const steps: number[] = [];
    const emit = ctx.emit.bind(ctx);
    ctx.emit = (event) => {
      if (event.type === "step") steps.push(event.step);
      emit(event);
    };
    const able = plan({ model: turns(), tools, validator: () => [], onBudget: "ask", maxSteps: 3 });
    expect(await toolLoop(able, ctx, "go")).toMatchObject({ status: "completed", output: "done" });
    expect(steps).toEqual([1, 2, 2, 3, 3]);
  });

  test("ask: grants that are never enough do not keep it asking for ever", async () => {
    const { ctx, asked } = poor(
      0,
      Array.from({ length: 100 }, () => true),
    );
    ctx.llm = () =>
      Promise.reject(new BudgetExhaustedError({ dimension: "turns", used: 0, limit: 0, scope: "a" }));
    const result = await toolLoop(plan({ model: turns(), onBudget: "ask", maxSteps: 3 }), ctx, "go");
    expect(result).toMatchObject({ stopReason: "steps" });
    expect(asked).toHaveLength(6);
  });

  test("ask: refused, it lands", async () => {
    const { ctx, asked } = poor(1, [false]);
    const result = await toolLoop(plan({ model: turns(), onBudget: "ask" }), ctx, "go");
    expect(result).toMatchObject({ status: "partial", stopReason: "budget" });
    expect(asked).toEqual(["turns"]);
  });

  test("an answer that a call has given counts, though the budget has refused another call of the same turn", async () => {
    const toolCalls = ["answer", "x"].map((name, at) => ({ id: String(at), name, arguments: "{}" }));
    const model: LLMClient = {
      id: "both",
      info: { provider: "test", model: "both" },
      generate: async () => ({
        message: { role: "assistant", content: "", toolCalls },
        finishReason: "toolCalls",
      }),
    };
    const ctx = bareContext();
    ctx.tool = () =>
      Promise.reject(new BudgetExhaustedError({ dimension: "toolCalls", used: 0, limit: 0, scope: "a" }));
    const finish: AgentResult<never> = { status: "completed", output: "42", stopReason: "done" };
    const answering: LoopExtension = {
      before: ({ name }) => (name === "answer" ? { finish } : undefined),
    };
    const [x] = tools;
    const able = plan({
      model,
      tools: x === undefined ? [] : [x, { ...x, name: "answer" }],
      validator: () => [],
    });
    expect(await toolLoop(able, ctx, "go", answering)).toEqual(finish);
  });

  test("land, which is the default, asks nobody; and where nobody can be asked, ask lands too", async () => {
    const { ctx, asked } = poor(1, [true]);
    expect(await toolLoop(plan({ model: turns() }), ctx, "go")).toMatchObject({ stopReason: "budget" });
    expect(asked).toEqual([]);
    const { ctx: alone } = poor(1, [true]);
    delete alone.requestBudget;
    expect(await toolLoop(plan({ model: turns(), onBudget: "ask" }), alone, "go")).toMatchObject({
      stopReason: "budget",
    });
  });

  test("anything else is refused at once", () => {
    expect(() => plan({ model: turns(), onBudget: "beg" as never })).toThrow(/TestAgent\.onBudget is "beg"/);
  });
});

describe("hireResult: whoever was cut off is never a success", () => {
  const result = (status: AgentResult["status"]): AgentResult => ({
    status,
    output: "half",
    stopReason: status === "paused" ? "paused" : "budget",
  });
  const error = new ToolError({ toolName: "h", message: "broken" });
  const handle = { runId: "r", execId: "r/h", agentId: "h", status: "running", cancel: () => {} } as never;
  test.each([
    [{ status: "partial", result: result("partial") }, "error: only a partial result (budget): half"],
    [
      {
        status: "partial",
        result: { ...result("partial"), stopReason: "invalid", problem: "n: expected a number" },
      },
      "error: only a partial result (invalid, n: expected a number): half",
    ],
    [
      { status: "paused", result: result("paused") },
      "error: paused for more urgent work; the result so far: half",
    ],
    [{ status: "denied", error }, "error: not hired: broken"],
    [{ status: "failed", error }, "error: broken"],
    [{ status: "cancelled", error }, "error: broken"],
    [{ status: "timedOut", handle }, "error: no answer in time; the agent is still working"],
  ] as const)("%o", (outcome, content) => {
    expect(hireResult(outcome)).toEqual({ content, isError: true });
  });
  test("R16: what is structured is told as the record has it, so that a resumed run tells the same", () => {
    const told = (structured: unknown) =>
      hireResult({
        status: "completed",
        result: { status: "completed", output: "", stopReason: "done", structured },
      });
    expect(told({ tags: new Set(["a"]) })).toEqual({ content: '{"tags":{}}', isError: false });
    expect(told({ n: 1n })).toMatchObject({ isError: true });
  });
  test.each(["", " \n"])(
    "R16: silence (%j) is no answer, unless something structured was given",
    (output) => {
      const silent: AgentResult = { status: "completed", output, stopReason: "done" };
      const outcome = { status: "completed", result: silent } as const;
      expect(hireResult(outcome, "writer")).toEqual({
        content: "error: writer gave no answer",
        isError: true,
      });
      expect(hireResult(outcome)).toEqual({ content: "error: the agent gave no answer", isError: true });
      const structured = { ...silent, structured: { price: 5 } };
      expect(hireResult({ ...outcome, result: structured })).toEqual({
        content: '{"price":5}',
        isError: false,
      });
    },
  );
  test("an answer is one", () => {
    expect(hireResult({ status: "completed", result: result("completed") })).toEqual({
      content: "half",
      isError: false,
    });
  });
});

describe("a bare context for an agent", () => {
  const listener = (): { readonly hooks: Hooks; readonly heard: string[] } => {
    const heard: string[] = [];
    const dispatch: Hooks["dispatch"] = (event, payload) => void heard.push(`${event} ${payload.agentName}`);
    return { heard, hooks: { has: () => true, dispatch, drain: () => {} } };
  };

  test("R20: its own hooks are heard beside those of the tree, at every level", async () => {
    const [all, lead, child] = [listener(), listener(), listener()];
    const stepping = (
      name: string,
      hooks: Hooks,
      turns: Turn[],
      tools = [] as LoopOptions["tools"],
    ): Agent => {
      const made = plan({ name, model: scripted(turns), tools });
      return { id: made.id, hooks, run: (ctx, inbox) => toolLoop(made, ctx, inbox) };
    };
    const below = stepping("child", child.hooks, ["done"]);
    const agent = stepping(
      "lead",
      lead.hooks,
      [{ call: "child", args: { task: "x" } }, "ok"],
      [delegateTo(below)],
    );
    const ctx = bareContext({ agent, hooks: all.hooks });
    await agent.run(ctx, ctx.inbox("go"));
    expect(ctx.agentId).toBe("lead");
    expect(new Set(lead.heard.map((line) => line.split(" ")[1]))).toEqual(new Set(["lead"]));
    expect(child.heard).toEqual([`${HookEvent.STEP_START} child`, `${HookEvent.STEP_END} child`]);
    expect(all.heard).toHaveLength(lead.heard.length + child.heard.length);
  });

  test("one with middleware is refused, because nothing would run it", () => {
    const chat: Pipeline<never> = { isNoop: false, admit: () => {}, run: (_, core) => core() };
    expect(() => bareContext({ agent: { ...helper, pipelines: { chat } } })).toThrow(
      /agent helper: pipelines .* use a Runtime/,
    );
  });

  test("its validator is there for raw JSON Schemas of hand-offs", async () => {
    const model = scripted([{ call: "helper", args: { task: 7 } }, "ok"]);
    const tools = [{ ...delegateTo(helper), input: { type: "object" } }];
    const ctx = bareContext({ validator: () => [{ message: "not today" }] });
    await toolLoop(plan({ model, tools }), ctx, "go");
    expect(ctx.window()[2]).toMatchObject({
      content: expect.stringMatching(/invalid arguments for helper: not today/),
    });
  });
});

describe("raw JSON Schemas", () => {
  const raw: Tool = { name: "raw", description: "", input: { type: "object" }, execute: () => "sunny" };
  const picky = () => [{ message: "not today" }];
  const asked = () => scripted([{ call: "raw" }, "{}"]);

  test("without a validator are refused by name before anything is paid", async () => {
    const model = asked();
    const withTool = toolLoop(plan({ model, tools: [raw] }), bareContext(), "go");
    await expect(withTool).rejects.toThrow(/^tool raw: input .* the validator of the agent or of the run/);
    const withOutput = toolLoop(plan({ model, output: { type: "object" } }), bareContext(), "go");
    await expect(withOutput).rejects.toThrow(/^TestAgent\.output .* pass a JsonSchemaValidator/);
    expect(model.seen).toEqual([]);
  });

  test("of tools are checked by the agent's validator, else by the run's", async () => {
    for (const [own, ofRun, told] of [
      [() => [], undefined, "sunny"],
      [undefined, () => [], "sunny"],
      [picky, () => [], "error: invalid arguments for raw: not today"],
      [() => [], picky, "sunny"],
    ] as const) {
      const ctx = bareContext({ validator: ofRun });
      await toolLoop(plan({ model: asked(), tools: [raw], validator: own }), ctx, "go");
      expect(ctx.window()[2]).toMatchObject({ content: told });
    }
  });

  test("of the answer too", async () => {
    const ctx = bareContext({ validator: () => [] });
    const result = await toolLoop(plan({ model: scripted(["{}"]), output: { type: "object" } }), ctx, "go");
    expect(result).toMatchObject({ status: "completed", structured: {} });
  });

  test("a tool that no object fits is refused by name, and one that an object may fit is not", () => {
    const taking = (input: Tool["input"]) => () => plan({ model: asked(), tools: [{ ...raw, input }] });
    const text = { type: "string" };
    for (const input of [
      text,
      { anyOf: [text, { type: ["number", "null"] }] },
      { enum: ["a"] },
      { const: 1 },
      { allOf: [{ type: "object" }, text] },
      { $ref: "#/$defs/text", $defs: { text } },
    ])
      expect(taking(input)).toThrow(/^tool raw: input .* an object schema/);
    for (const input of [{}, { oneOf: [text, { type: "object" }] }, { type: ["object", "null"] }])
      expect(taking(input)).not.toThrow();
  });

  test("a call outside of a loop is refused by the name of its tool", async () => {
    const { content } = await bareContext().tool({ id: "1", name: "raw", arguments: "{}" }, raw);
    expect(content).toMatch(/^error: tool raw: input is an object; expected a Standard Schema/);
  });
});

test("R21: what a loop tells has the time of its run, unless it is given a clock", () => {
  const clock: Clock = { now: () => 5 };
  const ctx = bareContext({ clock });
  expect(hookBase(ctx)).toMatchObject({ at: 5, agentName: "agent", runId: ctx.meta.runId });
  expect(hookBase(ctx, { now: () => 9 }).at).toBe(9);
  expect(RunMeta.standalone({ clock }).now()).toBe(5);
});
