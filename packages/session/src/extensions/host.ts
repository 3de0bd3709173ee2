import {
  type AbortSignalLike,
  type AgentEvent,
  deepFreeze,
  InvalidValueError,
  isPromiseLike,
} from "@ravi/kernel";
import { isBlank } from "../queue/queue.ts";
import { abortable } from "./abortable.ts";
import type { SessionEventName, SessionEventResults, SessionEvents } from "./events.ts";
import type { CollectedError, Extension, ExtensionContext } from "./extension.ts";

type Reduced = keyof SessionEventResults;

/** Only the newest are kept: an extension that fails at every word must not fill the memory. */
const MOST_ERRORS = 100;

/** Calls extensions one after the other, and keeps their errors from everybody else. */
export class ExtensionHost {
  readonly errors: CollectedError[] = [];
  extensions: readonly Extension[] = [];
  private readonly agent: ExtensionContext;

  constructor(agent: ExtensionContext) {
    this.agent = agent;
  }

  /**
   * Tells all of them. What they make of the event is checked and given to the next; what they are shown they cannot change.
   * An abort ends it, but for a `fact`: that is still told to the others, and nobody is waited for any more.
   */
  async emit<E extends SessionEventName>(
    name: E,
    event: SessionEvents[E],
    { signal, isFact = false }: { signal?: AbortSignalLike | undefined; isFact?: boolean } = {},
  ): Promise<SessionEvents[E]> {
    let current = event;
    for (const { name: source, on } of this.extensions) {
      const handler = on?.[name];
      if (handler === undefined) continue;
      const shown: SessionEvents[E] = frozen(current);
      if (isFact && signal?.aborted === true) {
        this.unawaited({ source, event: name }, () => handler(shown, this.agent));
        continue;
      }
      try {
        const result: unknown = await abortable(handler(shown, this.agent), signal);
        if (isReduced(name) && typeof result === "object" && result !== null)
          current = { ...current, ...checked(name, result) };
      } catch (error) {
        if (signal?.aborted !== true) this.collect({ source, event: name, error });
        else if (!isFact) throw error;
      }
    }
    return current;
  }

  /** Whether somebody has a handler for it. */
  handles(name: SessionEventName): boolean {
    return this.extensions.some(({ on }) => on?.[name] !== undefined);
  }

  get hears(): boolean {
    return this.extensions.some(({ onEvent }) => onEvent !== undefined);
  }

  /** What the loop tells. Nobody waits. */
  tell(event: AgentEvent): void {
    for (const { name: source, onEvent } of this.extensions)
      this.unawaited({ source, event: event.type }, () => onEvent?.(event, this.agent));
  }

  private unawaited(where: Omit<CollectedError, "error">, call: () => unknown): void {
    try {
      const result = call();
      if (isPromiseLike(result))
        result.then(undefined, (error: unknown) => this.collect({ ...where, error }));
    } catch (error) {
      this.collect({ ...where, error });
    }
  }

  collect(error: CollectedError): void {
    this.errors.push(error);
    if (this.errors.length > MOST_ERRORS) this.errors.shift();
  }
}

/** Lists and messages are frozen already where they came from a session; what is in them may not be. */
function frozen<T extends object>(event: T): T {
  const shown = { ...event };
  for (const value of Object.values(shown)) {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const item of items)
      if (typeof item === "object" && item !== null) Object.values(item).forEach(deepFreeze);
    deepFreeze(value);
  }
  return Object.freeze(shown);
}

/** What a field must be, in words and as a test. */
interface Shape {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
}

const SAID: Shape = { expected: "a text that is not empty", fits: isSaid };
const TEXT: Shape = { expected: "a text", fits: isText };
const FLAG: Shape = { expected: "true or false", fits: isFlag };
const CONTENT: Shape = { expected: "a text, or a list of content parts", fits: isContent };
const MESSAGES: Shape = { expected: "a list of messages", fits: isMessages };

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

function isReduced(name: SessionEventName): name is Reduced {
  return Object.hasOwn(FIELDS, name);
}

/** The fields that this event takes; anything of another shape is the extension's error. */
function checked(name: Reduced, result: object): object {
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

/** The field without which a part of that type is none. */
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
