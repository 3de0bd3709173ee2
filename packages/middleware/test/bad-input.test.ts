import { scriptedModel } from "@ravi/testing";
import { expect, test } from "vitest";
import {
  fallback,
  llmJudge,
  MiddlewarePipeline,
  promptInjection,
  schemaValidator,
  sessionValidation,
  wrapModel,
} from "@ravi/middleware";

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;
const model = scriptedModel(["x"]);
const validator = () => [];

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
  ["fallback.on", () => fallback({ models: [model], on: odd("OVERLOADED") })],
  ["promptInjection.roles", () => promptInjection({ roles: odd("user") })],
  ["MiddlewarePipeline options.level", () => new MiddlewarePipeline([], { level: odd("chats") })],
  ["MiddlewarePipeline options.lvl", () => new MiddlewarePipeline([], odd({ lvl: "chat" }))],
  ["MiddlewarePipeline options", () => new MiddlewarePipeline([], odd(null))],
  ["wrapModel.answer", () => wrapModel(model, [], { answer: odd(true) })],
  ["wrapModel.hooks", () => wrapModel(model, [], { hooks: odd({}) })],
  ["wrapModel.clock", () => wrapModel(model, [], { clock: odd({}) })],
])("R27: a guard that would guard nothing is refused when it is made: %s", (field, attempt) => {
  expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
});
