import type { JsonValue } from "@ravi/kernel";
import { fieldOf, findJson, isObject } from "./json.ts";

const LISTS = ["steps", "plan", "tasks", "thoughts", "ideas", "items", "options", "list"];
const TEXTS = ["step", "task", "thought", "idea", "description", "text", "title", "action", "name"];
const ITEM = /^\s*(?:\d+\s*[.):]|[-*•]|step\s+\d+\s*[:.)-])\s*(.+)$/i;

/** A list of texts, from JSON or from numbered or dotted lines. Empty where there is none. */
export function readList(text: string): string[] {
  const json = findJson(text);
  const items = isObject(json) ? fieldOf(json, LISTS) : json;
  if (Array.isArray(items)) {
    const texts = items.flatMap((item: JsonValue) => textIn(item) ?? []);
    if (texts.length > 0) return unique(texts);
  }
  const lines = text.split("\n").flatMap((line) => ITEM.exec(line)?.[1]?.trim() ?? []);
  return unique(lines.filter((line) => line !== ""));
}

function textIn(item: JsonValue): string | undefined {
  const value = isObject(item) ? fieldOf(item, TEXTS) : item;
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value).trim();
  return text === "" ? undefined : text;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
