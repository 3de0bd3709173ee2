import { AgentId, type CompactionStrategy, SessionId } from "@ravi/kernel";
import {
  agentContext,
  type AgentContextOptions,
  FileHistory,
  KeywordMemory,
  MemoryHistory,
  Summarization,
  TokenBudget,
  Truncation,
  validPrompt,
} from "@ravi/context";
import { expect, test } from "vitest";
import { writer } from "./support/models.ts";

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;
const scope = { userId: "u", sessionId: "s", runId: "r", metadata: {} };
const history = new MemoryHistory();
const agentId = AgentId("a");

test.each<[string, () => unknown]>([
  ["countTokens", () => new Truncation({ maxTokens: 5, countTokens: odd({}) })],
  ["countTokens", () => new TokenBudget({ countTokens: odd(4) })],
  ["TokenBudget.strategies", () => new TokenBudget({ strategies: odd(new Truncation({ maxTokens: 5 })) })],
  ["KeywordMemory options.history", () => new KeywordMemory({ history: odd("./memory") })],
  ["KeywordMemory options.clock", () => new KeywordMemory({ clock: odd({}) })],
  ["KeywordMemory options.ids", () => new KeywordMemory({ ids: odd(() => "id") })],
  ["key", () => new MemoryHistory().append(odd(undefined), [])],
  ["messages", () => new MemoryHistory().append({ sessionId: SessionId("s"), agentName: "a" }, odd("hello"))],
  ["agentContext", () => agentContext(odd(undefined))],
  ["agentContext.history", () => agentContext(odd({ agentId }))],
  ["agentContext.agentId", () => agentContext(odd({ history }))],
  ["agentContext.compaction", () => agentContext({ agentId, history, compaction: odd(() => []) })],
  ["agentContext.contextWindow", () => agentContext({ agentId, history, contextWindow: odd("128k") })],
  ["agentContext.system", () => agentContext({ agentId, history, system: odd(["be", "brief"]) })],
  ["agentContext.tools", () => agentContext({ agentId, history, tools: odd({}) })],
  ["agentContext.alsoSent", () => agentContext({ agentId, history, alsoSent: odd("go") })],
  ["agentContext.llm", () => agentContext({ agentId, history, llm: odd({ generate() {} }) })],
  ["Summarization.model", () => new Summarization({ model: odd("openai:gpt-5-mini") })],
  ["Summarization.model.info", () => new Summarization({ model: odd({ generate() {} }) })],
  [
    "Summarization.instructions",
    () => new Summarization({ model: writer, instructions: odd(() => "brief") }),
  ],
  ["agentContext.compacton", () => agentContext(odd({ agentId, history, compacton: {} }))],
])("R10: what cannot make a window is refused when it is given: %s", (field, attempt) => {
  expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});

test.each([["./histories"], [{ mkdir() {}, open() {} }]])(
  "R10: a disk that lacks a method is refused when a history is opened, and not at its first append: %o",
  async (files) => {
    await expect(FileHistory.open("histories", { files: odd(files) })).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: "FileHistory options.files",
    });
  },
);

test("R10: a memory that is asked for no text rejects", async () => {
  const refusal = expect.objectContaining({ code: "INVALID_VALUE", field: "query" });
  await expect(new KeywordMemory().recall(odd(scope), odd(undefined))).rejects.toThrow(refusal);
});

test.each([
  ["scope", "ann"],
  ["scope.userId", { ...scope, userId: Number.NaN }],
  ["scope.userId", { ...scope, userId: () => "ann" }],
  ["scope.tenantId", { ...scope, tenantId: 5n }],
])("J5: a user that is no text is refused, and not taken for nobody: %s", async (field, given) => {
  const memory = new KeywordMemory();
  const refusal = expect.objectContaining({ code: "INVALID_VALUE", field });
  await expect(memory.remember(odd(given), "the door code is 1234")).rejects.toThrow(refusal);
  await expect(memory.recall(odd(given), "door")).rejects.toThrow(refusal);
  await expect(memory.forget(odd(given), "id")).rejects.toThrow(refusal);
});

test("J5: to forget an item instead of its id is refused: it would not be forgotten", async () => {
  const memory = new KeywordMemory();
  const item = await memory.remember(odd(scope), "the door code is 1234");
  await expect(memory.forget(odd(scope), odd(item))).rejects.toMatchObject({
    code: "INVALID_VALUE",
    field: "id",
  });
  await memory.forget(odd(scope), item.id);
  expect(await memory.recall(odd(scope), "door")).toEqual([]);
});

test.each<[string, unknown]>([
  ["a text", "note-1"],
  ["a list", ["note-1"]],
  ["null", null],
])("J5: metadata that is %s is refused: nobody would find its key", async (_what, metadata) => {
  const refusal = { code: "INVALID_VALUE", field: "metadata" };
  const attempt = new KeywordMemory().remember(odd(scope), "the door code is 1234", odd(metadata));
  await expect(attempt).rejects.toMatchObject(refusal);
});

test.each<[string, unknown]>([
  ["nothing", null],
  ["a text", "hello"],
  ["a list with a hole", [null]],
])("T11: %s is no prompt, and refused as such", (_what, messages) => {
  const refusal = { code: "INVALID_VALUE", field: "messages" };
  expect(() => validPrompt(odd(messages))).toThrow(expect.objectContaining(refusal));
});

test("R10: a window is compacted by what its options inherit", async () => {
  const key = { sessionId: SessionId("s"), agentName: "a" };
  const kept = new MemoryHistory();
  kept.append(key, [{ role: "user", content: "hello" }]);
  const compaction: CompactionStrategy = {
    compact: (_, context) => [{ role: "user", content: String(context?.contextWindow) }],
  };
  const options: AgentContextOptions = { agentId, history: kept, compaction, contextWindow: 5 };
  const window = agentContext(Object.create(options) as AgentContextOptions);
  expect(await window.getPromptWindow(key.sessionId)).toEqual([{ role: "user", content: "5" }]);
});
