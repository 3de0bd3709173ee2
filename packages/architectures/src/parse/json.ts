import { type JsonObject, type JsonValue, parseJson } from "@ravi/kernel";

/** How many brackets that do not start valid JSON are tried: a text full of brackets must not take for ever. */
const MAX_FALSE_STARTS = 20;

/** Yields every JSON object or array in a text, whatever is around them: prose, a code fence, a second attempt. */
export function* eachJson(text: string): Generator<JsonValue, void> {
  let tried = 0;
  for (let at = nextStart(text, 0); at !== -1 && tried < MAX_FALSE_STARTS;) {
    const end = endOf(text, at);
    const value = end === undefined ? undefined : readJson(text.slice(at, end));
    if (end !== undefined && value !== undefined) yield value;
    else tried++;
    at = nextStart(text, end === undefined || value === undefined ? at + 1 : end);
  }
}

/** The first JSON object or array in a text. */
export function findJson(text: string): JsonValue | undefined {
  return eachJson(text).next().value ?? undefined;
}

/** The first object in a text; in an array, its first object. A `[1]` before it is skipped as a remark. */
export function findObject(text: string): JsonObject | undefined {
  for (const value of eachJson(text)) {
    const object = Array.isArray(value) ? value.find(isObject) : value;
    if (isObject(object)) return object;
  }
  return undefined;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value under the first of these names, in any spelling: `nextAgent`, `next_agent`, `Next agent`. */
export function fieldOf(object: JsonObject, names: readonly string[]): JsonValue | undefined {
  const byName = new Map(Object.entries(object).map(([key, value]) => [plain(key), value]));
  for (const name of names) {
    const value = byName.get(plain(name));
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/** Like `fieldOf`, for the first object in a text. */
export function fieldIn(text: string, names: readonly string[]): JsonValue | undefined {
  const object = findObject(text);
  return object === undefined ? undefined : fieldOf(object, names);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function nextStart(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === "{" || text[at] === "[") return at;
  return -1;
}

/** The position after the bracket that closes the one at `start`. Brackets in strings are ignored. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return at + 1;
  }
  return undefined;
}

/**
 * Parses JSON; if that fails, once more with the most common mistakes of models corrected: trailing commas and Python's `True`,
 * `False`, `None`.
 */
export function readJson(text: string): JsonValue | undefined {
  for (const attempt of [text, withMistakesFixed(text)]) {
    try {
      return parseJson(attempt, "the answer");
    } catch {
      // Try the next version, if any.
    }
  }
  return undefined;
}

function withMistakesFixed(text: string): string {
  return text
    .replaceAll(/,(\s*[}\]])/g, "$1")
    .replaceAll(/:\s*True\b/g, ": true")
    .replaceAll(/:\s*False\b/g, ": false")
    .replaceAll(/:\s*None\b/g, ": null");
}
