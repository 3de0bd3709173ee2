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

/** What a layer sees at any level, read from the execution when it asks: a signal is made for whoever reads one. */
export class LevelCall {
  readonly exec: Execution;
  /** A layer's own, in place of the execution's. */
  ownSignal: AbortSignalLike | undefined;
  /** The same, of the newest attempt at the call. */
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

/** Around one agent's run. */
export class AgentCall extends LevelCall implements AgentRunContext {
  input: string;
  result: AgentResult | undefined;

  constructor(exec: Execution, input: string) {
    super(exec);
    this.input = input;
  }

  get sessionId(): string {
    return this.exec.supervision.sessionId;
  }
}

/**
 * A layer gave up on an attempt, or all was stopped: what comes late must not replace the answer of a newer attempt. What the newest
 * gives in a run that is only suspended is kept: it need not be paid for, or asked about, when the run goes on.
 */
export function refuseLate({ exec, newestSignal }: LevelCall, own: AbortSignalLike | undefined): void {
  if (exec.engine.suspension !== undefined && own === newestSignal) return;
  if (own === undefined) exec.token.check();
  else own.throwIfAborted();
}
