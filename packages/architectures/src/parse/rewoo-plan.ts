import type { JsonValue } from "@ravi/kernel";
import { eachJson, fieldOf, findJson, isObject } from "./json.ts";

/** One step of a ReWOO plan. `id` is `E1`, `E2` and so on. */
export interface RewooStep {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonValue;
}

const PLACEHOLDER = /#(E\d+)\b/gi;
const INPUTS = ["input", "toolInput", "actionInput", "arguments", "args", "parameters", "query", "prompt"];
/** Matches the text before a step that is a string inside JSON, not a line of its own. */
const IN_JSON = /^\s*["[{]|[[{]\s*["{[]/;
const LINE = /#(E\d+)\s*=\s*([A-Za-z0-9_-]+)\s*[[(](.*)[\])]$/s;

/** A longer line is not a step but the output of a confused model. */
const MAX_LINE = 10_000;

/**
 * Reads a plan from JSON or from lines as in the ReWOO paper: `#E1 = search[weather in Oslo]`. Empty if there is none. JSON is searched for
 * outside of these lines, because their brackets may contain JSON too.
 */
export function readRewooPlan(text: string): RewooStep[] {
  const read = text.split("\n").map((line) => ({ line, step: stepInLine(line) }));
  const inLines = read.flatMap(({ step }) => step ?? []);
  const rest = read.flatMap(({ line, step }) => (step === undefined ? [line] : []));
  const inJson = stepsInJson(rest.join("\n"));
  const steps = inJson.length >= inLines.length ? inJson : inLines;
  const seen = new Set<string>();
  // A second step with the same id would overwrite what the first one found.
  return steps.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/**
 * The complete steps of a plan that was cut off by its length. A line that was cut off has no bracket at its end and is not read as a step,
 * so only a step read from the last line may be incomplete.
 */
export function readCutRewooPlan(text: string): RewooStep[] {
  const steps = readRewooPlan(text);
  const before = readRewooPlan(text.slice(0, text.lastIndexOf("\n") + 1));
  return before.length < steps.length ? steps.slice(0, -1) : steps;
}

/** The ids of the steps whose results an input needs. */
export function placeholdersIn(input: JsonValue): string[] {
  const found = [...JSON.stringify(input).matchAll(PLACEHOLDER)].map(([, id = ""]) => id.toUpperCase());
  return [...new Set(found)];
}

/** The input with the results of other steps filled in. */
export function fillIn(input: JsonValue, evidence: ReadonlyMap<string, string>): JsonValue {
  if (typeof input === "string")
    return input.replaceAll(PLACEHOLDER, (whole, id: string) => evidence.get(id.toUpperCase()) ?? whole);
  if (Array.isArray(input)) return input.map((item: JsonValue) => fillIn(item, evidence));
  if (!isObject(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, value === undefined ? null : fillIn(value, evidence)]),
  );
}

/** Uses the first JSON that contains a step: `[1]` is a remark, not a plan. */
function stepsInJson(text: string): readonly RewooStep[] {
  for (const json of eachJson(text)) {
    const items = itemsIn(json);
    const steps = Array.isArray(items) ? items.flatMap((item: JsonValue, at) => stepIn(item, at) ?? []) : [];
    if (steps.length > 0) return steps;
  }
  return [];
}

/** The list may be one level deeper: `{"plan": {"steps": […]}}`. */
function itemsIn(json: JsonValue | undefined): JsonValue | undefined {
  return isObject(json) ? itemsIn(fieldOf(json, ["steps", "plan"])) : json;
}

function stepIn(item: JsonValue, at: number): RewooStep | undefined {
  if (!isObject(item)) return typeof item === "string" ? stepInLine(item) : undefined;
  const tool = fieldOf(item, ["tool", "action", "name", "function"]);
  if (typeof tool !== "string") return undefined;
  const id = fieldOf(item, ["id", "evidence", "variable"]);
  const input = fieldOf(item, INPUTS);
  return { id: idOf(id, at), tool, input: input ?? {} };
}

function idOf(id: JsonValue | undefined, at: number): string {
  const number = /\d+/.exec(typeof id === "string" || typeof id === "number" ? String(id) : "");
  return `E${number === null ? at + 1 : number[0]}`;
}

function stepInLine(line: string): RewooStep | undefined {
  const text = line.trim();
  // Without a bracket at the end, each place at which a step seems to begin would be tried with all that follows.
  const found = line.length <= MAX_LINE && /[\])]$/.test(text.slice(-1)) ? LINE.exec(text) : null;
  if (found === null || IN_JSON.test(found.input.slice(0, found.index))) return undefined;
  const [, id = "", tool = "", input = ""] = found;
  return { id: id.toUpperCase(), tool, input: jsonOrText(input.trim()) };
}

function jsonOrText(text: string): JsonValue {
  const unquoted = /^(["'])(.*)\1$/.exec(text);
  if (unquoted !== null) return unquoted[2] ?? "";
  return text.startsWith("{") ? (findJson(text) ?? text) : text;
}
