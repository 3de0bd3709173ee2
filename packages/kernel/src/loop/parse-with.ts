import { quietly } from "../core/quietly.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { messageOf } from "../errors/message-of.ts";
import {
  type JsonSchemaValidator,
  type SchemaIssue,
  type SchemaLike,
  type SchemaResult,
  isStandardSchema,
} from "../model/schema.ts";
import { unchecked } from "./check-schemas.ts";
import { validate } from "./validate.ts";

/** A checked value, or what is wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/**
 * Checks a value against a schema. `problem` is written for a model: each path, and what is wrong there. Returns a promise only
 * if the schema is asynchronous. Throws if a raw JSON Schema has no validator.
 */
export function parseWith<T>(
  schema: SchemaLike<T>,
  value: unknown,
  validator?: JsonSchemaValidator | undefined,
): MaybePromise<Parsed<T>> {
  if (isStandardSchema(schema)) {
    const result = validate(schema, value);
    return isPromiseLike(result) ? Promise.resolve(result).then(toParsed) : toParsed(result);
  }
  if (validator === undefined) throw unchecked("schema", schema);
  const issues = validator(schema, value);
  if (!Array.isArray(issues)) {
    // It may be a promise. One that rejects and that nobody handles would end the process.
    quietly(() => issues);
    const expected = "a list of issues, at once; an empty list for a value that matches";
    throw new InvalidValueError({ field: "validator(schema, value)", value: issues, expected });
  }
  // The validator has just checked the shape. The type of a raw JSON Schema is known only to its author.
  return issues.length === 0 ? { ok: true, value: value as T } : { ok: false, problem: describe(issues) };
}

/**
 * The same for what a model wrote: a Standard Schema that throws, such as a transform of zod that makes a date of a text which is none, has
 * found a problem too.
 */
export function readWith<T>(
  schema: SchemaLike<T>,
  value: unknown,
  validator?: JsonSchemaValidator | undefined,
): MaybePromise<Parsed<T>> {
  if (!isStandardSchema(schema)) return parseWith(schema, value, validator);
  try {
    const parsed = parseWith(schema, value);
    return isParsed(parsed) ? parsed : parsed.then(undefined, unread);
  } catch (error) {
    return unread(error);
  }
}

function unread(error: unknown): Parsed<never> {
  return { ok: false, problem: messageOf(error) };
}

/** Whether it was checked at once. Not `isPromiseLike`, which sees objects of many shapes: that takes 1 % of a bare turn longer. */
export function isParsed<T>(parsed: MaybePromise<Parsed<T>>): parsed is Parsed<T> {
  return (parsed as Partial<Parsed<T>>).ok !== undefined;
}

function toParsed<T>(result: SchemaResult<T>): Parsed<T> {
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, problem: describe(result.issues) };
}

const MAX_ISSUES = 10;
const MAX_CHOICES = 5;

function describe(issues: readonly SchemaIssue[]): string {
  const lines = issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${pathOf(issue)}${issue.message}${describeChoices(issue)}`);
  if (issues.length > MAX_ISSUES) lines.push(`and ${issues.length - MAX_ISSUES} more`);
  return lines.join("; ");
}

/** What is wrong with each choice of a union. Zod says it beside its message, which is only "Invalid input". */
function describeChoices(issue: SchemaIssue & { readonly errors?: unknown }): string {
  const { errors } = issue;
  if (!Array.isArray(errors)) return "";
  const choices = errors.slice(0, MAX_CHOICES).filter(isIssues).map(firstOf);
  return choices.length === 0 ? "" : ` (${choices.join(", or ")})`;
}

function firstOf([first]: readonly SchemaIssue[]): string {
  return first === undefined ? "" : pathOf(first) + first.message;
}

function isIssues(list: unknown): list is readonly SchemaIssue[] {
  return Array.isArray(list) && typeof (list as readonly Partial<SchemaIssue>[])[0]?.message === "string";
}

function pathOf(issue: SchemaIssue): string {
  const keys = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length === 0 ? "" : `${keys.join(".")}: `;
}
