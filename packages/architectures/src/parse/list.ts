import type { JsonValue } from "@ravi/kernel";
import { eachJson, fieldOf, isObject, readJson } from "./json.ts";

const LISTS = ["steps", "plan", "tasks", "thoughts", "ideas", "items", "options", "list"];
const TEXTS = ["step", "task", "thought", "idea", "description", "text", "title", "action", "name"];
const ITEM = /^\s*(?:\d+\s*[.):]|[-*•]|step\s+\d+\s*[:.)-])\s*(.+)$/is;

/** A list of distinct texts, read from JSON or from numbered or bulleted lines. Empty if there is none. */
export function readList(text: string): string[] {
  return [...new Set(readSequence(text))];
}

/**
 * Like `readList`, but keeps repetitions: in a plan, the same step may occur twice. JSON is searched for outside of the lines of a list,
 * because a line may contain something like `item [0]`.
 */
export function readSequence(text: string): string[] {
  const read = text.split("\n").map((line) => ({ line, item: itemIn(line) }));
  const lines = read.flatMap(({ item }) => item ?? []);
  const rest = read.flatMap(({ line, item }) => (item === undefined ? [line] : []));
  const json = listInJson(rest.join("\n"));
  // A single text in brackets next to a whole list is a remark.
  return json.length > 1 || lines.length < 2 ? [...(json.length > 0 ? json : lines)] : lines;
}

/** The text of a list line. JSON after a dash does not count as one: it is a list itself. */
function itemIn(line: string): string | undefined {
  const item = ITEM.exec(line)?.[1]?.trim() ?? "";
  if (!/[\p{L}\p{N}\p{S}]/u.test(item)) return undefined;
  return /^[[{]/.test(item) && isList(readJson(item)) ? undefined : item;
}

/** A list under one of its names; else the longest list in the text. */
function listInJson(text: string): readonly string[] {
  let longest: readonly string[] = [];
  for (const json of eachJson(text)) {
    const named = isObject(json) ? textsIn(fieldOf(json, LISTS)) : [];
    if (named.length > 0) return named;
    const bare = isList(json) ? textsIn(json) : [];
    if (bare.length > longest.length) longest = bare;
  }
  return longest;
}

/** Numbers only, as in `see [1]`, are not a list of texts. */
function isList(json: JsonValue | undefined): boolean {
  return Array.isArray(json) ? json.some((item) => typeof item !== "number") : isObject(json);
}

function textsIn(items: JsonValue | undefined): readonly string[] {
  return Array.isArray(items) ? items.flatMap((item: JsonValue) => textIn(item) ?? []) : [];
}

function textIn(item: JsonValue): string | undefined {
  const value = isObject(item) ? fieldOf(item, TEXTS) : item;
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value).trim();
  return text === "" ? undefined : text;
}
