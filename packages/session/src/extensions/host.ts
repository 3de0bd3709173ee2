import { type AbortSignalLike, type AgentEvent, deepFreeze, isPromiseLike } from "@ravi/kernel";
import { abortable } from "./abortable.ts";
import type { SessionEventName, SessionEvents } from "./events.ts";
import type { CollectedError, Extension, ExtensionContext } from "./extension.ts";
import { checkedResult, isReduced } from "./results.ts";

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
          current = { ...current, ...checkedResult(name, result) };
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
