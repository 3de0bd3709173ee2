import { parseJson } from "../core/json.ts";
import { type Fields, isObject } from "./json.ts";

/**
 * The arguments of a call as text. Servers that send them as parsed JSON are accepted too: the JSON is written out again, also if it is no
 * object, so that the call is refused and not made without arguments.
 */
export function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** How much of unreadable arguments is sent back to the model. */
const SHOWN_CHARACTERS = 10_000;

/**
 * The arguments of an earlier call as an object, for servers that demand one: they would refuse the whole conversation because of anything
 * else, or of JSON that is too deep or too long. Such text is put into an object, so that the model can see it.
 */
export function argumentObject(text: string): Fields {
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseJson(text, "arguments");
    if (isObject(value)) return value;
  } catch {
    // Falls through: sent as text.
  }
  return { unreadable_arguments: text.slice(0, SHOWN_CHARACTERS).toWellFormed() };
}
