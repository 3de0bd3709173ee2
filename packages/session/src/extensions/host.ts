import { type AbortSignalLike, type AgentEvent, deepFreeze, isPromiseLike } from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";
import type { SessionEventName, SessionEvents } from "./events.ts";
import type { CollectedError, Extension, ExtensionContext } from "./extension.ts";
import { checkedResult, isChangeable } from "./results.ts";

/** Only the newest errors are kept, so that an extension that fails at every streamed word does not fill the memory. */
const MAX_ERRORS = 100;

/** Calls the extensions one after the other, and collects their errors so that they affect nobody else. */
export class ExtensionHost {
  readonly errors: CollectedError[] = [];
  extensions: readonly Extension[] = [];
  private readonly agent: ExtensionContext;

  constructor(agent: ExtensionContext) {
    this.agent = agent;
  }

  /**
   * Calls every handler of the event. What a handler returns is checked, and the next one sees it; the event itself is frozen.
   * An abort ends this with an error, except for a fact: the other handlers are still called with that, but no longer awaited.
   */
  async emit<E extends SessionEventName>(
    name: E,
    event: SessionEvents[E],
    { signal, isFact }: { readonly signal: AbortSignalLike | undefined; readonly isFact: boolean },
  ): Promise<SessionEvents[E]> {
    let current = event;
    for (const { name: source, on } of this.extensions) {
      const handler = on?.[name];
      if (handler === undefined) continue;
      const copy: SessionEvents[E] = frozen(current);
      if (isFact && signal?.aborted === true) {
        this.callWithoutWaiting({ source, event: name }, () => handler(copy, this.agent));
        continue;
      }
      try {
        const result: unknown = await abortable(handler(copy, this.agent), signal);
        if (isChangeable(name) && typeof result === "object" && result !== null)
          current = { ...current, ...checkedResult(name, result) };
      } catch (error) {
        if (signal?.aborted !== true) this.collect({ source, event: name, error });
        else if (!isFact) throw error;
      }
    }
    return current;
  }

  /** Whether an extension has a handler for the event. */
  handles(name: SessionEventName): boolean {
    return this.extensions.some(({ on }) => on?.[name] !== undefined);
  }

  /** Whether an extension gets the events of the loop. */
  get hasEventListeners(): boolean {
    return this.extensions.some(({ onEvent }) => onEvent !== undefined);
  }

  /** Passes on an event of the loop, without waiting for the extensions. */
  report(event: AgentEvent): void {
    for (const { name: source, onEvent } of this.extensions)
      this.callWithoutWaiting({ source, event: event.type }, () => onEvent?.(event, this.agent));
  }

  private callWithoutWaiting(where: Omit<CollectedError, "error">, call: () => unknown): void {
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
    if (this.errors.length > MAX_ERRORS) this.errors.shift();
  }
}

/** A frozen copy of an event. Lists and messages that come from a session are frozen already, but what they contain may not be. */
function frozen<T extends object>(event: T): T {
  const copy = { ...event };
  for (const value of Object.values(copy)) {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const item of items)
      if (typeof item === "object" && item !== null) Object.values(item).forEach(deepFreeze);
    deepFreeze(value);
  }
  return Object.freeze(copy);
}
