import { type JsonValue, parseJson } from "../../../core/json.ts";
import { messageOf } from "../../../errors/message-of.ts";
import type { JsonSchemaValidator, SchemaLike } from "../../../model/schema.ts";
import { type Parsed, readWith } from "../../parse-with.ts";
import { withoutThoughts } from "../../thoughts.ts";
import { unwrapped } from "../answer-shape.ts";

/** How a structured answer is read. */
export interface Reading<T> {
  readonly schema: SchemaLike<T>;
  /** Whether it was requested inside of an object. */
  readonly isWrapped: boolean;
  readonly validator: JsonSchemaValidator | undefined;
}

/** The checked value of an answer, and its JSON text. */
export interface Answer<T> {
  readonly output: string;
  readonly structured: T;
}

/** Parses and checks a structured answer. `problem` is an error message for the model. */
export async function readStructured<T>(text: string, reading: Reading<T>): Promise<Parsed<Answer<T>>> {
  const { schema, isWrapped, validator } = reading;
  const json = jsonIn(text);
  let value: JsonValue;
  try {
    value = parseJson(json, "the answer");
  } catch (error) {
    return { ok: false, problem: messageOf(error) };
  }
  const inside = isWrapped ? unwrapped(value) : undefined;
  const parsed = inside && (await readWith(schema, inside.value, validator));
  if (inside !== undefined && parsed?.ok === true)
    return answered(parsed.value, JSON.stringify(parsed.read ?? inside.value));
  // Not every server enforces the requested shape, so an answer without the wrapper is accepted too.
  const bare = await readWith(schema, value, validator);
  if (bare.ok) return answered(bare.value, bare.read === undefined ? json : JSON.stringify(bare.read));
  return parsed?.ok === false ? parsed : bare;
}

function answered<T>(structured: T, output: string): Parsed<Answer<T>> {
  return { ok: true, value: { output, structured } };
}

const FENCE = "```";

/**
 * The JSON behind thoughts, which some servers leave in an answer, and inside of a fenced block, which models like to use, with
 * text before and after it.
 */
function jsonIn(answer: string): string {
  const text = withoutThoughts(answer);
  const start = text.indexOf(FENCE);
  // A fence inside of JSON belongs to one of its strings.
  if (start === -1 || /^\s*[[{"]/.test(text)) return text;
  const body = text.indexOf("\n", start);
  const end = text.lastIndexOf(FENCE);
  return body === -1 || end <= body ? text : text.slice(body + 1, end).trim();
}

/** Adds `structured` to a result if its output matches the schema; otherwise returns the result as it is. */
export async function withStructured<T, R extends { readonly output: string }>(
  result: R,
  reading: Reading<T>,
): Promise<R & { readonly structured?: T }> {
  const parsed = await readStructured(result.output, reading);
  return parsed.ok ? { ...result, ...parsed.value } : result;
}
