import { describe, expect, test } from "vitest";
import type { StandardSchema } from "../src/index.ts";
import { readAgain } from "../src/loop.ts";

const dated = schemaOf((value) => ({ on: new Date((value as { on: string }).on) }));
const recorded = { output: '{"on":"2026-01-02"}', structured: { on: "2026-01-02T00:00:00.000Z" } };

describe("a recorded result and the schema of its agent", () => {
  test("R12: the schema reads the model's own JSON, so a date is a date again", () => {
    const result = readAgain({ ...recorded, status: "completed" }, dated);
    expect(result).toEqual({
      status: "completed",
      output: recorded.output,
      structured: { on: new Date("2026-01-02") },
    });
  });

  test("R12: a value that JSON loses comes back too", () => {
    const listed = schemaOf((value) => new Map(Object.entries(value as object)));
    expect(readAgain({ output: '{"a":1}', structured: {} }, listed).structured).toEqual(new Map([["a", 1]]));
  });

  test.each([
    ["another value on record, as after a layer that changed it", { ...recorded, structured: { on: "no" } }],
    ["an output that is no JSON", { ...recorded, output: "on Friday" }],
    ["an output in which the schema finds a fault", { ...recorded, output: "null" }],
    ["no structured value", { output: recorded.output }],
  ])("R12: it stays as it is with %s", (_, result) => {
    expect(readAgain(result, dated)).toBe(result);
  });

  test.each([
    ["no schema", undefined],
    ["a plain JSON Schema", { type: "object" }],
    ["an asynchronous schema", asynchronous(async (value) => ({ value }))],
    ["one that rejects", asynchronous(() => Promise.reject(new Error("no")))],
  ])("R12: it stays as it is with %s", (_, schema) => {
    expect(readAgain(recorded, schema)).toBe(recorded);
  });
});

function schemaOf<T>(make: (value: unknown) => T): StandardSchema<unknown, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => ({ value: make(value) }),
      jsonSchema: { input: () => ({}), output: () => ({}) },
    },
  };
}

function asynchronous(validate: StandardSchema["~standard"]["validate"]): StandardSchema {
  const { "~standard": standard } = schemaOf((value) => value);
  return { "~standard": { ...standard, validate } };
}
