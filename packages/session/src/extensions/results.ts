import { InvalidValueError } from "@ravi/kernel";
import { isBlank } from "../queue/queue.ts";
import type { SessionEventName, SessionEventResults } from "./events.ts";

type Reduced = keyof SessionEventResults;

/** The type of a field, as a description and as a test. */
interface Shape {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
}

const SAID: Shape = { expected: "a non-empty string", fits: isSaid };
const TEXT: Shape = { expected: "a string", fits: isText };
const FLAG: Shape = { expected: "true or false", fits: isFlag };
const CONTENT: Shape = { expected: "a string or an array of content parts", fits: isContent };
const MESSAGES: Shape = { expected: "an array of messages", fits: isMessages };

const FIELDS: {
  readonly [E in Reduced]: Readonly<Record<keyof SessionEventResults[E], Shape>>;
} = {
  input: { text: SAID },
  before_agent_start: { systemPrompt: TEXT },
  context: { messages: MESSAGES },
  tool_call: { block: FLAG, reason: TEXT },
  tool_result: { content: CONTENT, isError: FLAG, terminate: FLAG },
  session_before_compact: { cancel: FLAG, messages: MESSAGES },
};

/** Whether handlers of this event can change it. */
export function isReduced(name: SessionEventName): name is Reduced {
  return Object.hasOwn(FIELDS, name);
}

/**
 * The fields of a handler's result that this event knows. Throws if one has the wrong type, which is then reported as the
 * extension's error.
 */
export function checkedResult(name: Reduced, result: object): object {
  const fields: Readonly<Record<string, Shape>> = FIELDS[name];
  const taken: Record<string, unknown> = {};
  for (const [field, { expected, fits }] of Object.entries(fields)) {
    const value: unknown = Reflect.get(result, field);
    if (value === undefined) continue;
    if (!fits(value)) throw new InvalidValueError({ field: `${name}: ${field}`, value, expected });
    taken[field] = value;
  }
  return taken;
}

function isSaid(value: unknown): boolean {
  return typeof value === "string" && !isBlank(value);
}
function isText(value: unknown): boolean {
  return typeof value === "string";
}
function isFlag(value: unknown): boolean {
  return typeof value === "boolean";
}
export function isContent(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every(isPart));
}

/** The field that a content part of each type must have. */
const PARTS: ReadonlyMap<unknown, string> = new Map([
  ["text", "text"],
  ["reasoning", "text"],
  ["image", "url"],
  ["file", "url"],
]);

function isPart(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  const field = PARTS.get(Reflect.get(part, "type"));
  return field !== undefined && typeof Reflect.get(part, field) === "string";
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

export function isMessages(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every(
    (message: unknown) =>
      typeof message === "object" &&
      message !== null &&
      ROLES.has(Reflect.get(message, "role")) &&
      isContent(Reflect.get(message, "content")),
  );
}
