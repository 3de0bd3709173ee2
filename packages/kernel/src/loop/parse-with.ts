import { quietly } from "../core/quietly.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { messageOf } from "../errors/message-of.ts";
import {
  type JsonSchemaValidator,
  type SchemaIssue,
  type SchemaLike,
  type SchemaResult,
  type StandardSchema,
  isStandardSchema,
} from "../model/schema.ts";
import { unchecked } from "./check-schemas.ts";
import { validate } from "./validate.ts";

/** A checked value, or what is wrong with it. `read` is what was checked, if that is not what was given. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly read?: unknown }
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
 * found a problem too; and where a schema refuses a null, the field counts as left out, since many models write null for what they leave out.
 */
export function readWith<T>(
  schema: SchemaLike<T>,
  value: unknown,
  validator?: JsonSchemaValidator | undefined,
): MaybePromise<Parsed<T>> {
  if (!isStandardSchema(schema)) return parseWith(schema, value, validator);
  try {
    const result = validate(schema, value);
    if (!isPromiseLike(result))
      return result.issues === undefined ? toParsed(result) : orWithoutNulls(schema, value, result);
    return Promise.resolve(result)
      .then((done) => orWithoutNulls(schema, value, done))
      .then(undefined, unread);
  } catch (error) {
    return unread(error);
  }
}

/** What is wrong is told of the value as it was given. */
function orWithoutNulls<T>(
  schema: StandardSchema<unknown, T>,
  value: unknown,
  result: SchemaResult<T>,
): MaybePromise<Parsed<T>> {
  const read = result.issues === undefined ? undefined : withoutNulls(value, result.issues);
  if (read === undefined) return toParsed(result);
  const again = (second: SchemaResult<T>): Parsed<T> =>
    second.issues === undefined ? { ok: true, value: second.value, read } : toParsed(result);
  const second = validate(schema, read);
  return isPromiseLike(second) ? Promise.resolve(second).then(again) : again(second);
}

/** A copy of a JSON value without the nulls that the issues are about; undefined if one of them is about something else. */
function withoutNulls(value: unknown, issues: readonly SchemaIssue[]): unknown {
  if (!issues.every((issue) => parentOfNull(value, issue) !== undefined)) return undefined;
  const copy: unknown = JSON.parse(JSON.stringify(value));
  for (const issue of issues) {
    const key = keysOf(issue).at(-1);
    const parent = parentOfNull(copy, issue);
    if (parent !== undefined && key !== undefined) Reflect.deleteProperty(parent, key);
  }
  return copy;
}

/** The object whose field the issue is about, if that field is null. An item of a list cannot be left out. */
function parentOfNull(value: unknown, issue: SchemaIssue): object | undefined {
  const keys = keysOf(issue);
  const last = keys.pop();
  let at = value;
  for (const key of keys) at = isObject(at) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
  if (last === undefined || !isObject(at) || Array.isArray(at)) return undefined;
  return Object.hasOwn(at, last) && Reflect.get(at, last) === null ? at : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
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

function keysOf(issue: SchemaIssue): string[] {
  return (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
}

function pathOf(issue: SchemaIssue): string {
  const keys = keysOf(issue);
  return keys.length === 0 ? "" : `${keys.join(".")}: `;
}
