import { isObject } from "./json.ts";

/** The arguments of a call as text. Servers that send them as parsed JSON are accepted too: the JSON is written out again. */
export function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : "";
}
