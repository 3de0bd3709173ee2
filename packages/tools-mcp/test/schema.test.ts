import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import type { JsonSchema } from "@ravi/kernel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { problemsIn } from "../src/schema/check.ts";

const object = (properties: object, more: object = {}): JsonSchema => ({
  type: "object",
  properties,
  ...more,
});
const said = (schema: JsonSchema, value: unknown): readonly string[] =>
  problemsIn(schema, value).map(({ path = [], message }) => [...path.map(String), message].join(": "));

describe("what is certainly wrong is told", () => {
  test.each<[JsonSchema, unknown, string[]]>([
    [object({ a: { type: "string" } }), { a: 7 }, ["a: is a number; expected a string"]],
    [
      object({ a: { type: ["integer", "null"] } }),
      { a: 1.5 },
      ["a: is a number; expected an integer or null"],
    ],
    [object({}, { required: ["a", "toString"] }), {}, ["a: is missing", "toString: is missing"]],
    [
      object({ toString: { type: "string" } }, { additionalProperties: false }),
      { valueOf: 1 },
      ["valueOf: is not allowed here"],
    ],
    [object({ a: {} }, { additionalProperties: false }), { b: 1 }, ["b: is not allowed here"]],
    [object({ a: { enum: ["x", "y"] } }), { a: "z" }, ['a: is "z"; expected one of "x", "y"']],
    [object({ a: { const: 1 } }), { a: 2 }, ["a: is 2; expected 1"]],
    [
      object({ a: { minLength: 2, maxLength: 3 } }),
      { a: "😀" },
      ["a: has 1 characters; expected at least 2"],
    ],
    [object({ a: { minimum: 1, exclusiveMaximum: 3 } }), { a: 3 }, ["a: is 3; expected less than 3"]],
    [object({ a: { multipleOf: 5 } }), { a: 7 }, ["a: is 7; expected a multiple of 5"]],
    [
      object({ a: { items: { type: "string" }, maxItems: 1 } }),
      { a: ["x", 1] },
      ["a: 1: is a number; expected a string", "a: has 2 items; expected at most 1"],
    ],
    [
      object({ a: { prefixItems: [{ const: 1 }], items: false } }),
      { a: [1, 2] },
      ["a: 1: is not allowed here"],
    ],
    [
      object({ a: { $ref: "#/$defs/b" } }, { $defs: { b: { type: "null" } } }),
      { a: 0 },
      ["a: is a number; expected null"],
    ],
    [
      object({ a: { anyOf: [{ type: "string" }, { type: "null" }] } }),
      { a: 0 },
      [
        "a: has none of the forms that are allowed (a is a number; expected a string; or a is a number; expected null)",
      ],
    ],
    [
      object({ a: { oneOf: [{ minimum: 1 }, { minimum: 2 }] } }),
      { a: 3 },
      ["a: has 2 of the forms that are allowed; expected exactly one of them"],
    ],
    [object({ a: { not: { type: "string" } } }), { a: "x" }, ["a: is of a form that is not allowed"]],
    [object({ a: { allOf: [{ minimum: 1 }, { maximum: 3 }] } }), { a: 4 }, ["a: is 4; expected at most 3"]],
  ])("%j does not allow %j", (schema, value, expected) => {
    expect(said(schema, value)).toEqual(expected);
  });
});

describe("T16: what a server could use to stop the process is left to the server", () => {
  test("a pattern is not run", () => {
    const schema = object({ a: { type: "string", pattern: "^(a+)+$" } });
    expect(said(schema, { a: `${"a".repeat(100_000)}!` })).toEqual([]);
    expect(said(object({ a: { not: { pattern: "x" } } }), { a: "x" })).toEqual([]);
    expect(said({ patternProperties: { "(a+)+$": {} }, additionalProperties: false }, { ax: 1 })).toEqual([]);
  });

  test("references in a circle end", () => {
    expect(said({ $ref: "#" }, {})).toEqual([]);
    expect(said({ allOf: [{ $ref: "#" }, { $ref: "#" }] }, {})).toEqual([]);
  });

  test("forms within forms, of which there are 2 to the power of 60, end", () => {
    const twice = (inner: object): object => ({ anyOf: [inner, inner] });
    const level = (n: number): object => twice({ $ref: `#/$defs/l${n + 1}` });
    const $defs: Record<string, object> = { l60: { type: "string" } };
    for (let n = 0; n < 60; n++) $defs[`l${n}`] = level(n);
    expect(said({ $ref: "#/$defs/l0", $defs }, {})).toEqual([]);
    const nested = { a: {} };
    for (let n = 0, at = nested; n < 60; n++) at = Object.assign(at, { a: { a: {} } }).a;
    expect(said(twice({ properties: { a: { $ref: "#" } } }) as JsonSchema, nested)).toEqual([]);
  });

  const many = (length: number): string[] => Array.from({ length }, (_, n) => `x${n}`);
  const named = Object.fromEntries(many(9_000).map((name) => [name, true]));
  test.each<[string, object]>([
    ["required", { required: many(9_000) }],
    ["properties", { properties: named, type: "string" }],
    ["type", { type: many(9_000).map(() => "string") }],
    ["keywords", { ...named, type: "string" }],
    ["a reference", { $ref: `#/$defs/${"%61".repeat(30_000)}`, $defs: {} }],
  ])("a long list that is asked for again and again ends: %s", (_, long) => {
    // There are 1,024 ways to it, and each of them looks through thousands of names.
    const again = (to: string): object => ({ anyOf: Array.from({ length: 4 }, () => ({ $ref: to })) });
    const $defs = {
      a: again("#/$defs/b"),
      b: again("#/$defs/c"),
      c: again("#/$defs/d"),
      d: again("#/$defs/e"),
      e: long,
      ["a".repeat(30_000)]: { type: "string" },
    };
    expect(said({ ...again("#/$defs/a"), $defs }, {})).toEqual([]);
  });

  test("nothing outside of the schema is looked for", () => {
    expect(said({ $ref: "https://evil.example/schema" }, {})).toEqual([]);
    expect(said({ $ref: "#/constructor/prototype" }, {})).toEqual([]);
    expect(said({ $ref: "#/%E0%A4%A" }, {})).toEqual([]);
  });
});

const values = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
// Not "toString" and the like: the other validator takes what objects inherit for properties of a value.
const keys = fc.constantFrom("a", "b", "c");
const small = fc.integer({ min: 0, max: 4 });
const some = fc.oneof(
  values,
  fc.integer({ min: -3, max: 6 }),
  fc.string({ maxLength: 5 }),
  fc.array(small, { maxLength: 4 }),
  fc.dictionary(keys, fc.oneof(small, fc.string({ maxLength: 3 }), fc.constant(null))),
);

const { schema: schemas } = fc.letrec<{ schema: object | boolean }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record(
      {
        type: fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object", [
          "string",
          "integer",
        ]),
        minimum: small,
        exclusiveMaximum: small,
        multipleOf: fc.constantFrom(1, 2, 3),
        minLength: small,
        maxLength: small,
        minItems: small,
        maxItems: small,
        minProperties: small,
        maxProperties: small,
        required: fc.uniqueArray(keys, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    fc.boolean(),
    fc.record({
      enum: fc.array(fc.oneof(small, fc.string({ maxLength: 1 }), fc.constant(null)), { minLength: 1 }),
    }),
    fc.record({ const: fc.oneof(small, fc.boolean()) }),
    fc.record(
      {
        properties: fc.dictionary(keys, tie("schema")),
        additionalProperties: tie("schema"),
        items: tie("schema"),
        prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
        oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
        not: tie("schema"),
      },
      { requiredKeys: [] },
    ),
  ),
}));

/** Keywords that are left open here and decided by the other validator. */
const { schema: openSchemas } = fc.letrec<{ schema: object | boolean }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small" },
    schemas,
    fc.record({ pattern: fc.constantFrom("^a", "b$", "[0-9]") }),
    fc.record({ uniqueItems: fc.boolean() }),
    fc.record({ contains: tie("schema") }),
    fc.record({ propertyNames: tie("schema") }),
    fc
      .tuple(tie("schema"), tie("schema"), tie("schema"))
      .map((parts) => Object.fromEntries(["if", "then", "else"].map((name, at) => [name, parts[at]]))),
    fc.record({
      patternProperties: fc.dictionary(fc.constantFrom("^a", "b"), tie("schema")),
      additionalProperties: tie("schema"),
    }),
    fc.record({ not: tie("schema"), anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
  ),
}));

const other = new CfWorkerJsonSchemaValidator({ draft: "2020-12" });
const isRight = (schema: object, value: unknown): boolean => other.getValidator(schema)(value).valid;

const numRuns = process.env["RAVI_LONG"] === undefined ? 300 : 3_000;

describe("compared with another validator", () => {
  test("nothing that is right is ever refused", () => {
    fc.assert(
      fc.property(openSchemas, some, (schema, value) => {
        const whole = { allOf: [schema] };
        if (problemsIn(whole, value).length > 0) expect(isRight(whole, value)).toBe(false);
      }),
      { numRuns },
    );
  });

  test("with the keywords that are decided here, all that is wrong is refused", () => {
    fc.assert(
      fc.property(schemas, some, (schema, value) => {
        const whole = { allOf: [schema] };
        expect(problemsIn(whole, value).length === 0).toBe(isRight(whole, value));
      }),
      { numRuns },
    );
  });
});
