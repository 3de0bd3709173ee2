import type {
  AbortSignalLike,
  AgentResult,
  AgentRunContext,
  Clock,
  Hooks,
  RunMeta,
  RunScope,
} from "@ravi/kernel";
import type { Execution } from "./execution.ts";

/**
 * The part of a context that layers of all levels have. Its fields are read from the execution when a layer asks, so that a signal is
 * created only if one is read.
 */
export class LevelCall {
  readonly exec: Execution;
  /** The signal that a layer has set instead of the execution's. */
  ownSignal: AbortSignalLike | undefined;
  /** The `ownSignal` of the newest attempt at the call. */
  newestSignal: AbortSignalLike | undefined;

  constructor(exec: Execution) {
    this.exec = exec;
  }

  get agentName(): string {
    return this.exec.name;
  }

  get runId(): string {
    return this.exec.supervision.runId;
  }

  get meta(): RunMeta {
    return this.exec.meta;
  }

  get scope(): RunScope {
    return this.exec.scope;
  }

  get hooks(): Hooks {
    return this.exec.hooks;
  }

  get clock(): Clock {
    return this.exec.ports.clock;
  }

  get signal(): AbortSignalLike {
    return this.ownSignal ?? this.exec.signal;
  }

  set signal(signal: AbortSignalLike) {
    this.ownSignal = signal;
  }
}

/** The context of layers around one agent's run. */
export class AgentCall extends LevelCall implements AgentRunContext {
  input: string;
  result: AgentResult | undefined;

  constructor(exec: Execution, input: string) {
    super(exec);
    this.input = input;
  }

  get attachments(): AgentRunContext["attachments"] {
    return this.exec.engine.start.attachments;
  }

  get sessionId(): string {
    return this.exec.supervision.sessionId;
  }

  get isResumed(): boolean {
    const { start, hasRecord = true } = this.exec.engine;
    return start.isResumed && hasRecord;
  }
}

/**
 * Throws if a layer has given up the attempt with this signal, or everything was stopped: a late answer must not replace the answer of a
 * newer attempt. In a run that is only suspended, the answer of the newest attempt is kept, so that it need not be paid for, or asked
 * about, again when the run is resumed.
 */
export function refuseLate({ exec, newestSignal }: LevelCall, own: AbortSignalLike | undefined): void {
  if (exec.engine.suspension !== undefined && own === newestSignal) return;
  if (own === undefined) exec.token.check();
  else own.throwIfAborted();
}
