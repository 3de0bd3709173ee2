import { type AbortSignalLike, type AgentEvent, InvalidValueError, isPromiseLike } from "@ravi/kernel";
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

  /** Tells all of them. What they make of the event is checked and given to the next. */
  async emit<E extends SessionEventName>(
    name: E,
    event: SessionEvents[E],
    signal?: AbortSignalLike | undefined,
  ): Promise<SessionEvents[E]> {
    let current = event;
    for (const { name: source, on } of this.extensions) {
      const handler = on?.[name];
      if (handler === undefined) continue;
      try {
        const shown: SessionEvents[E] = { ...current };
        Object.freeze(shown);
        const result: unknown = await abortable(handler(shown, this.agent), signal);
        if (isReduced(name) && typeof result === "object" && result !== null)
          current = { ...current, ...checked(name, result) };
      } catch (error) {
        if (signal?.aborted === true) throw error;
        this.collect({ source, event: name, error });
      }
    }
    return current;
  }

  /** Tells all of them at once, and waits for nobody. */
  notify<E extends SessionEventName>(name: E, event: SessionEvents[E]): void {
    for (const { name: source, on } of this.extensions) {
      const handler = on?.[name];
      this.unawaited({ source, event: name }, () => handler?.(event, this.agent));
    }
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

const FIELDS: {
  readonly [E in Reduced]: Readonly<Record<keyof SessionEventResults[E], (value: unknown) => boolean>>;
} = {
  input: { text: isText },
  before_agent_start: { systemPrompt: isText },
  context: { messages: isMessages },
  tool_call: { block: isFlag, reason: isText },
  tool_result: { content: isContent, isError: isFlag, terminate: isFlag },
  session_before_compact: { cancel: isFlag, messages: isMessages },
};

function isReduced(name: SessionEventName): name is Reduced {
  return Object.hasOwn(FIELDS, name);
}

/** The fields that this event takes; anything of another shape is the extension's error. */
function checked(name: Reduced, result: object): object {
  const fields: Readonly<Record<string, (value: unknown) => boolean>> = FIELDS[name];
  const taken: Record<string, unknown> = {};
  for (const [field, fits] of Object.entries(fields)) {
    const value: unknown = Reflect.get(result, field);
    if (value === undefined) continue;
    if (!fits(value))
      throw new InvalidValueError({ field: `${name}: ${field}`, value, expected: "another type" });
    taken[field] = value;
  }
  return taken;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
function isFlag(value: unknown): boolean {
  return typeof value === "boolean";
}
function isContent(value: unknown): boolean {
  return typeof value === "string" || Array.isArray(value);
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

function isMessages(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every(
    (message: unknown) =>
      typeof message === "object" &&
      message !== null &&
      ROLES.has(Reflect.get(message, "role")) &&
      isContent(Reflect.get(message, "content")),
  );
}
