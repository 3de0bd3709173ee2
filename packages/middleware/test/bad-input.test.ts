import { scriptedModel } from "@ravi/testing";
import { expect, test, vi } from "vitest";
import {
  approval,
  cache,
  contentFilter,
  fallback,
  FileAuditLog,
  fileValidator,
  llmJudge,
  maxTokens,
  MiddlewarePipeline,
  piiRunRedaction,
  piiToolRedaction,
  promptInjection,
  rateLimiter,
  retry,
  schemaValidator,
  sessionValidation,
  timeout,
  toolCache,
  toolCallValidation,
  tracing,
  truncateHistory,
  wrapModel,
} from "@ravi/middleware";

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;
const model = scriptedModel(["x"]);
const validator = () => [];
const layer = { level: "chat", name: "own" } as const;

test.each<[string, () => unknown]>([
  ["schemaValidator.schemas", () => schemaValidator(odd({}))],
  ["schemaValidator.schemas", () => schemaValidator({ schemas: odd(new Map()) })],
  ["schemaValidator.schemas", () => schemaValidator({ schemas: odd(Promise.resolve({})) })],
  ["schemaValidator.schemas.pay", () => schemaValidator({ schemas: { pay: odd(null) }, validator })],
  ["schemaValidator.schemas.pay", () => schemaValidator({ schemas: { pay: odd("text") }, validator })],
  ["schemaValidator.validator", () => schemaValidator({ schemas: { pay: {} }, validator: odd({}) })],
  ["sessionValidation.requireTenant", () => sessionValidation({ requireTenant: odd("no") })],
  ["llmJudge.maxOutputTokens", () => llmJudge({ model, criteria: "fair", maxOutputTokens: -1 })],
  // By its info a call is priced: without one it would fail in the middle of a paid run.
  ["fallback.models[1].info", () => fallback({ models: [model, odd({ generate() {} })] })],
  ["llmJudge.model.info", () => llmJudge({ model: odd({ generate() {} }), criteria: "fair" })],
  ["wrapModel.client.info", () => wrapModel(odd({ generate() {} }), [])],
  ["fallback.models", () => fallback(odd({}))],
  ["fallback.onFallback", () => fallback({ models: [model], onFallback: odd("log") })],
  ["llmJudge.criteria", () => llmJudge({ model, criteria: " " })],
  ["llmJudge.criteria", () => llmJudge(odd({ model }))],
  ["contentFilter.blocked", () => contentFilter({ blocked: [] })],
  ["contentFilter.blocked", () => contentFilter({ blocked: odd("word") })],
  ["contentFilter.blocked[0]", () => contentFilter({ blocked: [" "] })],
  ["tracing.telemetry", () => tracing({ telemetry: odd({}) })],
  ["fallback.on", () => fallback({ models: [model], on: odd("OVERLOADED") })],
  // A misspelt option would be passed over, and the default would hold.
  ["retry.maxRetry", () => retry(odd({ maxRetry: 1 }))],
  ["retry.random", () => retry({ random: odd(0.5) })],
  ["timeout.onLate", () => timeout({ onLate: odd("log") })],
  ["maxTokens.estimate", () => maxTokens({ maxInputTokens: 1, estimate: odd(100) })],
  ["rateLimiter.key", () => rateLimiter({ key: odd("tenant") })],
  ["sessionValidation.validate", () => sessionValidation({ validate: odd(true) })],
  ["approval.when", () => approval({ when: odd(true) })],
  ["approval.question", () => approval({ question: odd("May it?") })],
  ["piiRunRedaction.kind", () => piiRunRedaction(odd({ kind: ["email"] }))],
  ["piiToolRedaction.kind", () => piiToolRedaction(odd({ kind: ["email"] }))],
  ["timeout.ms", () => timeout(odd({ ms: 5 }))],
  ["cache.ttl", () => cache(odd({ ttl: 5 }))],
  ["fallback.model", () => fallback(odd({ models: [model], model }))],
  ["fileValidator.disk", () => fileValidator({ roots: ["/work"], disk: odd({ realPath() {} }) })],
  ["promptInjection.roles", () => promptInjection({ roles: odd("user") })],
  // A misspelt method beside a good one: nobody would call it.
  ["layers[0].admits", () => new MiddlewarePipeline([odd({ ...layer, process() {}, admits() {} })])],
  ["layers[0].proces", () => new MiddlewarePipeline([odd({ ...layer, admit() {}, proces() {} })])],
  ["MiddlewarePipeline options.level", () => new MiddlewarePipeline([], { level: odd("chats") })],
  ["MiddlewarePipeline options.lvl", () => new MiddlewarePipeline([], odd({ lvl: "chat" }))],
  ["MiddlewarePipeline options", () => new MiddlewarePipeline([], odd(null))],
  ["wrapModel.answer", () => wrapModel(model, [], { answer: odd(true) })],
  ["wrapModel.hooks", () => wrapModel(model, [], { hooks: odd({}) })],
  ["wrapModel.clock", () => wrapModel(model, [], { clock: odd({}) })],
])("R27: a guard that would guard nothing is refused when it is made: %s", (field, attempt) => {
  expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});

test.each<[string, () => { readonly name?: string | undefined }]>([
  ["cache", () => cache({ maxEntries: 1, ttlMs: 1 })],
  ["llmJudge", () => llmJudge({ model, criteria: "fair", maxOutputTokens: 1 })],
  ["maxTokens", () => maxTokens({ maxInputTokens: 1, maxOutputTokens: 1 })],
  ["rateLimiter", () => rateLimiter({ limit: 1, windowMs: 1, maxWaitMs: 0 })],
  ["retry", () => retry({ maxRetries: 0, baseMs: 0, capMs: 0, maxRetryAfterMs: 0 })],
  ["sessionValidation", () => sessionValidation({ maxInputLength: 1 })],
  ["timeout", () => timeout({ timeoutMs: 1 })],
  ["toolCache", () => toolCache({ tools: ["search"], maxEntries: 1, ttlMs: 1 })],
  ["toolCallValidation", () => toolCallValidation({ maxLength: 1, maxDepth: 1, maxValues: 1 })],
])("R27: the smallest values are values: %s", (name, make) => {
  expect(make().name).toBe(name);
});

test.each<[string, () => unknown]>([
  ["messages", () => truncateHistory(odd(null), 5)],
  ["messages", () => truncateHistory(odd("hello"), 5)],
  ["messages", () => truncateHistory(odd([null, null]), 1)],
  ["keep", () => truncateHistory([], odd(undefined))],
  ["keep", () => truncateHistory([], Number.NaN)],
  ["keep", () => truncateHistory([], -1)],
])("T11: a history that cannot be cut is refused, and not cut to nothing: %s", (field, attempt) => {
  expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});

test.each<[string, () => Promise<unknown>]>([
  ["path", () => FileAuditLog.open(import.meta.dirname)],
  ["path", () => FileAuditLog.verify(import.meta.dirname)],
  ["path", () => FileAuditLog.open(`${import.meta.filename}/below`)],
  // What a pipe or a device gives may never end, and what it takes is not kept.
  ["path", () => FileAuditLog.open("/dev/null")],
  ["path", () => FileAuditLog.verify("/dev/null")],
  ["path", () => FileAuditLog.open("a\0b")],
  ["path", () => FileAuditLog.verify(odd(null))],
  ["disk", () => FileAuditLog.open("audit.jsonl", { disk: odd({}) })],
  ["FileAuditLog options.disc", () => FileAuditLog.open("audit.jsonl", odd({ disc: {} }))],
  ["FileAuditLog options.disc", () => FileAuditLog.verify("audit.jsonl", odd({ disc: {} }))],
  ["head", () => FileAuditLog.verify("audit.jsonl", { head: odd(5) })],
])("T11: where there can be no audit log, that is said of its %s", async (field, attempt) => {
  await expect(attempt()).rejects.toMatchObject({ code: "INVALID_VALUE", field });
});

test("T11: an audit log that cannot be read is a typed error", async () => {
  const disk = { read: () => Promise.reject(new Error("EIO")), cutAfter: odd(vi.fn()), append: odd(vi.fn()) };
  await expect(FileAuditLog.open("audit.jsonl", { disk })).rejects.toMatchObject({
    code: "JOURNAL_FAILED",
    message: "the audit log audit.jsonl could not be read: EIO; fix the cause and open the log again",
  });
});
