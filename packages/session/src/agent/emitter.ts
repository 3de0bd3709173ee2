import { type AbortSignalLike, type AgentEvent, cancellationOf, type RunContext } from "@ravi/kernel";
import type { Emit, SessionEvent, SessionEventName } from "../extensions/events.ts";
import type { ExtensionContext } from "../extensions/extension.ts";
import { ExtensionHost } from "../extensions/host.ts";
import type { Mailbox } from "../queue/mailbox.ts";
import { SessionHub } from "./hub.ts";

/** A run that is going on. */
export interface Running {
  readonly ctx: RunContext;
  /** Whether `invoke` started it, and not a runtime. */
  readonly isOwn: boolean;
  /** Whether it still accepts messages. */
  isOpen: boolean;
  readonly mailbox?: Mailbox | undefined;
}

/**
 * Events about something that has happened. They are emitted also after an abort; all other events ask handlers about something
 * that will no longer be done.
 */
const FACTS: ReadonlySet<SessionEventName> = new Set([
  "message_end",
  "agent_end",
  "save_point",
  "session_compact",
  "settled",
] as const);

/** Emits what happens in a session: first to extensions, which may change it, then to observers, which may not. */
export class SessionEmitter {
  readonly host: ExtensionHost;
  readonly hub = new SessionHub();
  running: Running | undefined;

  constructor(agent: ExtensionContext) {
    this.host = new ExtensionHost(agent);
  }

  get signal(): AbortSignalLike | undefined {
    return this.running?.ctx.signal;
  }

  /** Whether anybody wants to get text while it is streamed. */
  get isWatched(): boolean {
    return this.hub.isWatched || this.host.hasEventListeners;
  }

  /**
   * Calls the extensions, then publishes the resulting event to observers. After an abort only facts are emitted and no handler
   * is awaited: one that never settles must not block a turn that is over, nor keep what was done from being written.
   */
  readonly emit: Emit = async (name, event) => {
    const { signal } = this;
    const isFact = FACTS.has(name);
    if (signal?.aborted === true && !isFact) throw cancellationOf(signal);
    const reduced = await this.host.emit(name, event, { signal, isFact });
    // The type belongs to the payload, but the compiler cannot infer that from the name.
    if (this.hub.isWatched) this.hub.publish({ type: name, ...reduced } as SessionEvent);
    return reduced;
  };

  /**
   * Reports an event of the loop through the context. In a run of `invoke` the context passes it back to `forward`; under a
   * runtime it does not, so `forward` is called here.
   */
  report(event: AgentEvent): void {
    this.running?.ctx.emit(event);
    if (this.running?.isOwn !== true) this.forward(event);
  }

  forward(event: AgentEvent): void {
    this.hub.publish(event);
    this.host.report(event);
  }
}
