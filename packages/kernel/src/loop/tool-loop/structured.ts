import { type JsonValue, parseJson } from "../../core/json.ts";
import { isPromiseLike, type MaybePromise } from "../../core/types.ts";
import type { JsonSchemaValidator, SchemaLike } from "../../model/schema.ts";
import { type Parsed, parseWith } from "../parse-with.ts";
import { messageOf } from "../tool-call.ts";

/** Reads an answer that must have a shape. A `problem` is for the model. */
export function readStructured<T>(
  schema: SchemaLike<T>,
  text: string,
  validator: JsonSchemaValidator | undefined,
): MaybePromise<Parsed<T>> {
  let value: JsonValue;
  try {
    value = parseJson(withoutFence(text), "the answer");
  } catch (error) {
    return { ok: false, problem: messageOf(error) };
  }
  return parseWith(schema, value, validator);
}

const FENCE = "```";

/** Models like to put JSON into a fenced block, with a sentence before and after it. */
function withoutFence(text: string): string {
  const start = text.indexOf(FENCE);
  // A fence inside a JSON text belongs to one of its strings.
  if (start === -1 || /^\s*[[{"]/.test(text)) return text;
  const body = text.indexOf("\n", start);
  const end = text.lastIndexOf(FENCE);
  return body === -1 || end <= body ? text : text.slice(body + 1, end);
}

/** Adds the value to a result that has one; a result that does not fit stays as it is. */
export function withStructured<T, R extends { readonly output: string }>(
  result: R,
  schema: SchemaLike<T>,
  validator: JsonSchemaValidator | undefined,
): MaybePromise<R & { readonly structured?: T }> {
  const add = (parsed: Parsed<T>): R & { readonly structured?: T } =>
    parsed.ok ? { ...result, structured: parsed.value } : result;
  const parsed = readStructured(schema, result.output, validator);
  return isPromiseLike(parsed) ? parsed.then(add) : add(parsed);
}
