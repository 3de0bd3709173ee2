import {
  BudgetExhaustedError,
  type ChatMessage,
  type CompactionContext,
  HookEvent,
  type Hooks,
  type MaybePromise,
  ProviderError,
} from "@ravi/kernel";
import { estimateTokens } from "@ravi/kernel/loop";
import { defineExtension, MemorySessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { problemWith } from "./prompt-check.ts";
import { recorder, session, tool } from "./support.ts";

const keepLast = (count: number) => ({
  name: "last",
  compact: (messages: readonly ChatMessage[]) => messages.slice(-count),
});

it("O12: after a turn that leaves less than the reserve, and not before", async () => {
  const log: string[] = [];
  const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 0 });
  const model = scriptedModel([
    { text: "one", usage: usage(80) },
    { text: "two, a little longer", usage: usage(81) },
    { text: "three", usage: usage(10) },
  ]);
  const agent = session({
    model,
    extensions: [recorder(log)],
    compaction: { strategy: keepLast(1), contextWindow: 100, reserveTokens: 20 },
  });
  await agent.invoke("a");
  expect(log.filter((event) => event.includes("compact"))).toEqual([]);
  await agent.invoke("b");
  expect(log.slice(-5)).toEqual([
    "agent_end completed",
    "save_point",
    "session_before_compact",
    "session_compact",
    "settled",
  ]);
  await agent.invoke("c");
  expect(model.calls[2]?.request.messages.slice(1)).toEqual([
    { role: "assistant", content: "two, a little longer" },
    { role: "user", content: "c" },
  ]);
});

it.each([
  [200_000, 200_000 - 16_384],
  [65_536, 65_536 - 16_384],
  [1_000, 750],
])("O12: of a window of %i tokens the conversation may fill %i by default", async (contextWindow, most) => {
  const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 0 });
  const model = scriptedModel([
    { text: "one", usage: usage(most) },
    { text: "two", usage: usage(most + 1) },
  ]);
  const agent = session({ model, compaction: { strategy: keepLast(1), contextWindow } });
  await agent.invoke("a");
  expect(await agent.sessionManager.messages()).toHaveLength(2);
  await agent.invoke("b");
  expect(await agent.sessionManager.messages()).toHaveLength(1);
});

it("O12: after an overflow what ends without a question is no compaction: no model could answer it", async () => {
  const overflow = new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long", status: 400 });
  const model = scriptedModel(["one", overflow, "never"]);
  const withoutQuestion = {
    name: "all but the last",
    compact: (messages: readonly ChatMessage[]) => messages.slice(0, -1),
  };
  const agent = session({ model, compaction: withoutQuestion });
  await agent.invoke("a");
  await expect(agent.invoke("b")).rejects.toBe(overflow);
  expect(model.calls).toHaveLength(2);
  expect(agent.sessionManager.entries().map(({ kind }) => kind)).not.toContain("compaction");
});

it("O12: after an overflow it is made once in a turn, though it could leave out more", async () => {
  const overflow = new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long", status: 400 });
  const model = scriptedModel(["one", "two", "three", overflow, overflow, "never"]);
  let made = 0;
  const withoutOldest = {
    name: "without the oldest",
    compact(messages: readonly ChatMessage[]) {
      made++;
      return messages.slice(2);
    },
  };
  const agent = session({ model, compaction: withoutOldest });
  for (const text of ["a", "b", "c"]) await agent.invoke(text);
  await expect(agent.invoke("d")).rejects.toBe(overflow);
  expect([made, model.calls.length]).toEqual([1, 5]);
});

it("O12: one that failed is tried after the next turn, one that paid for nothing when half of the room left is gone", async () => {
  const tried: number[] = [];
  let turn = 0;
  const model = scriptedModel(() => ({
    text: "x",
    usage: { inputTokens: 900 + 10 * ++turn, outputTokens: 0 },
  }));
  type Compact = (messages: readonly ChatMessage[], count: number) => MaybePromise<readonly ChatMessage[]>;
  const summarizer = scriptedModel(() => "no shorter");
  const agentWith = (compact: Compact, isPaid = false) =>
    session({
      model,
      compaction: {
        strategy: {
          name: "s",
          async compact(messages, context) {
            tried.push(turn);
            if (isPaid) await context?.llm?.(summarizer, { messages });
            return compact(messages, tried.length);
          },
        },
        contextWindow: 1_000,
        reserveTokens: 100,
      },
    });
  const flaky = agentWith((messages, count) => {
    if (count < 3) throw new ProviderError({ kind: "OVERLOADED", message: "busy" });
    return messages.slice(-1);
  });
  for (let n = 0; n < 3; n++) await flaky.invoke(`${n}`);
  expect(tried).toEqual([1, 2, 3]);
  tried.length = turn = 0;
  const fruitless = agentWith((messages) => messages, true);
  for (let n = 0; n < 10; n++) await fruitless.invoke(`${n}`);
  // At 910, 960 (half of 90 is gone), 980, 990, 1000.
  expect(tried).toEqual([1, 6, 8, 9, 10]);
  tried.length = turn = 0;
  const free = agentWith((messages) => messages);
  for (let n = 0; n < 3; n++) await free.invoke(`${n}`);
  expect(tried, "costs nothing, so after each turn that leaves too little").toEqual([1, 2, 3]);
});

it("O12: one that has nothing to leave out of a short conversation is made once it is longer, whatever is counted", async () => {
  const model = scriptedModel(() => ({ text: "x", usage: { inputTokens: 900, outputTokens: 0 } }));
  const agent = session({
    model,
    compaction: { strategy: keepLast(2), contextWindow: 1_000, reserveTokens: 200 },
  });
  const counts: number[] = [];
  for (let n = 0; n < 3; n++) {
    await agent.invoke(`${n}`);
    counts.push((await agent.sessionManager.messages()).length);
  }
  expect(counts).toEqual([2, 2, 2]);
});

it("O12: one that failed for good is told of, and not paid for again after each turn", async () => {
  const tried: number[] = [];
  let turn = 0;
  const model = scriptedModel(() => ({
    text: "x",
    usage: { inputTokens: 900 + 10 * ++turn, outputTokens: 0 },
  }));
  const strategy = {
    compact: () => {
      tried.push(turn);
      throw new ProviderError({ kind: "FORMAT_ERROR", message: "no summary with sk-secret-1234 in it" });
    },
  };
  const agent = session({
    model,
    secrets: ["sk-secret-1234"],
    compaction: { strategy, contextWindow: 1_000, reserveTokens: 100 },
  });
  const events = agent.events();
  for (let n = 0; n < 10; n++) expect((await agent.invoke(`${n}`)).output).toBe("x");
  // As one that gained nothing: at 910, 960 (half of 90 is gone), 980, 990, 1000.
  expect(tried).toEqual([1, 6, 8, 9, 10]);
  const told: unknown[] = [];
  for await (const event of events) {
    if (event.type === "progress") told.push(event);
    if (told.length === tried.length) break;
  }
  const data = { error: "no summary with [secret] in it" };
  expect(told).toEqual(tried.map(() => ({ type: "progress", name: "compactionFailed", data })));
});

it("O12: with auto false it is made only if somebody asks for it", async () => {
  const log: string[] = [];
  const agent = session({
    model: scriptedModel(() => ({ text: "a long answer", usage: { inputTokens: 99, outputTokens: 0 } })),
    extensions: [recorder(log)],
    compaction: { strategy: keepLast(1), contextWindow: 100, reserveTokens: 20, auto: false },
  });
  await agent.invoke("a");
  expect(log.filter((event) => event.includes("compact"))).toEqual([]);
  expect((await agent.runCompaction()).status).toBe("compacted");
});

it("O12: asked for in a turn, it runs after the turn", async () => {
  const log: string[] = [];
  const model = scriptedModel([{ toolCalls: [{ name: "tidy", arguments: {} }] }, "Done with it."]);
  const agent = session({
    model,
    tools: [tool("tidy", () => agent.compact())],
    extensions: [recorder(log)],
    compaction: keepLast(1),
  });
  await agent.invoke("Tidy up.");
  expect(log.slice(-4)).toEqual(["save_point", "session_before_compact", "session_compact", "settled"]);
});

it("O12: a compaction that was asked for is made once: runCompaction is the one that compact() has asked for", async () => {
  const log: string[] = [];
  const agent = session({
    model: scriptedModel(() => "a long enough answer"),
    extensions: [recorder(log)],
    compaction: keepLast(1),
  });
  await agent.invoke("a");
  agent.compact();
  await agent.runCompaction();
  await agent.invoke("b");
  expect(log.filter((event) => event === "session_before_compact")).toHaveLength(1);
  agent.compact();
  await agent.invoke("c");
  expect(log.filter((event) => event === "session_before_compact")).toHaveLength(2);
});

it("O12, O15: a compaction that is stored when an abort comes has been made, and is told", async () => {
  const log: string[] = [];
  const store = new MemorySessionStore();
  const agent = session({
    model: scriptedModel(() => "a long enough answer"),
    extensions: [recorder(log)],
    compaction: keepLast(1),
    store: {
      list: () => store.list(),
      delete: (id) => store.delete(id),
      open(id) {
        const opened = store.open(id);
        return {
          id,
          heads: opened.heads,
          get info() {
            return opened.info;
          },
          read: (head) => opened.read(head),
          close: () => opened.close(),
          append(entries, begin) {
            if (entries[0]?.kind === "compaction") agent.abort();
            return opened.append(entries, begin);
          },
        };
      },
    },
  });
  await agent.invoke("a");
  expect(await agent.runCompaction()).toMatchObject({ status: "compacted" });
  expect(log.slice(-3)).toEqual(["session_compact", "save_point", "settled"]);
});

it("O12: a compaction that was asked for is one of the session that was open then, however often it is left", async () => {
  const compacted: string[] = [];
  const agent = session({
    sessionId: "a",
    model: scriptedModel(() => "a long enough answer"),
    compaction: keepLast(1),
    extensions: [
      {
        name: "x",
        on: { session_compact: (_, { sessionManager }) => void compacted.push(sessionManager.sessionId) },
      },
    ],
  });
  await agent.invoke("Hello");
  agent.compact();
  await agent.switchSession("b");
  await agent.invoke("Hello there");
  expect(compacted).toEqual([]);
  agent.compact();
  await agent.switchSession("a");
  await agent.invoke("Back again");
  await agent.invoke("And again");
  expect(compacted).toEqual(["a"]);
  await agent.switchSession("b");
  await agent.runCompaction();
  await agent.invoke("Once more");
  expect(compacted).toEqual(["a", "b"]);
});

it("O12: a compaction that was asked for before any session is one of the next turn's", async () => {
  const model = scriptedModel(() => "a long enough answer");
  const agent = session({ model, compaction: keepLast(1) });
  agent.compact();
  await agent.invoke("Hello");
  await agent.invoke("Hello again");
  const kinds = agent.sessionManager.path().map(({ kind }) => kind);
  expect(kinds).toEqual(["message", "message", "compaction", "message", "message"]);
});

it("O12: a compaction that was asked for and failed by hand is made after the next turn", async () => {
  let tries = 0;
  const strategy = {
    compact(messages: readonly ChatMessage[]) {
      if (tries++ === 0) throw new Error("not now");
      return messages.slice(-1);
    },
  };
  const agent = session({ model: scriptedModel(() => "ok"), compaction: strategy });
  await agent.invoke("a");
  agent.compact();
  await expect(agent.runCompaction()).rejects.toThrow("not now");
  await agent.invoke("b");
  expect(tries).toBe(2);
});

it("O12, O15: runCompaction needs a strategy or an extension that replaces; an extension may cancel", async () => {
  const model = scriptedModel(() => "some answer that is long enough");
  const bare = session({ model });
  await bare.invoke("x");
  await expect(bare.runCompaction()).rejects.toMatchObject({ field: "SessionAgent.compaction" });
  const cancels = session({
    model,
    compaction: keepLast(1),
    extensions: [{ name: "x", on: { session_before_compact: () => ({ cancel: true }) } }],
  });
  await cancels.invoke("x");
  expect(await cancels.runCompaction()).toEqual({ status: "cancelled" });
  const messages = [{ role: "user", content: "sum" }] as const;
  const replaces = session({
    model,
    extensions: [{ name: "x", on: { session_before_compact: () => ({ messages }) } }],
  });
  await replaces.invoke("x");
  expect(await replaces.runCompaction()).toMatchObject({ status: "compacted" });
  expect(await replaces.sessionManager.messages()).toEqual(messages);
  const idle = session({ model, compaction: { compact: (all) => all } });
  await idle.invoke("x");
  expect(await idle.runCompaction()).toEqual({ status: "nothingToDo" });
});

it.each(["last", "extension"])(
  "O12, O15: what a compaction by %s has gained is told to who asked, to extensions and to hooks, and is in the session",
  async (strategy) => {
    const told: object[] = [];
    const hooks: Hooks = {
      has: (event) => event === HookEvent.COMPACTION,
      dispatch: (_event, payload) => void told.push(payload),
      drain: () => {},
    };
    const replaced = { messages: [{ role: "user", content: "sum" }] } as const;
    const heard: object[] = [];
    const agent = session({
      model: scriptedModel(() => "a long enough answer"),
      hooks,
      compaction: keepLast(1),
      extensions: [
        {
          name: "x",
          on: {
            session_before_compact: ({ reason, tokens }) => {
              heard.push({ reason, isCounted: tokens > 0 });
              return strategy === "extension" ? replaced : undefined;
            },
            session_compact: (event) => void heard.push(event),
          },
        },
      ],
    });
    await agent.invoke("a question");
    const outcome = await agent.runCompaction();
    if (outcome.status !== "compacted") throw new Error(outcome.status);
    const { entryId, before, after } = outcome;
    expect(after).toBeLessThan(before);
    expect(heard).toMatchObject([
      { reason: "asked", isCounted: true },
      { entryId, strategy, before, after },
    ]);
    expect(told).toMatchObject([{ agentName: "session", strategy, before: 2, after: 1 }]);
    expect(await agent.sessionManager.read(entryId)).toMatchObject({
      kind: "compaction",
      strategy,
      before,
      after,
    });
  },
);

it("O12: a compaction that makes nothing smaller is not written", async () => {
  const longer = { name: "longer", compact: (all: readonly ChatMessage[]) => [...all, ...all] };
  const agent = session({ model: scriptedModel(() => "an answer"), compaction: longer });
  await agent.invoke("a question");
  const entries = agent.sessionManager.entries().length;
  expect(await agent.runCompaction()).toEqual({ status: "noSmaller" });
  expect(agent.sessionManager.entries()).toHaveLength(entries);
});

it("a compaction is a view: the session keeps every word, and the way back is a fork", async () => {
  const store = new MemorySessionStore();
  const model = scriptedModel((request) => `answer ${request.messages.length}, as long as need be`);
  const agent = session({ model, store, compaction: keepLast(2), sessionId: "s" });
  await agent.invoke("one");
  await agent.invoke("two");
  const before = agent.sessionManager.leaf ?? "";
  expect(await agent.runCompaction()).toMatchObject({ status: "compacted" });
  await agent.invoke("three");
  expect(model.calls[2]?.request.messages).toHaveLength(4);
  await agent.close();
  const again = session({ model, store, sessionId: "s", compaction: keepLast(2) });
  await again.invoke("four");
  expect(model.calls[3]?.request.messages).toHaveLength(6);
  await again.fork(before);
  await again.invoke("three again");
  expect(model.calls[4]?.request.messages).toHaveLength(6);
  expect((await again.sessionManager.messages())[0]).toEqual({ role: "user", content: "one" });
});

it("a compaction that keeps a stretch writes where it begins and ends, and not the messages", async () => {
  const agent = session({ model: scriptedModel(() => "x".repeat(2_000)), compaction: keepLast(6) });
  for (const word of ["a", "b", "c", "d"]) await agent.invoke(word);
  const outcome = await agent.runCompaction();
  const entry = await agent.sessionManager.read(outcome.status === "compacted" ? outcome.entryId : "");
  expect(entry.kind === "compaction" && entry.items).toHaveLength(1);
  expect(JSON.stringify(entry).length).toBeLessThan(400);
});

it("a compaction that fails after a turn does not fail the turn", async () => {
  const model = scriptedModel([{ text: "fine", usage: { inputTokens: 99, outputTokens: 0 } }]);
  const strategy = {
    compact: () => {
      throw new Error("no model for it");
    },
  };
  const agent = session({ model, compaction: { strategy, contextWindow: 100, reserveTokens: 10 } });
  expect((await agent.invoke("x")).output).toBe("fine");
  expect(agent.errors).toMatchObject([{ source: "compaction" }]);
});

it("what a strategy's own model says is not told as the answer", async () => {
  const model = scriptedModel(["an answer that is long enough to be shortened", "the summary"]);
  const compaction = {
    async compact(_: readonly ChatMessage[], context?: CompactionContext) {
      const response = await context?.llm?.(model, { messages: [{ role: "user", content: "sum up" }] });
      return [{ role: "user" as const, content: String(response?.message.content) }];
    },
  };
  const agent = session({ model, compaction });
  const events = agent.events();
  agent.compact();
  await agent.invoke("x");
  let text = "";
  for await (const event of events) {
    if (event.type === "text") text += event.delta;
    if (event.type === "settled") break;
  }
  expect(text).toBe("an answer that is long enough to be shortened");
  expect(await agent.sessionManager.messages()).toEqual([{ role: "user", content: "the summary" }]);
});

it("O15: an extension alone can compact when it is time", async () => {
  const model = scriptedModel([
    { text: "long enough to be shortened", usage: { inputTokens: 99, outputTokens: 0 } },
  ]);
  const messages = [{ role: "user", content: "s" }] as const;
  const extension = { name: "x", on: { session_before_compact: () => ({ messages }) } };
  const agent = session({
    model: { ...model, info: { ...model.info, contextWindow: 100 } },
    extensions: [extension],
  });
  await agent.invoke("x");
  expect(await agent.sessionManager.messages()).toEqual(messages);
});

it("O15: an extension that does not compact does not keep another from it", async () => {
  const quiet = defineExtension({ name: "quiet", on: {} });
  const compacts = defineExtension({
    name: "compacts",
    on: { session_before_compact: ({ messages }) => ({ messages: messages.slice(-1) }) },
  });
  const usage = { inputTokens: 900_000, outputTokens: 0 };
  for (const extensions of [
    [quiet, compacts],
    [compacts, quiet],
  ]) {
    const log: string[] = [];
    const model = {
      ...scriptedModel([{ text: "one", usage }]),
      info: { provider: "p", model: "m", contextWindow: 1_000 },
    };
    const agent = session({ model, extensions: [...extensions, recorder(log)] });
    await agent.invoke("Go");
    expect(log.some((event) => event.startsWith("session_compact"))).toBe(true);
  }
});

it("O7, O12: after a compaction the context has as many tokens as it has left", async () => {
  const usage = { inputTokens: 5_000, outputTokens: 10 };
  const agent = session({
    model: scriptedModel([{ text: "one", usage }]),
    compaction: { strategy: keepLast(1), auto: false, contextWindow: 100_000 },
  });
  await agent.invoke("a ".repeat(2_000));
  expect(agent.contextUsage().tokens).toBe(5_010);
  const outcome = await agent.runCompaction();
  expect(outcome.status).toBe("compacted");
  expect(agent.contextUsage().tokens).toBe(outcome.status === "compacted" ? outcome.after : undefined);
});

it("O7: what was added since the last answer counts by an estimate, until the next one", async () => {
  const seen: [string, number][] = [];
  const watches = defineExtension({
    name: "x",
    on: { message_end: ({ message }, agent) => void seen.push([message.role, agent.contextUsage().tokens]) },
  });
  const look = { name: "look", arguments: {}, id: "a" };
  const model = scriptedModel([
    { toolCalls: [look], usage: { inputTokens: 100, outputTokens: 10 } },
    { text: "ok", usage: { inputTokens: 300, outputTokens: 20 } },
  ]);
  const content = "seen ".repeat(100);
  await session({ model, tools: [tool("look", () => content)], extensions: [watches] }).invoke("Go");
  const result = estimateTokens({ role: "tool", toolCallId: "a", name: "look", content });
  expect(seen.slice(-3)).toEqual([
    ["assistant", 110],
    ["tool", 110 + result],
    ["assistant", 320],
  ]);
});

it.each([
  ["reserveTokens", -1],
  ["reserveTokens", 0.5],
  ["contextWindow", 0],
])("O12: %s of %d is refused", (field, value) => {
  const compaction = { strategy: keepLast(1), [field]: value };
  expect(() => session({ model: scriptedModel([]), compaction })).toThrow(
    expect.objectContaining({ field: `SessionAgent.compaction.${field}` }),
  );
});

it("O12: where the compaction for an overflow fails too, the overflow is the error", async () => {
  const model = scriptedModel(["one", new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long" })]);
  const compaction = { compact: () => Promise.reject(new Error("no summary")) };
  const agent = session({ model, compaction });
  await agent.invoke("a");
  await expect(agent.invoke("b")).rejects.toMatchObject({ kind: "CONTEXT_OVERFLOW" });
  expect(agent.errors).toMatchObject([{ source: "compaction" }]);
});

it("O12: who asks under a long system prompt leaves the strategy room for it and for half of what was said", async () => {
  const windows: number[] = [];
  const strategy = {
    compact(messages: readonly ChatMessage[], { contextWindow = 0 }: CompactionContext = {}) {
      windows.push(contextWindow);
      return messages.slice(-1);
    },
  };
  const [words, prompt] = ["word ".repeat(1_000), "long ".repeat(40_000)];
  const model = scriptedModel(() => words, { info: { contextWindow: 200_000 } });
  const agent = session({ model, prompt, compaction: strategy });
  await agent.invoke(words);
  expect((await agent.runCompaction()).status).toBe("compacted");
  const tokensOf = (content: string) => estimateTokens({ role: "user", content });
  // Strategies fill 80 % of a window. Half of the two messages is one of them.
  const [room = 0] = windows.map((window) => window * 0.8);
  expect(room).toBeGreaterThanOrEqual(tokensOf(prompt) + tokensOf(words));
  expect(room).toBeLessThan(tokensOf(prompt) + tokensOf(words) * 2);
});

it("O12: who asks when less than half cannot be reached is told so, and not that a window of 200,000 is too small", async () => {
  const strategy = {
    compact(messages: readonly ChatMessage[], { contextWindow = 0 }: CompactionContext = {}) {
      if (estimateTokens({ role: "user", content: "word ".repeat(1_000) }) <= contextWindow) return messages;
      throw new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "the newest turn", retryable: false });
    },
  };
  const model = scriptedModel(() => "ok", { info: { contextWindow: 200_000 } });
  const agent = session({ model, prompt: { identity: "Be brief.", footer: false }, compaction: strategy });
  await agent.invoke("word ".repeat(1_000));
  expect(await agent.runCompaction()).toEqual({ status: "nothingToDo" });
  agent.compact();
  await agent.invoke("And?");
  expect(agent.errors).toEqual([]);
  // In the window that the model really has, it is an error; so is what a provider says of the strategy's own request.
  const small = session({ model, compaction: { strategy, contextWindow: 200, auto: false } });
  await small.invoke("word ".repeat(1_000));
  await expect(small.runCompaction()).rejects.toMatchObject({ message: "the newest turn" });
  const refused = new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long for the writer" });
  const other = session({ model, compaction: { compact: () => Promise.reject(refused) } });
  await other.invoke("Hello");
  await expect(other.runCompaction()).rejects.toBe(refused);
});

it("O12: that there was nothing to gain in one session holds nothing back in another", async () => {
  const model = scriptedModel(() => ({ text: "answer", usage: { inputTokens: 85, outputTokens: 0 } }));
  let isIdle = true;
  const strategy = {
    compact: (messages: readonly ChatMessage[]) => (isIdle ? messages : messages.slice(-1)),
  };
  const agent = session({ model, compaction: { strategy, contextWindow: 100, reserveTokens: 20 } });
  await agent.invoke("a");
  isIdle = false;
  await agent.newSession();
  await agent.invoke("b");
  expect(agent.sessionManager.entries().map(({ kind }) => kind)).toContain("compaction");
});

it("O12: a strategy that gives back what are no messages is named, and nothing is written", async () => {
  const hidden = Object.create({ role: "user", content: "s" }) as object;
  const hole = Object.assign([], { length: 1 });
  for (const made of [5, "all", [null], [{ role: "user" }], [hidden], hole]) {
    const strategy = { name: "odd", compact: () => made as never };
    const agent = session({ model: scriptedModel(() => "ok"), compaction: strategy });
    await agent.invoke("x");
    const problem = await agent.runCompaction().catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: "INVALID_VALUE", field: "compaction strategy odd" });
    expect((await agent.sessionManager.messages()).length).toBe(2);
  }
});

it("O12: what is as long as before is no compaction, and nothing is written", async () => {
  const turned = { compact: (messages: readonly ChatMessage[]) => messages.toReversed() };
  const agent = session({ model: scriptedModel(() => "ok"), compaction: turned });
  await agent.invoke("x");
  expect(await agent.runCompaction()).toEqual({ status: "noSmaller" });
  expect(agent.sessionManager.entries().map(({ kind }) => kind)).not.toContain("compaction");
});

it("O12: messages in the middle that a strategy leaves out stay out, also of a session that is opened again", async () => {
  const ends = {
    compact: (messages: readonly ChatMessage[]) => [...messages.slice(0, 2), ...messages.slice(-2)],
  };
  const store = new MemorySessionStore();
  const model = scriptedModel(({ messages }) => `heard ${messages.length - 1}`);
  const agent = session({ model, compaction: ends, store, sessionId: "s" });
  for (const text of ["a", "b", "c", "d"]) await agent.invoke(text);
  expect((await agent.runCompaction()).status).toBe("compacted");
  const kept = ["a", "heard 1", "d", "heard 7"];
  expect((await agent.sessionManager.messages()).map(({ content }) => content)).toEqual(kept);
  await agent.close();
  const again = await session({ model, store, sessionId: "s" }).open();
  expect((await again.messages()).map(({ content }) => content)).toEqual(kept);
});

it("O12: where a budget ends between the calls of a batch, the last turn sees a result of each", async () => {
  const spent = new BudgetExhaustedError({ dimension: "toolCalls", used: 1, limit: 1, scope: "session" });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: "fine", arguments: {}, id: "a" },
        { name: "spent", arguments: {}, id: "b" },
      ],
    },
    "what I have",
  ]);
  const tools = [tool("fine", () => "done"), tool("spent", () => Promise.reject(spent))];
  const agent = session({ model, tools });
  expect(await agent.invoke("x")).toEqual({ status: "partial", output: "what I have", stopReason: "budget" });
  expect(problemWith(model.calls[1]?.request.messages ?? [])).toBeUndefined();
  expect(problemWith(await agent.sessionManager.messages())).toBeUndefined();
});
