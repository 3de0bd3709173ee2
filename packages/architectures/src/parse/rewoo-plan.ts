import type { JsonValue } from "@ravi/kernel";
import { fieldOf, findJson, isObject } from "./json.ts";

/** One step of a ReWOO plan. `id` is `E1`, `E2` and so on. */
export interface RewooStep {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonValue;
}

const PLACEHOLDER = /#(E\d+)\b/gi;
const LINE = /#(E\d+)\s*=\s*([A-Za-z0-9_-]+)\s*[[(](.*)[\])]\s*$/;

/** A longer line is no step of a plan, but a model that has lost its way. */
const MOST_LINE = 10_000;

/** A plan out of JSON, or of the lines of the paper: `#E1 = search[weather in Oslo]`. Empty where there is none. */
export function readRewooPlan(text: string): RewooStep[] {
  const json = findJson(text);
  const items = isObject(json) ? fieldOf(json, ["steps", "plan"]) : json;
  const steps = Array.isArray(items)
    ? items.flatMap((item: JsonValue, at) => stepIn(item, at) ?? [])
    : text.split("\n").flatMap((line) => stepInLine(line) ?? []);
  const seen = new Set<string>();
  // A second step of the same name would overwrite what the first one found.
  return steps.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/**
 * The whole steps of a plan that was cut off by its length. A line that was cut off has no bracket at its end and is no step, so
 * only one that is read from the last line may be half of one.
 */
export function readCutRewooPlan(text: string): RewooStep[] {
  const steps = readRewooPlan(text);
  const before = readRewooPlan(text.slice(0, text.lastIndexOf("\n") + 1));
  return before.length < steps.length ? steps.slice(0, -1) : steps;
}

/** The steps whose results an input needs. */
export function placeholdersIn(input: JsonValue): string[] {
  const found = [...JSON.stringify(input).matchAll(PLACEHOLDER)].map(([, id = ""]) => id.toUpperCase());
  return [...new Set(found)];
}

/** An input with the results of other steps in it. */
export function fillIn(input: JsonValue, evidence: ReadonlyMap<string, string>): JsonValue {
  if (typeof input === "string")
    return input.replaceAll(PLACEHOLDER, (whole, id: string) => evidence.get(id.toUpperCase()) ?? whole);
  if (Array.isArray(input)) return input.map((item: JsonValue) => fillIn(item, evidence));
  if (!isObject(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, value === undefined ? null : fillIn(value, evidence)]),
  );
}

function stepIn(item: JsonValue, at: number): RewooStep | undefined {
  if (!isObject(item)) return typeof item === "string" ? stepInLine(item) : undefined;
  const tool = fieldOf(item, ["tool", "action", "name", "function"]);
  if (typeof tool !== "string") return undefined;
  const id = fieldOf(item, ["id", "evidence", "variable"]);
  const input = fieldOf(item, ["input", "arguments", "args", "parameters", "query", "prompt"]);
  return { id: idOf(id, at), tool, input: input ?? {} };
}

function idOf(id: JsonValue | undefined, at: number): string {
  const number = /\d+/.exec(typeof id === "string" || typeof id === "number" ? String(id) : "");
  return `E${number === null ? at + 1 : number[0]}`;
}

function stepInLine(line: string): RewooStep | undefined {
  const found = line.length > MOST_LINE ? null : LINE.exec(line.trim());
  if (found === null) return undefined;
  const [, id = "", tool = "", input = ""] = found;
  return { id: id.toUpperCase(), tool, input: jsonOr(input.trim()) };
}

function jsonOr(text: string): JsonValue {
  const unquoted = /^(["'])(.*)\1$/.exec(text);
  if (unquoted !== null) return unquoted[2] ?? "";
  return text.startsWith("{") ? (findJson(text) ?? text) : text;
}
