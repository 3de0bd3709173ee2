import { type AbortSignalLike, type AgentEvent, cancellationOf, type RunContext } from "@ravi/kernel";
import type { Emit, SessionEvent, SessionEventName } from "../extensions/events.ts";
import type { ExtensionContext } from "../extensions/extension.ts";
import { ExtensionHost } from "../extensions/host.ts";
import type { Mailbox } from "../queue/queue.ts";
import { SessionHub } from "./hub.ts";

/** A run that is under way. */
export interface Running {
  readonly ctx: RunContext;
  /** Begun by `invoke`, and not by a runtime. */
  readonly isOwn: boolean;
  /** What is said to it will be heard. */
  isOpen: boolean;
  readonly mailbox?: Mailbox | undefined;
}

/** What has happened, and is told also after an abort. All else asks for something that is no longer to be done. */
const FACTS: ReadonlySet<SessionEventName> = new Set([
  "message_end",
  "agent_end",
  "save_point",
  "settled",
] as const);

const DELTAS: ReadonlySet<AgentEvent["type"]> = new Set(["text", "reasoning", "toolArguments"] as const);

/** Where a session tells what happens: to extensions, who may change it, and to observers, who may not. */
export class Stage {
  readonly host: ExtensionHost;
  readonly hub = new SessionHub();
  running: Running | undefined;
  /** What the model says now is not for the user. */
  isMuted = false;

  constructor(agent: ExtensionContext) {
    this.host = new ExtensionHost(agent);
  }

  get signal(): AbortSignalLike | undefined {
    return this.running?.ctx.signal;
  }

  /** Whether anybody wants to hear words as they come. */
  get isWatched(): boolean {
    return this.hub.isWatched || this.host.hears;
  }

  /**
   * To extensions first, then to whoever watches what came of it. After an abort only facts are told, and nobody is waited
   * for: a handler that never settles must not hold a turn that is over, nor keep what was done from being written.
   */
  readonly emit: Emit = async (name, event) => {
    const { signal } = this;
    const isFact = FACTS.has(name);
    if (signal?.aborted === true && !isFact) throw cancellationOf(signal);
    const reduced = await this.host.emit(name, event, { signal, isFact });
    // The type goes with its payload; the compiler does not follow that through the name.
    if (this.hub.isWatched) this.hub.publish({ type: name, ...reduced } as SessionEvent);
    return reduced;
  };

  /** What the loop says goes through the context. In a run of its own, the context gives it back to `heard`. */
  tell(event: AgentEvent): void {
    this.running?.ctx.emit(event);
    if (this.running?.isOwn !== true) this.heard(event);
  }

  heard(event: AgentEvent): void {
    if (this.isMuted && DELTAS.has(event.type)) return;
    this.hub.publish(event);
    this.host.tell(event);
  }
}
