import {
  type CompactionStrategy,
  JournalLockedError,
  NO_HOOKS,
  type Pipeline,
  type Tool,
} from "@ravi/kernel";
import {
  FileSessionStore,
  MemorySessionStore,
  SessionAgent,
  SessionCorruptError,
  SessionLockedError,
} from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { session, tool } from "./support.ts";

const model = scriptedModel(["x"]);
const small = scriptedModel(["x"], { info: { contextWindow: 8_000 } });
const KEEP: CompactionStrategy = { compact: (messages) => messages };

it("a misspelt option of a store is refused: the default would hold instead", () => {
  const misspelt: object = { synced: false };
  expect(() => new FileSessionStore("sessions", misspelt)).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", field: "FileSessionStore options.synced" }),
  );
});

it.each<[string, object]>([
  ["files", { files: "sessions" }],
  ["files", { files: { open() {} } }],
  ["files", { files: null }],
  ["liveness", { liveness: { isGone: () => false } }],
  ["liveness", { liveness: { me: "", isGone: () => false } }],
  ["liveness", { liveness: { me: "process:a:1:1", isGone: true } }],
])("a store is refused at once if it has no working %s", (field, options) => {
  expect(() => new FileSessionStore("sessions", options)).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", field: `FileSessionStore options.${field}` }),
  );
});

it("a runtime reads off it what it is, what is around it, and what it may spend", () => {
  const chat: Pipeline<never> = { isNoop: false, admit: () => {}, run: (_, core) => core() };
  const told = { version: "2", description: "Talks.", hooks: NO_HOOKS };
  const executionBudget = { maxTurns: 3 };
  const agent = session({ model, ...told, middleware: { chat }, executionBudget });
  expect(agent).toMatchObject({ ...told, pipelines: { chat }, defaults: { executionBudget } });
  expect(session({ model }).defaults).toBe(undefined);
});

it("each wrong option is an error that names it", () => {
  const wrong: readonly [object, string][] = [
    [{}, "SessionAgent.model"],
    [{ model: {} }, "SessionAgent.model"],
    [{ model, models: [1] }, "SessionAgent.models[0]"],
    [{ model, nonsense: 1 }, "SessionAgent.nonsense"],
    [{ model, name: "a/b" }, "SessionAgent.name"],
    [{ model, store: {} }, "SessionAgent.store"],
    [{ model, sessionId: "" }, "sessionId"],
    [{ model, tools: [{}] }, "SessionAgent.tools[0]"],
    [{ model, tools: [tool("a", () => 1), tool("a", () => 1)] }, "SessionAgent.tools[1].name"],
    [{ model, extensions: [{}] }, "SessionAgent.extensions[0]"],
    [{ model, extensions: [{ name: "x", on: { input: 1 } }] }, "SessionAgent.extensions[0]"],
    [{ model, extensions: [{ name: "x", onEvent: {} }] }, "SessionAgent.extensions[0].onEvent"],
    [
      { model, extensions: [{ name: "x", ephemeral: { look() {} } }] },
      "SessionAgent.extensions[0].ephemeral",
    ],
    [{ model, extensions: [{ name: "x", ephemeral: [1] }] }, "SessionAgent.extensions[0].ephemeral[0]"],
    [{ model, retry: { maxRetries: -1 } }, "SessionAgent.retry.maxRetries"],
    [{ model, retry: { tries: 1 } }, "SessionAgent.retry.tries"],
    [{ model, compaction: { strategy: 1 } }, "SessionAgent.compaction.strategy"],
    [{ model, prompt: { soul: "x" } }, "SessionAgent.prompt.soul"],
    [{ model, prompt: { directories: "x" } }, "SessionAgent.prompt.directories"],
    [{ model, maxSteps: 0 }, "SessionAgent.maxSteps"],
    [{ model, toolConcurrency: 0 }, "SessionAgent.toolConcurrency"],
    [{ model, maxToolResultChars: 1 }, "SessionAgent.maxToolResultChars"],
    [{ model, loopDetection: { sameCall: { warn: 0 } } }, "loopDetection.sameCall.warn"],
    [{ model, secrets: "x" }, "SessionAgent.secrets"],
    [{ model, loopDetection: null }, "SessionAgent.loopDetection"],
    [{ model: { ...model, info: undefined } }, "SessionAgent.model.info"],
    [{ model, models: model }, "SessionAgent.models"],
    [{ model, extensions: "x" }, "SessionAgent.extensions"],
    [{ model, compaction: null }, "SessionAgent.compaction"],
    [
      { model, compaction: { strategy: KEEP, contextWindow: 8_000, reserveTokens: 8_000 } },
      "SessionAgent.compaction.reserveTokens",
    ],
    [
      { model: small, compaction: { strategy: KEEP, reserveTokens: 16_384 } },
      "SessionAgent.compaction.reserveTokens",
    ],
    [{ model, compaction: { compact: 1 } }, "SessionAgent.compaction.compact"],
    [{ model, prompt: { docs: 1 } }, "SessionAgent.prompt.docs"],
    [{ model, prompt: { identity: () => "x" } }, "SessionAgent.prompt.identity"],
    [{ model, prompt: { append: ["x"] } }, "SessionAgent.prompt.append"],
    [{ model, prompt: { platforms: [] } }, "SessionAgent.prompt.platforms"],
    [{ model, prompt: { platforms: { sms: 7 } } }, "SessionAgent.prompt.platforms.sms"],
    [{ model, prompt: { footer: "no" } }, "SessionAgent.prompt.footer"],
    [{ model, secrets: [1] }, "SessionAgent.secrets"],
    [
      { model, tools: [{ ...tool("a", () => 1), needsApproval: "yes" }] },
      "SessionAgent.tools[0].needsApproval",
    ],
    [{ model, tools: [{ ...tool("a", () => 1), name: "a b" }] }, "tool name"],
    [{ model, children: [{ name: "c", description: "", tools: "read" }] }, "SessionAgent.children[0].tools"],
    [{ model, children: [{ name: "c", description: "", tool: [] }] }, "SessionAgent.children[0].tool"],
    [{ model, guardrails: {} }, "SessionAgent.guardrails"],
    [{ model, ephemeral: "x" }, "SessionAgent.ephemeral"],
    [{ model, ephemeral: [{ name: "screen", read: () => "" }] }, "SessionAgent.ephemeral[0]"],
    [{ model, ephemeral: [{ look: () => "" }] }, "SessionAgent.ephemeral[0]"],
    [{ model, children: [{ name: "a" }] }, "SessionAgent.children[0].description"],
    [{ model, cwd: 7 }, "SessionAgent.cwd"],
    [{ model, ids: () => "x" }, "SessionAgent.ids"],
    [{ model, clock: Date }, "SessionAgent.clock"],
    [{ model, validator: {} }, "SessionAgent.validator"],
    [{ model, hooks: {} }, "SessionAgent.hooks"],
    [{ model, middleware: { chat: {} } }, "SessionAgent.middleware.chat"],
    [{ model, executionBudget: { maxTurns: -1 } }, "executionBudget.maxTurns"],
    [{ model, settings: { temperature: "hot" } }, "SessionAgent.settings.temperature"],
    [{ model, version: 2 }, "SessionAgent.version"],
    [{ model, description: 2 }, "SessionAgent.description"],
  ];
  for (const [options, field] of wrong)
    expect(() => new SessionAgent(options as never)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE", field }),
    );
  expect(() => new FileSessionStore("")).toThrow("the path of a folder");
});

it.each(["tools", "children"])("another agent in %s is refused, with the way to hand work to it", (field) => {
  const other = new SessionAgent({ model });
  expect(() => new SessionAgent({ model, [field]: [other] })).toThrow(
    /delegateTo\(agent\) of @ravi\/kernel\/loop/,
  );
});

it("an input that is none is refused before anything happens", async () => {
  const agent = session({ model });
  for (const input of ["", 7, undefined])
    await expect(agent.invoke(input as string)).rejects.toMatchObject({ field: "input" });
  await expect(agent.invoke([{ role: "user", content: "Hi" }] as never)).rejects.toThrow(
    "input is an array of 1; expected a non-empty string: the new message alone, because the session has the earlier ones",
  );
  expect(agent.phase).toBe("idle");
});

it("errors are known by their code, to whoever knows only the kernel", () => {
  const locked = new SessionLockedError({ sessionId: "s", owner: "them" });
  expect(locked).toBeInstanceOf(JournalLockedError);
  expect(locked.message).toBe(
    "session s is open for writing by them; close it there first, or open another session",
  );
  const corrupt = new SessionCorruptError({ sessionId: "s", line: 3, position: 99, problem: "gone" });
  expect(corrupt).toMatchObject({ code: "JOURNAL_CORRUPT", line: 3, position: 99, runId: "s" });
});

it("a session works alone with nothing but a model, and with a store it goes on in another agent", async () => {
  const store = new MemorySessionStore();
  const say = scriptedModel((request) => `${request.messages.length}`);
  expect((await session({ model: say }).invoke("Hello")).output).toBe("2");
  const one = session({ model: say, store, sessionId: "s" });
  await one.invoke("Hello");
  await expect(session({ model: say, store, sessionId: "s" }).invoke("Hello")).rejects.toBeInstanceOf(
    SessionLockedError,
  );
  await one.close();
  expect((await session({ model: say, store, sessionId: "s" }).invoke("Again")).output).toBe("4");
});

it("an executionBudget is not dropped in silence where nothing would enforce it, and nothing is paid", async () => {
  const paid = scriptedModel(["Hello."]);
  const limited = session({ model: paid, executionBudget: { maxTurns: 1 } });
  await expect(limited.invoke("x")).rejects.toThrow(
    'agent session: executionBudget is "{\\"maxTurns\\":1}"; expected none, because nothing enforces it without a runtime',
  );
  expect(paid.calls).toEqual([]);
  expect(limited.phase).toBe("idle");
});

it("middleware is not dropped in silence where nothing would run it", async () => {
  const pipeline = { isNoop: false, admit: () => {}, run: async () => {} };
  await expect(session({ model, middleware: { chat: pipeline } }).invoke("x")).rejects.toMatchObject({
    code: "INVALID_VALUE",
  });
});

it("a turn that is cut off, refused, empty or too long ends as it should", async () => {
  const call = { toolCalls: [{ name: "work", arguments: {} }] };
  const tools = [tool("work", () => "done")];
  const end = async (script: Parameters<typeof scriptedModel>[0], options = {}) => {
    const { status, output, stopReason } = await session({
      model: scriptedModel(script),
      tools,
      ...options,
    }).invoke("x");
    return [status, output, stopReason];
  };
  expect(await end([{ text: "half", finishReason: "length" }])).toEqual(["partial", "half", "length"]);
  expect(await end([{ text: "no", finishReason: "refused" }])).toEqual(["partial", "no", "refused"]);
  expect(await end(["", "better"])).toEqual(["completed", "better", "done"]);
  expect(await end(["", ""])).toEqual(["partial", "", "steps"]);
  expect(await end([call, call, "so far"], { maxSteps: 2, loopDetection: false })).toEqual([
    "partial",
    "so far",
    "steps",
  ]);
});

it("O19: labels and branches are kept, and the leaf is durable", async () => {
  const store = new MemorySessionStore();
  const say = scriptedModel(() => "yes");
  const one = session({ model: say, store, sessionId: "s" });
  await one.invoke("first");
  const first = one.sessionManager.leaf ?? "";
  await one.sessionManager.label(first, "start");
  await one.invoke("second");
  await one.fork(first, { note: "another try" });
  await one.close();
  const two = session({ model: say, store, sessionId: "s" });
  const manager = await two.open();
  expect(manager.labels).toEqual(new Map([[first, "start"]]));
  expect((await manager.messages()).map(({ content }) => content)).toEqual(["first", "yes"]);
  expect(manager.path().at(-1)).toMatchObject({
    kind: "branch",
    parent: first,
    entry: { note: "another try" },
  });
});

it("a tool with a raw JSON Schema is refused by name before anything is paid, unless there is a validator", async () => {
  const raw: Tool = { name: "raw", description: "", input: { type: "object" }, execute: () => "sunny" };
  const asking = () => scriptedModel([{ toolCalls: [{ name: "raw", arguments: {} }] }, "ok"]);
  const unheard = asking();
  await expect(session({ model: unheard, tools: [raw] }).invoke("Hello")).rejects.toThrow(
    /^tool raw: input /,
  );
  expect(unheard.calls).toHaveLength(0);
  const heard = asking();
  await session({ model: heard, tools: [raw], validator: () => [] }).invoke("Hello");
  expect(heard.calls[1]?.request.messages.at(-1)).toMatchObject({ role: "tool", content: "sunny" });
});

it("O16: a child whose list of tools is misspelt, or is no list, is refused: it would be allowed all of them", () => {
  const parent = session({ model });
  const wrong: readonly [unknown, string][] = [
    [{ tools: "read" }, "spawnChild.tools"],
    [{ tools: null }, "spawnChild.tools"],
    [{ tools: [1] }, "spawnChild.tools"],
    [{ tool: [] }, "spawnChild.tool"],
    [["read"], "spawnChild"],
    [null, "spawnChild"],
  ];
  for (const [options, field] of wrong)
    expect(() => parent.spawnChild(options as object)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE", field }),
    );
});

it("O16: a child with a tool that does not exist is named in the error, however it was made", async () => {
  const asking = scriptedModel([{ toolCalls: [{ name: "helper", arguments: { task: "Look." } }] }, "ok"]);
  const children = [{ name: "helper", description: "Helps.", tools: ["nope"] }];
  const parent = session({ model: asking, children });
  await parent.invoke("Hello");
  expect(asking.calls[1]?.request.messages.at(-1)?.content).toContain("tools of helper");
  await expect(parent.spawnChild({ name: "scout", tools: ["nope"] }).invoke("x")).rejects.toMatchObject({
    field: "tools of scout",
    message: 'tools of scout is "nope"; expected one of helper',
  });
});

it("O1: what an operation of a session is told is checked, and it is idle afterwards", async () => {
  const talk = session({ model: scriptedModel(["one", "two"]) });
  await talk.invoke("x");
  const leaf = talk.sessionManager.leaf ?? "";
  const wrong: readonly [() => Promise<unknown>, string][] = [
    [() => talk.invoke("x", { singal: AbortSignal.abort() } as object), "invoke options.singal"],
    [() => talk.invoke("x", { channel: 5 as never }), "invoke options.channel"],
    [() => talk.fork(leaf, { newsession: true } as object), "fork options.newsession"],
    [() => talk.fork(leaf, { newSession: "yes" as never }), "fork options.newSession"],
    [() => talk.fork(leaf, { note: 5n as never }), "fork options.note"],
    [() => talk.setModel(null as never), "model"],
    [() => talk.setModel({} as never), "model"],
  ];
  for (const [attempt, field] of wrong)
    await expect(attempt()).rejects.toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
  expect((await talk.invoke("y")).output).toBe("two");
});

it("a text in place of a context and an inbox is refused with how a session is run", async () => {
  const talk = session({ model });
  await expect(Reflect.apply(talk.run, talk, ["Hello"])).rejects.toThrow(
    /^session\.run: inbox is undefined; .* call run\(agent, input\) of @ravi\/sdk/,
  );
});
