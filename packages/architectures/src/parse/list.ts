import type { JsonObject, JsonValue } from "@ravi/kernel";
import { withoutEmphasisEnd } from "./emphasis.ts";
import { eachJson, fieldOf, isObject, readJson } from "./json.ts";

const LISTS = ["steps", "plan", "tasks", "thoughts", "ideas", "items", "options", "list"];
const TEXTS = [
  "step",
  "task",
  "thought",
  "idea",
  "description",
  "text",
  "title",
  "action",
  "name",
  "instruction",
  "goal",
];
/** A line such as `1. look`, `- look` or `**Step 1:** look`. */
const ITEM = /^\s*(?<bold>\*\*|__)?(?:\d+\s*[.):]|[-•]|\*(?!\*)|step\s+\d+\s*[:.)-])\s*(?<text>.+)$/is;
/** How many more blanks than an item a line has that belongs to the item. */
const INDENT = 2;
const TAB = " ".repeat(4);
/** The number of a step instead of the step. */
const NUMBER = /^(?:step\s*)?\d+[.:]?$/i;

/** A list of distinct texts, read from JSON or from numbered or bulleted lines. Empty if there is none. */
export function readList(text: string): string[] {
  return [...new Set(readSequence(text))];
}

/**
 * Like `readList`, but keeps repetitions: in a plan, the same step may occur twice. JSON is searched for outside of the lines of a list,
 * because a line may contain something like `item [0]`.
 */
export function readSequence(text: string): string[] {
  const { items, rest } = readLines(text);
  const json = listInJson(rest.join("\n"));
  // A single text in brackets next to a whole list is a remark.
  return json.length > 1 || items.length < 2 ? [...(json.length > 0 ? json : items)] : items;
}

interface Lines {
  /** The items of a list, each with the lines that are indented below it. */
  readonly items: string[];
  /** The indented lines as they are. */
  readonly below: readonly string[];
  /** All other lines. */
  readonly rest: readonly string[];
}

/** A single item with a list below it is the headline of that list. */
function readLines(text: string): Lines {
  const outer = readLevel(text);
  if (outer.items.length !== 1) return outer;
  const inner = readLevel(outer.below.join("\n"));
  return inner.items.length === 0 ? outer : { ...inner, rest: [...outer.rest, ...inner.rest] };
}

function readLevel(text: string): Lines {
  const items: string[] = [];
  const rest: string[] = [];
  const below: string[] = [];
  let indent = Infinity;
  for (const line of text.split("\n")) {
    const said = line.trim();
    if (said === "") continue;
    const depth = line.slice(0, line.indexOf(said)).replaceAll("\t", TAB).length;
    if (depth >= indent + INDENT) {
      below.push(line);
      items.push(`${items.pop() ?? ""}\n${said}`);
      continue;
    }
    const item = itemIn(line);
    indent = item === undefined ? Infinity : depth;
    if (item === undefined) rest.push(line);
    else items.push(item);
  }
  return { items, below, rest };
}

/** The text of a list line. JSON after a dash does not count as one: it is a list itself. */
function itemIn(line: string): string | undefined {
  const { text = "", bold = "" } = ITEM.exec(line)?.groups ?? {};
  const item = withoutEmphasisEnd(text, bold);
  if (!/[\p{L}\p{N}\p{S}]/u.test(item)) return undefined;
  return /^[[{]/.test(item) && isList(readJson(item)) ? undefined : item;
}

/** A list under one of its names; else the longest list in the text. */
function listInJson(text: string): readonly string[] {
  let longest: readonly string[] = [];
  for (const json of eachJson(text)) {
    const named = isObject(json) ? namedList(json) : [];
    if (named.length > 0) return named;
    const bare = isList(json) ? textsIn(json) : [];
    if (bare.length > longest.length) longest = bare;
  }
  return longest;
}

/** The list may be one level deeper: `{"plan": {"steps": […]}}`. */
function namedList(json: JsonObject): readonly string[] {
  const inner = fieldOf(json, LISTS);
  return isObject(inner) ? namedList(inner) : textsIn(inner);
}

/** Numbers only, as in `see [1]`, are not a list of texts. */
function isList(json: JsonValue | undefined): boolean {
  return Array.isArray(json) ? json.some((item) => typeof item !== "number") : isObject(json);
}

function textsIn(items: JsonValue | undefined): readonly string[] {
  return Array.isArray(items) ? items.flatMap((item: JsonValue) => textIn(item) ?? []) : [];
}

/** Of an object, its first text: `{"step": 1, "task": "look"}` is `look`. A number is taken if there is nothing else. */
function textIn(item: JsonValue): string | undefined {
  const values = isObject(item) ? TEXTS.map((name) => fieldOf(item, [name])) : [item];
  const texts = values.flatMap((value) =>
    typeof value === "string" || typeof value === "number" ? [String(value).trim()] : [],
  );
  return texts.find((text) => text !== "" && !NUMBER.test(text)) ?? texts.find((text) => text !== "");
}
