import { isError } from "../core/is-error.ts";
import { ErrorCode, RaviError } from "./base.ts";
import { type ErrorKind, isRetryableKind } from "./kinds.ts";
import { cut, shortName, show } from "./show.ts";

/** Room for a reason, or for the names of many known fields. */
const MAX_TEXT_CHARS = 4_000;

/** The run, or a part of it, was cancelled. The subclass `DeadlineExceededError` means that a deadline passed. */
export class CancellationError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.CANCELLED, ErrorCode.DEADLINE_EXCEEDED];
  override readonly code: "CANCELLED" | "DEADLINE_EXCEEDED" = ErrorCode.CANCELLED;
  readonly reason: string;
  constructor(init: { reason: string; cause?: unknown } | string, more?: { cause?: unknown }) {
    const { reason, cause } = read("CancellationError", init, { reason: "string" }, toReason, more);
    super({ code: ErrorCode.CANCELLED, message: `cancelled: ${cut(reason, MAX_TEXT_CHARS)}`, cause });
    this.reason = reason;
  }
}

/** The deadline of the run (`deadlineS`) or of the hire has passed. */
export class DeadlineExceededError extends CancellationError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.DEADLINE_EXCEEDED];
  override readonly code = ErrorCode.DEADLINE_EXCEEDED;
  /** Epoch milliseconds; null if the error was made from a text alone. */
  readonly deadline: number | null;
  constructor(init: { deadline: number; cause?: unknown } | string, more?: { cause?: unknown }) {
    if (typeof init === "string") {
      super(init, more);
      this.deadline = null;
      return;
    }
    const { deadline, cause } = read("DeadlineExceededError", init, { deadline: "number" });
    super({ reason: `the deadline ${timeText(deadline)} has passed`, cause });
    this.deadline = deadline;
  }
}

/** The agent lost its slot to a more urgent one and was asked to return what it has (`onPreempt: "return"`). */
export class PausedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.PAUSED];
  override readonly code = ErrorCode.PAUSED;
  readonly agentId: string;
  constructor(init: { agentId: string; cause?: unknown } | string, more?: { cause?: unknown }) {
    const fromText = (text: string): { agentId: string } => ({ agentId: text });
    const { agentId, cause } = read("PausedError", init, { agentId: "string" }, fromText, more);
    super({
      code: ErrorCode.PAUSED,
      message: `${agentId} is paused: a more urgent agent took its slot`,
      cause,
    });
    this.agentId = agentId;
  }
}

/**
 * The run was suspended in this process and keeps its state: it continues when it is resumed. This is not a result of the run,
 * and it must not be retried: every further operation throws the same error.
 */
export class SuspendedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.SUSPENDED];
  override readonly code = ErrorCode.SUSPENDED;
  readonly reason: string;
  constructor(init: { reason: string; cause?: unknown } | string, more?: { cause?: unknown }) {
    const { reason, cause } = read("SuspendedError", init, { reason: "string" }, toReason, more);
    super({ code: ErrorCode.SUSPENDED, message: `suspended: ${cut(reason, MAX_TEXT_CHARS)}`, cause });
    this.reason = reason;
  }
}

/** The limits that a budget has: headcount (`agents`, `totalAgents`, `depth`), and what may be spent. */
export type BudgetDimension = "agents" | "totalAgents" | "depth" | "tokens" | "cost" | "turns" | "toolCalls";

/** What a `BudgetExhaustedError` is made of. */
export interface BudgetExhaustedInit {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  /** The agent, or path of agents (`lead/researcher`), whose budget it is. */
  readonly scope: string;
  /** What to do about it. Becomes the end of the message. */
  readonly hint?: string | undefined;
  /** False if it is no limit of the run, so that more budget for the run would not help. */
  readonly raisable?: boolean | undefined;
  /** True if it would fit when the calls under way gave back all that is reserved for them; see `ReserveOptions.onFull`. */
  readonly waitable?: boolean | undefined;
  readonly cause?: unknown;
}

/**
 * A hire or a call would exceed a limit, and was not made or paid for. Thrown by `consume`, it means that the limit has been
 * exceeded already.
 */
export class BudgetExhaustedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.BUDGET_EXHAUSTED];
  override readonly code = ErrorCode.BUDGET_EXHAUSTED;
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  readonly scope: string;
  readonly hint: string | undefined;
  readonly raisable: boolean | undefined;
  readonly waitable: boolean | undefined;
  constructor(init: BudgetExhaustedInit) {
    read("BudgetExhaustedError", init, {
      dimension: "string",
      used: "number",
      limit: "number",
      scope: "string",
    });
    const hint = init.hint === undefined ? "" : `; ${init.hint}`;
    const message = `${init.dimension} budget of ${shortName(init.scope)} exhausted: ${init.used} of ${init.limit}${hint}`;
    super({ code: ErrorCode.BUDGET_EXHAUSTED, message, cause: init.cause });
    this.dimension = init.dimension;
    this.used = init.used;
    this.limit = init.limit;
    this.scope = init.scope;
    this.hint = init.hint;
    this.raisable = init.raisable;
    this.waitable = init.waitable;
  }
}

/** A middleware layer stopped the run on purpose, as a guardrail does. */
export class MiddlewareTermination extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.MIDDLEWARE_TERMINATION];
  override readonly code = ErrorCode.MIDDLEWARE_TERMINATION;
  readonly layer: string;
  readonly reason: string;
  constructor(
    init: { layer?: string | undefined; reason: string; cause?: unknown } | string,
    more?: { layer?: string | undefined; cause?: unknown },
  ) {
    const {
      layer = "middleware",
      reason,
      cause,
    } = read("MiddlewareTermination", init, { reason: "string" }, toReason, more);
    super({
      code: ErrorCode.MIDDLEWARE_TERMINATION,
      message: `${shortName(layer)} stopped the run: ${cut(reason, MAX_TEXT_CHARS)}`,
      cause,
    });
    this.layer = layer;
    this.reason = reason;
  }
}

/** A middleware layer failed or was used wrongly (`next()` called twice, a forgotten `await`). */
export class MiddlewareError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.MIDDLEWARE_ERROR];
  override readonly code = ErrorCode.MIDDLEWARE_ERROR;
  readonly layer: string;
  constructor(
    init: { layer?: string | undefined; problem: string; cause?: unknown } | string,
    more?: { layer?: string | undefined; cause?: unknown },
  ) {
    const given = read("MiddlewareError", init, { problem: "string" }, (problem) => ({ problem }), more);
    const { layer, problem, cause } = given;
    const where = layer === undefined ? "middleware" : `middleware ${shortName(layer)}`;
    super({ code: ErrorCode.MIDDLEWARE_ERROR, message: `${where}: ${cut(problem, MAX_TEXT_CHARS)}`, cause });
    this.layer = layer ?? "middleware";
  }
}

/** What a `ProviderError` is made of. */
export interface ProviderErrorInit {
  readonly kind: ErrorKind;
  /** Default: the kind and the status. */
  readonly message?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** HTTP status. */
  readonly status?: number | undefined;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly requestId?: string | undefined;
  /** Overrides what `kind` says. Default: `isRetryableKind(kind)`. */
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/** A model call failed. `kind` says why; `retryable` whether trying again can help. */
export class ProviderError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.PROVIDER_ERROR];
  override readonly code = ErrorCode.PROVIDER_ERROR;
  readonly kind: ErrorKind;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  /** Without a kind, a plain text makes an error of kind `UNKNOWN`. */
  constructor(init: ProviderErrorInit | string, more?: Partial<ProviderErrorInit>) {
    const rest = typeof init === "string" ? { ...more, kind: more?.kind ?? "UNKNOWN" } : more;
    const given = read("ProviderError", init, { kind: "string" }, toMessage, rest);
    const { kind, status, message = failureOf(kind, status), cause } = given;
    if (typeof message !== "string")
      throw new InvalidValueError({ field: "ProviderError.message", value: message, expected: "a string" });
    const retryable = given.retryable ?? isRetryableKind(kind);
    super({ code: ErrorCode.PROVIDER_ERROR, message, retryable, cause });
    this.kind = given.kind;
    this.provider = given.provider;
    this.model = given.model;
    this.status = given.status;
    this.retryAfterMs = given.retryAfterMs;
    this.requestId = given.requestId;
  }
}

function failureOf(kind: ErrorKind, status: number | undefined): string {
  return `the model call failed: ${kind}${status === undefined ? "" : ` (${status})`}`;
}

/** What a `ToolError` is made of. */
export interface ToolErrorInit {
  readonly toolName?: string | undefined;
  readonly message: string;
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/**
 * A tool failed, and the model is told about it. As the error of a run it means that an agent's own code threw: `toolName` is the
 * agent, and `cause` is what was thrown.
 */
export class ToolError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.TOOL_ERROR];
  override readonly code = ErrorCode.TOOL_ERROR;
  readonly toolName: string;
  constructor(init: ToolErrorInit | string, more?: Partial<ToolErrorInit>) {
    const given = read("ToolError", init, { message: "string" }, toMessage, more);
    const { toolName = "tool", message, retryable, cause } = given;
    super({ code: ErrorCode.TOOL_ERROR, message, retryable, cause });
    this.toolName = toolName;
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
    read("InvalidValueError", init, { field: "string", expected: "string" });
    const value = show(init.value);
    // Names of users' own stand in them: of agents, models, tools and options.
    const field = shortName(init.field);
    const expected = cut(init.expected, MAX_TEXT_CHARS);
    super({
      code: ErrorCode.INVALID_VALUE,
      message: `${field} is ${value}; expected ${expected}`,
      cause: init.cause,
    });
    this.field = field;
    this.value = value;
    this.expected = expected;
  }
}

/** The run belongs to an agent, or a version of it, that this runtime does not know. Register it and resume the run. */
export class AgentNotFoundError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.AGENT_NOT_FOUND];
  override readonly code = ErrorCode.AGENT_NOT_FOUND;
  /** `name` or `name@version`. */
  readonly agent: string;
  constructor(
    init: { agent: string; known?: readonly string[] | undefined; cause?: unknown } | string,
    more?: { known?: readonly string[] | undefined; cause?: unknown },
  ) {
    const fromText = (text: string): { agent: string } => ({ agent: text });
    const { agent, known, cause } = read("AgentNotFoundError", init, { agent: "string" }, fromText, more);
    super({
      code: ErrorCode.AGENT_NOT_FOUND,
      message: `agent ${shortName(agent)} is not registered${knownText(known)}`,
      cause,
    });
    this.agent = agent;
  }
}

/** What can differ in a step of each kind. */
const CHANGES: ReadonlyMap<string, string> = new Map([
  ["llm", "its messages, instructions, tools or settings have changed"],
  ["tool", "the tool or its arguments have changed"],
  ["hire", "its task, attachments or version have changed"],
]);

/** The likely reason, if it is the recorded step and only asks for something else. */
function changeIn({ key, requested }: { readonly key: string; readonly requested: string }): string {
  const change = requested === key ? undefined : CHANGES.get(key.slice(0, key.indexOf(":")));
  return change === undefined ? "" : ` (${change})`;
}

/** A resumed run asked for something other than what was recorded at the same place. Nothing was paid for it. */
export class NonDeterminismError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.NON_DETERMINISM];
  override readonly code = ErrorCode.NON_DETERMINISM;
  readonly execId: string;
  readonly key: string;
  constructor(init: { execId: string; key: string; recorded: string; requested: string; cause?: unknown }) {
    read("NonDeterminismError", init, {
      execId: "string",
      key: "string",
      recorded: "string",
      requested: "string",
    });
    const [recorded, requested] = [shortName(init.recorded), shortName(init.requested)];
    const what = `${shortName(init.execId)} at ${shortName(init.key)} recorded ${recorded}, but now asks for ${requested}${changeIn(init)}`;
    super({
      code: ErrorCode.NON_DETERMINISM,
      message: `${what}; decide from recorded facts only (ctx.now, ctx.random), or give the changed agent a new version and register the old one beside it, for the runs that began with it`,
      cause: init.cause,
    });
    this.execId = init.execId;
    this.key = init.key;
  }
}

/** An agent began an operation while another one of its own was still running. Await each, or use `ctx.batch`. */
export class LaneViolationError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.LANE_VIOLATION];
  override readonly code = ErrorCode.LANE_VIOLATION;
  readonly execId: string;
  readonly running: string;
  readonly attempted: string;
  constructor(init: { execId: string; running: string; attempted: string; cause?: unknown }) {
    read("LaneViolationError", init, { execId: "string", running: "string", attempted: "string" });
    const [running, attempted] = [shortName(init.running), shortName(init.attempted)];
    const what = `${shortName(init.execId)} began ${attempted} while ${running} was still running`;
    super({
      code: ErrorCode.LANE_VIOLATION,
      message: `${what}; await each operation, or put them into one ctx.batch([...])`,
      cause: init.cause,
    });
    this.execId = init.execId;
    this.running = init.running;
    this.attempted = init.attempted;
  }
}

/** A tool that is not idempotent was in flight when the run was stopped or crashed. Resume the run with a decision: repeat it, skip it or fail. */
export class NeedsDecisionError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.NEEDS_DECISION];
  override readonly code = ErrorCode.NEEDS_DECISION;
  readonly execId: string;
  readonly key: string;
  /**
   * All calls that need a decision, this one first, as the keys that `decisions` takes. The run continues only if all are
   * decided. Empty if the decision was made: to fail.
   */
  readonly pending: readonly string[];
  constructor(init: {
    execId: string;
    key: string;
    what: string;
    others?: readonly string[] | undefined;
    decided?: "fail" | undefined;
    cause?: unknown;
  }) {
    read("NeedsDecisionError", init, { execId: "string", key: "string", what: "string" });
    const { what, others = [], decided } = init;
    const pending = decided === undefined ? [`${init.execId}:${init.key}`, ...others] : [];
    const each = pending.map((key) => `${JSON.stringify(shortName(key))}: "retry" | "skip" | "fail"`);
    const next =
      decided === undefined
        ? `resume with decisions: { ${cut(each.join(", "), MAX_TEXT_CHARS)} }`
        : `the decision was ${JSON.stringify(decided)}`;
    super({
      code: ErrorCode.NEEDS_DECISION,
      message: `${shortName(what)} was under way when the run was stopped or crashed, and may or may not have happened; ${next}`,
      cause: init.cause,
    });
    this.execId = init.execId;
    this.key = init.key;
    this.pending = pending;
  }
}

/** Another process owns the run (a run has one owner at a time) or writes the file. `what` names it, if it is not a run. */
export class JournalLockedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.JOURNAL_LOCKED];
  override readonly code = ErrorCode.JOURNAL_LOCKED;
  readonly runId: string;
  /** Who has it, in words. */
  readonly owner: string | undefined;
  /** The id of the process that has it, if it is known. */
  readonly pid: number | undefined;
  /** The machine or container of that process, if it is known. */
  readonly host: string | undefined;
  /** When its claim expires unless it is renewed, in epoch milliseconds, if that is known. */
  readonly expiresAt: number | undefined;
  constructor(
    init:
      | {
          runId: string;
          owner?: string | undefined;
          pid?: number | undefined;
          host?: string | undefined;
          expiresAt?: number | undefined;
          what?: string | undefined;
          cause?: unknown;
        }
      | string,
    more?: { what?: string | undefined; owner?: string | undefined; cause?: unknown },
  ) {
    const {
      runId,
      owner,
      pid,
      host,
      expiresAt,
      what = `run ${runId}`,
      cause,
    } = read("JournalLockedError", init, { runId: "string" }, (text) => ({ runId: text }), more);
    const by = shortName(owner ?? "another process");
    const until =
      expiresAt === undefined ? "" : ` (until ${timeText(expiresAt)}, unless the claim is renewed)`;
    super({
      code: ErrorCode.JOURNAL_LOCKED,
      message: `${shortName(what)} is claimed by ${by}${until}; wait for it to end, or stop it`,
      cause,
    });
    this.runId = runId;
    this.owner = owner;
    this.pid = pid;
    this.host = host;
    this.expiresAt = expiresAt;
  }
}

/**
 * What is stored is damaged. Nothing was changed or guessed: restore the file from a copy. `what` names it, if it is not the
 * journal of a run.
 */
export class JournalCorruptError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.JOURNAL_CORRUPT];
  override readonly code = ErrorCode.JOURNAL_CORRUPT;
  readonly runId: string;
  /** A sequence number, or a byte offset in a file. */
  readonly position: number;
  constructor(init: {
    runId: string;
    position: number;
    problem: string;
    what?: string | undefined;
    cause?: unknown;
  }) {
    read("JournalCorruptError", init, { runId: "string", position: "number", problem: "string" });
    const what = shortName(init.what ?? `the journal of ${init.runId}`);
    const message = `${what} is damaged at ${init.position}: ${init.problem}`;
    super({ code: ErrorCode.JOURNAL_CORRUPT, message, cause: init.cause });
    this.runId = init.runId;
    this.position = init.position;
  }
}

const MAX_CAUSE_CHARS = 1_000;

/** Anything can be thrown, also what cannot be made a text. */
function textOfCause(cause: unknown): string {
  if (typeof cause === "string") return cause;
  const said: unknown = isError(cause) ? cause.message : undefined;
  return typeof said === "string" ? said : show(cause);
}

/**
 * The store could not be read or written. With `final` trying again does not help, so that no run pays for what could not be recorded.
 * `hint` says what to do where that is something else than with a journal that takes no more writes.
 */
export class JournalFailedError extends RaviError {
  static override readonly codes: readonly ErrorCode[] = [ErrorCode.JOURNAL_FAILED];
  override readonly code = ErrorCode.JOURNAL_FAILED;
  readonly final: boolean;
  constructor(init: { what: string; final: boolean; cause: unknown; hint?: string | undefined }) {
    read("JournalFailedError", init, { what: "string", final: "boolean" });
    const why = cut(textOfCause(init.cause), MAX_CAUSE_CHARS);
    const usual = init.final
      ? "the journal takes no more writes; fix the cause, open it again and resume its runs"
      : "nothing was changed; try again";
    const message = `${init.what}: ${why}; ${init.hint ?? usual}`;
    super({ code: ErrorCode.JOURNAL_FAILED, message, cause: init.cause, retryable: !init.final });
    this.final = init.final;
  }
}

/**
 * Checks what an error's constructor was given: its fields or, if `fromText` is given, a text that stands for the most important
 * one; `more` has further fields. A wrong argument says what is expected; otherwise the message would contain "undefined", and
 * nobody would notice before it matters. A `more` that is no object is ignored, as JavaScript's own errors do: the error that
 * somebody wants to throw is more important.
 */
function read<I extends object>(
  error: string,
  init: I | string,
  required: { readonly [K in keyof I]?: "string" | "number" | "boolean" },
  fromText?: (text: string) => Partial<NoInfer<I>>,
  more?: Partial<NoInfer<I>>,
): I {
  const fields: unknown = typeof init === "string" && fromText !== undefined ? fromText(init) : init;
  const given: unknown = isObject(more) && isObject(fields) ? { ...more, ...fields } : fields;
  const names = Object.keys(required);
  if (typeof given !== "object" || given === null) {
    const text = fromText === undefined ? "" : "a string, or ";
    const expected = `${text}an object with ${names.join(", ")}`;
    throw new InvalidValueError({ field: `what new ${error} was given`, value: init, expected });
  }
  for (const [name, kind] of Object.entries<string | undefined>(required)) {
    const value: unknown = Reflect.get(given, name);
    if (typeof value === kind && !Number.isNaN(value)) continue;
    throw new InvalidValueError({ field: `${error}.${name}`, value, expected: `a ${kind}` });
  }
  return given as I;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function toReason(reason: string): { reason: string } {
  return { reason };
}

function toMessage(message: string): { message: string } {
  return { message };
}

/** Any number can be a deadline, but not every number is a valid date. */
function timeText(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString();
}

function knownText(known: readonly string[] | undefined): string {
  if (known === undefined) return "";
  if (!Array.isArray(known))
    throw new InvalidValueError({
      field: "AgentNotFoundError.known",
      value: known,
      expected: "an array of names",
    });
  return known.length === 0 ? "; no agents are registered" : `; registered agents: ${known.join(", ")}`;
}
