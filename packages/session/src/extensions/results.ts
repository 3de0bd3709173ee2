import { InvalidValueError } from "@ravi/kernel";
import { hasMethod } from "@ravi/kernel/loop";
import { isObject } from "@ravi/kernel/provider";
import { isBlank } from "../queue/mailbox.ts";
import type { SessionEventName, SessionEventResults } from "./events.ts";

type ChangeableEvent = keyof SessionEventResults;

/** The type of a field, as a description and as a test. */
interface Shape {
  readonly expected: string;
  readonly isValid: (value: unknown) => boolean;
}

const NON_BLANK: Shape = {
  expected: "a non-empty string",
  isValid: (value) => typeof value === "string" && !isBlank(value),
};
const TEXT: Shape = { expected: "a string", isValid: (value) => typeof value === "string" };
const BOOLEAN: Shape = { expected: "true or false", isValid: (value) => typeof value === "boolean" };
const CONTENT: Shape = { expected: "a string or an array of content parts", isValid: isContent };
const MESSAGES: Shape = { expected: "an array of messages", isValid: isMessages };

const FIELDS: {
  readonly [E in ChangeableEvent]: Readonly<Record<keyof SessionEventResults[E], Shape>>;
} = {
  input: { text: NON_BLANK },
  before_agent_start: { systemPrompt: TEXT },
  context: { messages: MESSAGES },
  tool_call: { block: BOOLEAN, reason: TEXT },
  tool_result: { content: CONTENT, isError: BOOLEAN, terminate: BOOLEAN },
  session_before_compact: { cancel: BOOLEAN, messages: MESSAGES },
};

/** Whether handlers of this event can change it. */
export function isChangeable(name: SessionEventName): name is ChangeableEvent {
  return Object.hasOwn(FIELDS, name);
}

/**
 * The fields of a handler's result that this event knows. Throws if one has the wrong type, which is then reported as the
 * extension's error.
 */
export function checkedResult(name: ChangeableEvent, result: object): object {
  const fields: Readonly<Record<string, Shape>> = FIELDS[name];
  const checked: Record<string, unknown> = {};
  for (const [field, { expected, isValid }] of Object.entries(fields)) {
    const value: unknown = Reflect.get(result, field);
    if (value === undefined) continue;
    if (!isValid(value)) throw new InvalidValueError({ field: `${name}: ${field}`, value, expected });
    checked[field] = value;
  }
  return checked;
}

// A store writes them as JSON, which has of an object only its own fields, and of a hole null. `every` passes over holes.

export function isContent(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && Array.from<unknown>(value).every(isPart));
}

/** The field that a content part of each type must have. */
const PARTS: ReadonlyMap<unknown, string> = new Map([
  ["text", "text"],
  ["reasoning", "text"],
  ["image", "url"],
  ["file", "url"],
]);

function isPart(part: unknown): boolean {
  const own = ownFields(part);
  const field = PARTS.get(own["type"]);
  return field !== undefined && typeof own[field] === "string";
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

export function isMessages(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return Array.from<unknown>(value).every((message) => {
    const { role, content } = ownFields(message);
    return ROLES.has(role) && isContent(content);
  });
}

function ownFields(value: unknown): { readonly [name: string]: unknown } {
  return isObject(value) && !hasMethod(value, "toJSON") ? { ...value } : {};
}
