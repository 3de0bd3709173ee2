import {
  type AuditEntry,
  type ChatContext,
  type ChatMessage,
  type Hooks,
  type LLMClient,
  MiddlewareTermination,
  type Permissions,
  ProviderError,
  type RunEvent,
  SessionId,
  ToolError,
} from "@ravi/kernel";
import { MemoryHistory } from "@ravi/context";
import { EventRecorder } from "@ravi/hooks";
import { fallback, MiddlewarePipeline, retry, timeout, toolCallValidation } from "@ravi/middleware";
import { type Answer, scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  agent,
  AgentId,
  conversation,
  estimate,
  getRunScope,
  HookEvent,
  HookManager,
  isRaviError,
  run,
  start,
  tool,
} from "@ravi/sdk";

const greeter = (...answers: Answer[]) =>
  agent({ name: "greeter", model: scriptedModel(answers.length === 0 ? ["Hello."] : answers) });

const overloaded = () => new ProviderError({ kind: "OVERLOADED", status: 503, message: "overloaded" });

describe("run", () => {
  test("gives the answer, what it took and what it was held to", async () => {
    const result = await run(greeter(), "Hi", { prices: { scripted: { input: 1, output: 2 } } });
    expect(result).toMatchObject({ status: "completed", output: "Hello.", stopReason: "done", inDoubt: [] });
    const { inputTokens, outputTokens } = result.usage;
    expect(result.cost).toBeCloseTo((inputTokens + 2 * outputTokens) / 1e6, 9);
    expect(result.limits.budget.usd).toBe(1);
    expect(result.error).toBeUndefined();
  });

  test("an agent's context puts pictures before the input", async () => {
    const photo = {
      type: "image",
      url: "data:image/png;base64,iVBORw0KGgo=",
      mediaType: "image/png",
    } as const;
    const model = scriptedModel(["A cat."]);
    const getPromptWindow = () => [{ role: "user", content: [photo] } as const];
    const seer = agent({ name: "seer", model, context: { agentId: AgentId("seer"), getPromptWindow } });
    expect((await run(seer, "What is this?")).output).toBe("A cat.");
    expect(model.calls[0]?.request.messages).toEqual([
      { role: "user", content: [photo] },
      { role: "user", content: "What is this?" },
    ]);
  });

  test("telemetry gets a span around the run and each call, the audit log an entry for each tool call", async () => {
    const spans = new EventRecorder();
    const audited: AuditEntry[] = [];
    const shout = tool({ name: "shout", description: "", input: z.object({}), execute: () => "!" });
    const shouter = agent({
      name: "shouter",
      model: scriptedModel([{ toolCalls: [{ name: "shout", arguments: {} }] }, "Done."]),
      tools: [shout],
    });
    await run(shouter, "Hi", {
      telemetry: spans,
      auditLog: { isNoop: false, append: (entry) => void audited.push(entry) },
    });
    expect(spans.events.map(({ name }) => name)).toEqual(["ravi.llm", "ravi.tool", "ravi.llm", "ravi.run"]);
    expect(audited).toMatchObject([{ action: "tool", target: "shout", outcome: "ok" }]);
  });

  test("what the permissions deny is not done, and the model is told why", async () => {
    let shouts = 0;
    const shout = tool({ name: "shout", description: "", input: z.object({}), execute: () => ++shouts });
    const model = scriptedModel([{ toolCalls: [{ name: "shout" }, { name: "shout" }] }, "Quiet, then."]);
    const asked: string[] = [];
    const permissions: Permissions = {
      isNoop: false,
      check({ action, target }) {
        asked.push(`${action} ${target}`);
        return action === "tool" ? { allow: false, reason: "it is late" } : { allow: true };
      },
    };
    const { status } = await run(agent({ name: "shouter", model, tools: [shout] }), "Hi", { permissions });
    expect([status, shouts]).toEqual(["completed", 0]);
    expect(JSON.stringify(model.calls[1]?.request.messages)).toContain("it is late");
    expect(asked.filter((one) => one === "tool shout")).toHaveLength(2);
  });

  test("gives a result whatever the status, and `unwrap` throws the run's own error", async () => {
    const failing = await run(
      agent({
        name: "failing",
        model: scriptedModel([new MiddlewareTermination({ layer: "guard", reason: "no" })]),
      }),
      "Hi",
    );
    expect(failing.status).toBe("failed");
    expect(failing.error?.code).toBe("MIDDLEWARE_TERMINATION");
    expect(() => failing.unwrap()).toThrow(failing.error);
    const done = await run(greeter(), "Hi");
    expect(done.unwrap()).toBe(done);
  });

  test("an answer that had the wrong shape: the result, its JSON and `unwrap` say what was wrong with it", async () => {
    const output = z.object({ sum: z.number() });
    const adder = agent({
      name: "adder",
      model: scriptedModel(['{"sum":"five"}']),
      output,
      outputRetries: 0,
    });
    const names: string[] = [];
    const result = await run(adder, "2 + 3", {
      onEvent: ({ event }) => event.type === "progress" && names.push(event.name),
    });
    expect(names).toEqual(["outputMisfit"]);
    expect(result).toMatchObject({
      stopReason: "invalid",
      problem: expect.stringMatching(/^sum: .*expected number/),
    });
    expect(result.toJSON()).toMatchObject({ problem: result.problem });
    expect(() => result.unwrap()).toThrow(/stopReason invalid\); the last answer did not fit: sum: .*number/);
  });

  test("`unwrap` of a partial result says why it is one", async () => {
    const clerk = agent({
      name: "clerk",
      model: scriptedModel([{ text: "Half an ans", finishReason: "length" }]),
    });
    const result = await run(clerk, "Hi");
    expect(result).toMatchObject({ status: "partial", output: "Half an ans", stopReason: "length" });
    expect(() => result.unwrap()).toThrow(/"partial"; expected "completed" \(stopReason length\)/);
  });

  test("a result is plain JSON, its error too", async () => {
    const result = await run(agent({ name: "failing", model: scriptedModel([new Error("boom")]) }), "Hi", {
      retry: false,
    });
    const json = JSON.parse(JSON.stringify(result));
    expect(json).toMatchObject({ status: "failed", error: { message: expect.stringContaining("boom") } });
    expect(json.tree.agentId).toBe("failing");
  });

  test("raw JSON Schemas of tools and answers are checked by the agent's validator or the run's, and by neither not at all", async () => {
    const report = tool({
      name: "report",
      description: "The weather.",
      input: { type: "object" },
      execute: () => "sunny",
    });
    const model = () => scriptedModel([{ toolCalls: [{ name: "report", arguments: {} }] }, "{}"]);
    const options = { name: "clerk", tools: [report], output: { type: "object" } };
    const unheard = model();
    const refused = await run(agent({ ...options, output: undefined, model: unheard }), "Hi");
    expect(refused.status).toBe("failed");
    expect(refused.error).toMatchObject({ code: "INVALID_VALUE", field: "tool report: input" });
    expect(unheard.calls).toHaveLength(0);
    const validator = () => [];
    for (const [own, ofRun] of [
      [validator, undefined],
      [undefined, validator],
    ]) {
      const heard = model();
      const result = await run(agent({ ...options, model: heard, validator: own }), "Hi", {
        validator: ofRun,
      });
      expect(result).toMatchObject({ status: "completed", structured: {} });
      expect(heard.calls[1]?.request.messages.at(-1)).toMatchObject({ content: "sunny" });
    }
  });

  test("a pipeline at the level of another is refused of an agent and of a run: its guards would guard nothing", async () => {
    const denies = new MiddlewarePipeline([toolCallValidation({ deny: ["pay"] })]);
    const misplaced: object = { middleware: { chat: denies } };
    const model = scriptedModel(["Hello."]);
    expect(() => agent({ name: "greeter", model, ...misplaced })).toThrow(
      "ReActAgent.middleware.chat is an object; expected a pipeline of the chat level; this one is of the function level",
    );
    await expect(run(greeter(), "Hi", misplaced)).rejects.toThrow("pipelines.chat is an object");
  });

  test("what is no agent, no text or no known option is refused by name", async () => {
    const wrong: object = { budjet: { usd: 1 } };
    await expect(run(greeter(), "Hi", wrong)).rejects.toThrow(
      /run options\.budjet .* known fields: budget, tree, .*; did you mean budget\?$/,
    );
    await expect(run(greeter(), "Hi", { budget: { usd: -1 } })).rejects.toThrow(/budget\.usd is -1/);
    await expect(run(greeter(), "Hi", { budget: { dollars: 1 } as object })).rejects.toThrow(
      /budget\.dollars/,
    );
    await expect(run(greeter(), "Hi", { tree: { agents: 0 } })).rejects.toThrow(/tree\.agents is 0/);
    await expect(run(greeter(), "Hi", { middleware: { chats: [] } as object })).rejects.toThrow(
      /middleware\.chats/,
    );
    await expect(run({} as ReturnType<typeof greeter>, "Hi")).rejects.toThrow(
      /agent is an object; expected an agent/,
    );
    await expect(run(greeter(), 7 as never)).rejects.toThrow(/input is 7/);
    await expect(run(greeter(), { city: "Oslo" } as never)).rejects.toThrow(/pass an object as JSON$/);
    expect(() => agent({ name: "x", model: scriptedModel(["a"]), instruction: "?" } as never)).toThrow(
      /agent\.instruction/,
    );
    const badTool = { name: "t", description: "", input: {}, needsAproval: true, execute: () => 1 };
    expect(() => tool(badTool)).toThrow(/tool t\.needsAproval/);
  });

  test("R6: limits and prices that were not awaited, or are in a map, are refused and do not count as none", async () => {
    for (const [given, shown] of [
      [Promise.resolve({ usd: 1 }), "a promise"],
      [new Map([["usd", 1]]), "a Map"],
      [new Date(0), "an object"],
    ] as const) {
      const refused = (field: string): RegExp => new RegExp(`^${field} is ${shown};`);
      await expect(run(greeter(), "Hi", { budget: given as object })).rejects.toThrow(refused("budget"));
      await expect(run(greeter(), "Hi", { tree: given as object })).rejects.toThrow(refused("tree"));
      await expect(run(greeter(), "Hi", { prices: given as never })).rejects.toThrow(refused("prices"));
      expect(() => agent({ name: "x", model: scriptedModel(["a"]), budget: given as object })).toThrow(
        refused("agent\\.budget"),
      );
    }
    const prices = { x: { input: 5n as never, output: 1 } };
    await expect(run(greeter(), "Hi", { prices })).rejects.toThrow(/^prices\["x"\]\.input is 5n/);
  });

  test("R27: what is no layer is refused, and said which", async () => {
    for (const none of [null, undefined, "retry"])
      await expect(run(greeter(), "Hi", { middleware: { chat: [none as never] } })).rejects.toThrow(
        /layers\[0\] is .*; expected a layer/,
      );
  });

  test("R19: a tool that is an object of a class is one, as by the kernel's defineTool", async () => {
    class Counter {
      readonly name = "count";
      readonly description = "Counts.";
      readonly input = z.object({});
      private counted = 0;
      execute(): number {
        return ++this.counted;
      }
    }
    const count = tool(new Counter());
    const model = scriptedModel([{ toolCalls: [{ name: "count", arguments: {} }] }, "Done."]);
    const result = await run(agent({ name: "counter", model, tools: [count] }), "Count.");
    expect(result.status).toBe("completed");
    expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("1");
  });

  test("the ambient scope is on: a tool knows for whom it works", async () => {
    const seen: unknown[] = [];
    const who = tool({
      name: "who",
      description: "Says who asks.",
      input: z.object({}),
      execute: () => void seen.push(getRunScope()),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "who", arguments: {} }] }, "Done."]);
    await run(agent({ name: "clerk", model, tools: [who] }), "Hi", {
      userId: "ada",
      tenantId: "acme",
      metadata: { ticket: 7 },
      runId: "run-1",
    });
    expect(seen).toMatchObject([
      { userId: "ada", tenantId: "acme", metadata: { ticket: 7 }, runId: "run-1" },
    ]);
    expect(getRunScope()).toBeUndefined();
  });

  test("hooks that hear the run and its agent are told once, so that nothing is counted twice", async () => {
    const hooks = new HookManager();
    const heard: string[] = [];
    hooks.onAny((event) => void heard.push(event));
    await run(agent({ name: "greeter", model: scriptedModel(["Hello"]), hooks }), "Hi", { hooks });
    expect(heard).toEqual(["run_start", "step_start", "llm_start", "llm_end", "step_end", "run_end"]);
  });

  test("hooks of one's own hear what they listen to and nothing else, and end no process where they fail", async () => {
    const heard: string[] = [];
    const told: string[] = [];
    const hooks: Hooks = {
      has: (event) => event === HookEvent.TOOL_END,
      dispatch: async (event) => {
        heard.push(event);
        throw new Error("the observer is broken");
      },
    };
    const error = (_: string, fields?: object): void => void told.push(JSON.stringify(fields));
    const logger = { debug() {}, info() {}, warn() {}, error };
    const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, "Hello"]);
    const look = tool({ name: "look", description: "", input: z.object({}), execute: () => "seen" });
    const greets = agent({ name: "greeter", model, tools: [look] });
    const result = await run(greets, "Hi", { hooks, logger, runId: "r" });
    expect(result.status).toBe("completed");
    expect(heard).toEqual(["tool_end"]);
    expect(told).toEqual(['{"error":"the observer is broken","runId":"r"}']);
  });

  test("hooks hear the run, and the tree lists its calls all the same", async () => {
    const hooks = new HookManager();
    const heard: string[] = [];
    hooks.on(HookEvent.RUN_END, ({ status }) => void heard.push(status));
    hooks.on(HookEvent.LLM_END, ({ model }) => void heard.push(model));
    const result = await run(greeter(), "Hi", { hooks });
    expect(heard).toEqual(["scripted", "completed"]);
    expect(result.tree.root.calls).toMatchObject([{ kind: "llm", name: "scripted:scripted", status: "ok" }]);
  });

  test("a signal cancels it", async () => {
    const stop = new AbortController();
    const hanging = agent({ name: "hanging", model: scriptedModel([{ fault: { type: "hang" } }]) });
    const running = run(hanging, "Hi", { signal: stop.signal });
    stop.abort("enough");
    expect(await running).toMatchObject({ status: "cancelled" });
  });
});

describe("one layer retries, and only one", () => {
  test("a temporary failure is tried again by default", async () => {
    const clock = virtualClock();
    const running = run(greeter(overloaded(), "Hello."), "Hi", { clock });
    await clock.runAll();
    expect(await running).toMatchObject({ status: "completed", output: "Hello." });
  });

  test("`retry: false` fails at once", async () => {
    const result = await run(greeter(overloaded(), "Hello."), "Hi", { retry: false });
    expect(result.error).toMatchObject({ code: "PROVIDER_ERROR", kind: "OVERLOADED" });
  });

  const calls = async (make: (model: ReturnType<typeof scriptedModel>) => Parameters<typeof run>) => {
    const clock = virtualClock();
    const model = scriptedModel(() => overloaded());
    const [who, input, options] = make(model);
    const running = run(who, input, { ...options, clock });
    await clock.runAll();
    expect((await running).status).toBe("failed");
    return model.calls.length;
  };

  test("a retry of the user's own takes the place of the default", async () => {
    const own = retry({ maxRetries: 1, random: () => 0 });
    expect(await calls((model) => [agent({ name: "a", model }), "Hi", {}])).toBe(4);
    expect(await calls((model) => [agent({ name: "a", model }), "Hi", { middleware: { chat: [own] } }])).toBe(
      2,
    );
    const pipeline = new MiddlewarePipeline([own]);
    expect(
      await calls((model) => [agent({ name: "a", model }), "Hi", { middleware: { chat: pipeline } }]),
    ).toBe(2);
    expect(await calls((model) => [agent({ name: "a", model, middleware: { chat: [own] } }), "Hi", {}])).toBe(
      2,
    );
    expect(await calls((model) => [agent({ name: "a", model }), "Hi", { retry: { maxRetries: 2 } }])).toBe(3);
  });

  test("a pipeline of the user's own runs inside of the default retry", async () => {
    const clock = virtualClock();
    let passes = 0;
    const pipeline = new MiddlewarePipeline([
      {
        level: "chat",
        async process(_, next) {
          passes++;
          await next();
        },
      },
    ]);
    const running = run(greeter(overloaded(), "Hello."), "Hi", {
      clock,
      middleware: { chat: pipeline },
    });
    await clock.runAll();
    expect((await running).status).toBe("completed");
    expect(passes).toBe(2);
  });

  test("a second model takes over when the first fails, and events, hooks and the tree show it", async () => {
    const first = scriptedModel([overloaded()], { info: { provider: "one", model: "large" } });
    const second = scriptedModel(["Spare."], { info: { provider: "two", model: "small" } });
    const told: unknown[] = [];
    const hooks = new HookManager();
    hooks.on(HookEvent.LLM_END, ({ provider, model }) => void told.push(`${provider}:${model}`));
    const result = await run(agent({ name: "a", model: first }), "Hi", {
      middleware: { chat: [fallback({ models: [second], onFallback: ({ to }) => told.push(`to ${to}`) })] },
      hooks,
      onEvent: ({ event }) => {
        if (event.type === "progress") told.push([event.name, event.data]);
      },
    });
    expect(result).toMatchObject({ status: "completed", output: "Spare." });
    const key = expect.any(String);
    expect(told).toEqual([
      `to ${second.id}`,
      ["fallback", { key, from: "one:large", to: "two:small" }],
      "two:small",
    ]);
    expect(result.tree.root).toMatchObject({ retries: 1, calls: [{ name: "two:small", status: "ok" }] });
    expect(String(result.tree)).toContain("1 retried");
  });

  test.each([
    ["retry", [retry({ random: () => 0 }), timeout({ timeoutMs: 10 })], "At last."],
    ["fallback", [fallback({ models: [scriptedModel(["Spare."])] }), timeout({ timeoutMs: 10 })], "Spare."],
  ])(
    "a %s in a pipeline waits for no model that does not hear of its time limit",
    async (_, layers, said) => {
      const clock = virtualClock();
      let asked = 0;
      const scripted = scriptedModel(["At last."]);
      const deaf: LLMClient = {
        id: scripted.id,
        info: scripted.info,
        generate: (request, options) =>
          ++asked === 1 ? new Promise(() => {}) : scripted.generate(request, options),
      };
      const chat = new MiddlewarePipeline<ChatContext>(layers);
      const running = run(agent({ name: "a", model: deaf }), "Hi", { clock, middleware: { chat } });
      await clock.advance(60_000);
      expect((await running).output).toBe(said);
    },
  );
});

describe("start", () => {
  test("gives a handle at once, with live events and the run's id", async () => {
    const handle = start(greeter(), "Hi", { runId: "run-7" });
    expect(handle).toMatchObject({ runId: "run-7", status: "pending" });
    const types: string[] = [];
    for await (const { event } of handle.events()) types.push(event.type);
    expect(types).toEqual(expect.arrayContaining(["started", "text", "usage", "completed"]));
    expect((await handle.result).status).toBe("completed");
    expect(handle.status).toBe("completed");
  });

  test("`cancel` is final", async () => {
    const handle = start(
      agent({ name: "hanging", model: scriptedModel([{ fault: { type: "hang" } }]) }),
      "Hi",
    );
    handle.cancel("no longer needed");
    const result = await handle.result;
    expect(result.status).toBe("cancelled");
    expect(result.error?.message).toContain("no longer needed");
  });

  test("`onEvent` sees every event in order before the result is there; what it throws changes nothing", async () => {
    const seen: RunEvent[] = [];
    const warned: string[] = [];
    const quiet = { debug() {}, info() {}, error() {}, warn: (message: string) => void warned.push(message) };
    const result = await run(greeter(), "Hi", {
      logger: quiet,
      budget: { usd: null },
      onEvent(event) {
        seen.push(event);
        throw new Error("the screen is gone");
      },
    });
    expect(result.status).toBe("completed");
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, at) => at + 1));
    expect(seen.at(-1)?.event.type).toBe("completed");
    expect(warned).toHaveLength(1);
  });

  test("an `onEvent` and a log that both fail change nothing", async () => {
    const broken = (): never => {
      throw new Error("the disk is full");
    };
    const logger = { debug: broken, info: broken, warn: broken, error: broken };
    const result = await run(greeter(), "Hi", { logger, onEvent: broken });
    expect(result.status).toBe("completed");
  });

  test("an async `onEvent` that fails ends neither the run nor the process", async () => {
    const warned: string[] = [];
    const quiet = { debug() {}, info() {}, error() {}, warn: (message: string) => void warned.push(message) };
    const onEvent = (): Promise<void> => Promise.reject(new Error("the screen is gone"));
    const options = { logger: quiet, onEvent, budget: { usd: null } };
    expect((await run(greeter(), "Hi", options)).status).toBe("completed");
    expect(warned).toHaveLength(1);
  });

  test.each([
    ["throws", (thrown: object) => (): never => throwIt(thrown)],
    ["rejects with", (thrown: object) => async (): Promise<void> => throwIt(thrown)],
  ])("T8: an `onEvent` that %s what has no text ends neither the run nor the process", async (_, made) => {
    const trap = (): never => {
      throw new Error("not for you");
    };
    const thrown = [Object.create(null), new Proxy({}, { get: trap, getPrototypeOf: trap })] as object[];
    for (const each of thrown) {
      const warned: string[] = [];
      const quiet = {
        debug() {},
        info() {},
        error() {},
        warn: (message: string) => void warned.push(message),
      };
      const options = { logger: quiet, onEvent: made(each), budget: { usd: null } };
      expect((await run(greeter(), "Hi", options)).status).toBe("completed");
      expect(warned).toEqual(["onEvent threw an error; the run continues"]);
    }
  });
});

function throwIt(thrown: unknown): never {
  throw thrown;
}

describe("sessions", () => {
  const lastWords = () => scriptedModel(({ messages }) => `I have heard ${messages.length} messages.`);
  const clerk = agent({ name: "clerk", model: lastWords() });

  test("a run that names its session goes on with that conversation; one that does not starts afresh", async () => {
    const sessionId = `session-${crypto.randomUUID()}`;
    expect((await run(clerk, "One", { sessionId })).output).toBe("I have heard 1 messages.");
    expect((await run(clerk, "Two", { sessionId })).output).toBe("I have heard 3 messages.");
    expect((await run(clerk, "Three")).output).toBe("I have heard 1 messages.");
  });

  test("a history of the user's own is used, and not the default one", async () => {
    const history = new MemoryHistory();
    await run(clerk, "One", { sessionId: "s", history });
    expect((await run(clerk, "Two", { sessionId: "s", history })).output).toBe("I have heard 3 messages.");
    expect((await run(clerk, "Two", { sessionId: "s", history: new MemoryHistory() })).output).toBe(
      "I have heard 1 messages.",
    );
  });

  const SAID: readonly ChatMessage[] = [
    { role: "user", content: "One" },
    { role: "assistant", content: "I have heard 1 messages." },
  ];

  test.each([
    "limiter",
    "permissions",
    "telemetry",
    "auditLog",
    "validator",
    "logger",
    "clock",
    "ids",
    "signal",
  ])("a wrong %s is refused alike by run, estimate and conversation", async (name) => {
    const options = { [name]: "wrong" };
    const refused = new RegExp(`${name} is "wrong"; expected a`);
    await expect(run(clerk, "Hi", options)).rejects.toThrow(refused);
    await expect(estimate(clerk, "Hi", options)).rejects.toThrow(refused);
    if (name !== "signal") expect(() => conversation(clerk, options)).toThrow(refused);
  });

  test.each([
    ["messages", [...SAID, { role: "user", content: "Two" }]],
    ["one message", { role: "user", content: "Two" }],
  ])("%s instead of a text are refused with where the conversation belongs", async (_, given) => {
    const refused =
      /^input is .*; expected a string: the new message alone\..* sessionId .* history.* attachments/;
    await expect(run(clerk, given as never)).rejects.toThrow(refused);
    await expect(estimate(clerk, given as never)).rejects.toThrow(refused);
  });

  test("messages that are kept elsewhere are put into a history, and the next run continues them", async () => {
    const history = new MemoryHistory();
    history.append({ sessionId: SessionId("s"), agentName: "clerk" }, SAID);
    expect((await run(clerk, "Two", { sessionId: "s", history })).output).toBe("I have heard 3 messages.");
  });
});

test("a tool's failure reaches the model, and the run goes on", async () => {
  const broken = tool({
    name: "broken",
    description: "Fails.",
    input: z.object({}),
    execute() {
      throw new ToolError({ toolName: "broken", message: "out of paper" });
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "broken", arguments: {} }] }, "It is out of paper."]);
  const result = await run(agent({ name: "clerk", model, tools: [broken] }), "Print it");
  expect(result.output).toBe("It is out of paper.");
  expect(result.tree.root.calls).toMatchObject([
    { kind: "llm" },
    { kind: "tool", name: "broken" },
    { kind: "llm" },
  ]);
});

test("errors are recognised by code", async () => {
  const caught = await run(greeter(), "Hi", { budget: { turns: -1 } }).catch((error: unknown) => error);
  expect(isRaviError(caught, "INVALID_VALUE")).toBe(true);
});

test.each([
  ["journal", ""],
  ["journal", 7],
  ["hooks", {}],
  // Nobody could ask it what it listens to, so it would never be told anything.
  ["hooks", { dispatch() {} }],
  ["history", []],
  ["compaction", () => []],
  ["onEvent", "print"],
  ["handleSignals", "yes"],
  ["prices", 3],
  ["prices", { price: () => ({ usd: 1 }) }],
  ["retry", 3],
  ["restart", 3],
  // Without a journal there is nothing to restart from.
  ["restart", { shouldRetry: () => true, delayMs: () => 0, reset() {} }],
  ["middleware", { chat: retry() }],
  ["middleware", null],
  ["tree", null],
  ["budget", 2],
])(
  "an option of the wrong kind (%s) is refused by its name, before anything is opened or paid",
  async (name, value) => {
    const model = scriptedModel(["Hello."]);
    const wrong = { code: "INVALID_VALUE", field: expect.stringContaining(name) };
    const one = agent({ name: "a", model });
    await expect(run(one, "Hi", { [name]: value })).rejects.toMatchObject(wrong);
    await expect(estimate(one, "Hi", { [name]: value })).rejects.toMatchObject(wrong);
    expect(model.calls).toEqual([]);
  },
);

test("of two runs with one id at the same time, without a journal, the second is refused; after the first has ended it is not", async () => {
  const model = scriptedModel(() => "Hello.");
  const greeting = agent({ name: "greeting", model });
  const first = start(greeting, "Hi", { runId: "one" });
  const again = () => start(greeting, "Hi", { runId: "one" });
  expect(again).toThrow(/^runId is "one"; expected an id that no running run has/);
  expect(again).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field: "runId" }));
  await expect(run(greeting, "Hi", { runId: "one" })).rejects.toMatchObject({ field: "runId" });
  await run(greeting, "Hi", { runId: "another" });
  expect((await first.result).status).toBe("completed");
  expect((await again().result).status).toBe("completed");
  // One that could not be started has left the id free.
  expect(() => start(greeting, "Hi", { runId: "two", priority: 99 as 0 })).toThrow(/priority/);
  expect((await run(greeting, "Hi", { runId: "two" })).status).toBe("completed");
  expect(model.calls).toHaveLength(4);
});
