import { ErrorCode, RaviError } from "./base.ts";
import { type ErrorKind, isRetryableKind } from "./kinds.ts";
import { show } from "./show.ts";

/** Somebody asked to stop, or (its subclass) the deadline passed. */
export class CancellationError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.CANCELLED, ErrorCode.DEADLINE_EXCEEDED];
  override readonly code: "CANCELLED" | "DEADLINE_EXCEEDED" = ErrorCode.CANCELLED;
  readonly reason: string;
  constructor(init: { reason: string; cause?: unknown }) {
    super({ code: ErrorCode.CANCELLED, message: `cancelled: ${init.reason}`, cause: init.cause });
    this.reason = init.reason;
  }
}

export class DeadlineExceededError extends CancellationError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.DEADLINE_EXCEEDED];
  override readonly code = ErrorCode.DEADLINE_EXCEEDED;
  /** Epoch milliseconds. */
  readonly deadline: number;
  constructor(init: { deadline: number; cause?: unknown }) {
    super({ reason: `the deadline ${new Date(init.deadline).toISOString()} has passed`, cause: init.cause });
    this.deadline = init.deadline;
  }
}

/** The agent lost its slot to a more urgent one and was asked to return what it has (`onPreempt: "return"`). */
export class PausedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.PAUSED];
  override readonly code = ErrorCode.PAUSED;
  readonly agentId: string;
  constructor(init: { agentId: string }) {
    super({
      code: ErrorCode.PAUSED,
      message: `${init.agentId} is paused: a more urgent agent took its slot`,
    });
    this.agentId = init.agentId;
  }
}

/**
 * The run is unwound in this process and keeps its place: it goes on when it is resumed. It is no outcome, and nobody tries
 * again on it, because whatever they tried would be refused with the same.
 */
export class SuspendedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.SUSPENDED];
  override readonly code = ErrorCode.SUSPENDED;
  readonly reason: string;
  constructor(init: { reason: string; cause?: unknown }) {
    super({ code: ErrorCode.SUSPENDED, message: `suspended: ${init.reason}`, cause: init.cause });
    this.reason = init.reason;
  }
}

export type BudgetDimension = "agents" | "totalAgents" | "depth" | "tokens" | "cost" | "turns" | "toolCalls";

export interface BudgetExhaustedInit {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  /** Whose budget it is: an agent, or a path of them (`lead/researcher`). */
  readonly scope: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** A hire or a call would pass (or, for `consume`, has passed) a limit. Nothing was paid for what is refused. */
export class BudgetExhaustedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.BUDGET_EXHAUSTED];
  override readonly code = ErrorCode.BUDGET_EXHAUSTED;
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  readonly scope: string;
  readonly hint: string | undefined;
  constructor(init: BudgetExhaustedInit) {
    const hint = init.hint === undefined ? "" : `; ${init.hint}`;
    const message = `${init.dimension} budget of ${init.scope} exhausted: ${init.used} of ${init.limit}${hint}`;
    super({ code: ErrorCode.BUDGET_EXHAUSTED, message });
    this.dimension = init.dimension;
    this.used = init.used;
    this.limit = init.limit;
    this.scope = init.scope;
    this.hint = init.hint;
  }
}

/** A layer stopped the run on purpose, as a guardrail does. */
export class MiddlewareTermination extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.MIDDLEWARE_TERMINATION];
  override readonly code = ErrorCode.MIDDLEWARE_TERMINATION;
  readonly layer: string;
  readonly reason: string;
  constructor(init: { layer: string; reason: string; cause?: unknown }) {
    super({
      code: ErrorCode.MIDDLEWARE_TERMINATION,
      message: `${init.layer} stopped it: ${init.reason}`,
      cause: init.cause,
    });
    this.layer = init.layer;
    this.reason = init.reason;
  }
}

/** A layer is broken, or used wrongly (`next()` twice, a forgotten `await`). */
export class MiddlewareError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.MIDDLEWARE_ERROR];
  override readonly code = ErrorCode.MIDDLEWARE_ERROR;
  readonly layer: string;
  constructor(init: { layer: string; problem: string; cause?: unknown }) {
    super({
      code: ErrorCode.MIDDLEWARE_ERROR,
      message: `middleware ${init.layer}: ${init.problem}`,
      cause: init.cause,
    });
    this.layer = init.layer;
  }
}

export interface ProviderErrorInit {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly requestId?: string | undefined;
  /** Only to overrule what the kind says. */
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/** A model call failed. `kind` says why (O6), and whether trying again can help. */
export class ProviderError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.PROVIDER_ERROR];
  override readonly code = ErrorCode.PROVIDER_ERROR;
  readonly kind: ErrorKind;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  constructor(init: ProviderErrorInit) {
    const retryable = init.retryable ?? isRetryableKind(init.kind);
    super({ code: ErrorCode.PROVIDER_ERROR, message: init.message, retryable, cause: init.cause });
    this.kind = init.kind;
    this.provider = init.provider;
    this.model = init.model;
    this.status = init.status;
    this.retryAfterMs = init.retryAfterMs;
    this.requestId = init.requestId;
  }
}

/** A tool failed in a way that the model is told about. */
export class ToolError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.TOOL_ERROR];
  override readonly code = ErrorCode.TOOL_ERROR;
  readonly toolName: string;
  constructor(init: { toolName: string; message: string; retryable?: boolean | undefined; cause?: unknown }) {
    super({
      code: ErrorCode.TOOL_ERROR,
      message: init.message,
      retryable: init.retryable,
      cause: init.cause,
    });
    this.toolName = init.toolName;
  }
}

/** A value that somebody handed over is not what was asked for. */
export class InvalidValueError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.INVALID_VALUE];
  override readonly code = ErrorCode.INVALID_VALUE;
  readonly field: string;
  /** The value as short text: the value itself may be huge, secret or cyclic. */
  readonly value: string;
  readonly expected: string;
  constructor(init: { field: string; value: unknown; expected: string; cause?: unknown }) {
    const value = show(init.value);
    super({
      code: ErrorCode.INVALID_VALUE,
      message: `${init.field} is ${value}; expected ${init.expected}`,
      cause: init.cause,
    });
    this.field = init.field;
    this.value = value;
    this.expected = init.expected;
  }
}

export class AgentNotFoundError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.AGENT_NOT_FOUND];
  override readonly code = ErrorCode.AGENT_NOT_FOUND;
  /** `name` or `name@version`. */
  readonly agent: string;
  constructor(init: { agent: string; known: readonly string[] }) {
    const known = init.known.length === 0 ? "none are registered" : `known are ${init.known.join(", ")}`;
    super({ code: ErrorCode.AGENT_NOT_FOUND, message: `no agent ${init.agent}; ${known}` });
    this.agent = init.agent;
  }
}

/** A resumed run asked for something else than what was recorded at the same place. Nothing was paid. */
export class NonDeterminismError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.NON_DETERMINISM];
  override readonly code = ErrorCode.NON_DETERMINISM;
  readonly execId: string;
  readonly key: string;
  constructor(init: { execId: string; key: string; recorded: string; requested: string }) {
    const what = `${init.execId} at ${init.key} recorded ${init.recorded}, but now asks for ${init.requested}`;
    super({
      code: ErrorCode.NON_DETERMINISM,
      message: `${what}; decide from recorded facts only (ctx.now, ctx.random), or give the changed agent a new version`,
    });
    this.execId = init.execId;
    this.key = init.key;
  }
}

/** Two operations of one execution at once, outside a batch. */
export class LaneViolationError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.LANE_VIOLATION];
  override readonly code = ErrorCode.LANE_VIOLATION;
  readonly execId: string;
  readonly running: string;
  readonly attempted: string;
  constructor(init: { execId: string; running: string; attempted: string }) {
    const what = `${init.execId} began ${init.attempted} while ${init.running} was still running`;
    super({
      code: ErrorCode.LANE_VIOLATION,
      message: `${what}; await each operation, or put them into one ctx.batch([...])`,
    });
    this.execId = init.execId;
    this.running = init.running;
    this.attempted = init.attempted;
  }
}

/** A tool that is not idempotent was in flight at a crash, and somebody has to say what happens with it. */
export class NeedsDecisionError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.NEEDS_DECISION];
  override readonly code = ErrorCode.NEEDS_DECISION;
  readonly execId: string;
  readonly key: string;
  /** All that have to be decided on, under the keys that `decisions` takes; this one first. Nothing is made before all of them are. */
  readonly pending: readonly string[];
  constructor(init: { execId: string; key: string; what: string; others?: readonly string[] | undefined }) {
    const pending = [`${init.execId}:${init.key}`, ...(init.others ?? [])];
    const each = pending.map((key) => `${JSON.stringify(key)}: "retry" | "skip" | "fail"`).join(", ");
    super({
      code: ErrorCode.NEEDS_DECISION,
      message: `${init.what} may or may not have happened before the crash; resume with decisions: { ${each} }`,
    });
    this.execId = init.execId;
    this.key = init.key;
    this.pending = pending;
  }
}

export class JournalLockedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.JOURNAL_LOCKED];
  override readonly code = ErrorCode.JOURNAL_LOCKED;
  readonly runId: string;
  constructor(init: { runId: string; owner?: string | undefined }) {
    const by = init.owner === undefined ? "another process" : init.owner;
    super({
      code: ErrorCode.JOURNAL_LOCKED,
      message: `run ${init.runId} is claimed by ${by}; wait for it to end, or stop it`,
    });
    this.runId = init.runId;
  }
}

export class JournalCorruptError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.JOURNAL_CORRUPT];
  override readonly code = ErrorCode.JOURNAL_CORRUPT;
  readonly runId: string;
  /** Where: a sequence number, or a byte offset in a file. */
  readonly position: number;
  constructor(init: { runId: string; position: number; problem: string; cause?: unknown }) {
    const message = `the journal of ${init.runId} is damaged at ${init.position}: ${init.problem}`;
    super({ code: ErrorCode.JOURNAL_CORRUPT, message, cause: init.cause });
    this.runId = init.runId;
    this.position = init.position;
  }
}

/** The store could not write. With `final` it takes nothing more, so that no run pays for what could not be recorded. */
export class JournalFailedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.JOURNAL_FAILED];
  override readonly code = ErrorCode.JOURNAL_FAILED;
  readonly final: boolean;
  constructor(init: { what: string; final: boolean; cause: unknown }) {
    const why = init.cause instanceof Error ? init.cause.message : String(init.cause);
    const next = init.final
      ? "no more is written; mend the cause, then open the journal again and resume its runs"
      : "nothing was written; try again";
    const message = `${init.what}: ${why}; ${next}`;
    super({ code: ErrorCode.JOURNAL_FAILED, message, cause: init.cause, retryable: !init.final });
    this.final = init.final;
  }
}
