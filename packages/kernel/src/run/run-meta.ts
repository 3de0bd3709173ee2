import { checkFields } from "../core/check.ts";
import { type Clock, type IdSource, type TimerHandle, systemClock, systemIds } from "../core/clock.ts";
import { ExecId, RunId } from "../core/ids.ts";
import { DeadlineExceededError, InvalidValueError } from "../errors/errors.ts";
import { checkPort } from "../loop/check-ports.ts";
import { least } from "../loop/limits.ts";
import type { Supervision } from "../policy/supervision.ts";
import { CancellationToken } from "./cancellation.ts";

/** What every call carries: the run, its deadline and its cancellation. Frozen. */
export interface RunMeta {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly cancellation: CancellationToken;
  /** Null for a run without a tree of agents. */
  readonly supervision: Supervision | null;
  /** Epoch milliseconds; null: no deadline. */
  readonly deadline: number | null;
  /** 32 hexadecimal digits, as in W3C trace context, unless it was given. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly tenantId: string | null;
  /**
   * The current time of the run's clock, in epoch milliseconds. It is not recorded, so use it for time stamps only: a decision
   * that depends on it breaks replay.
   */
  now(): number;
  /**
   * Throws a `CancellationError` if cancelled, or a `DeadlineExceededError` if the deadline has passed (which also aborts the
   * signal).
   */
  check(): void;
  /** A child span: with a child token, a new span id, and the earlier of both deadlines. */
  child(options?: RunMetaChildOptions): RunMeta;
}

/** Options of `RunMeta.of` and `RunMeta.standalone`. Ids that are left out are generated. */
export interface RunMetaOptions {
  readonly runId?: RunId | string | undefined;
  readonly execId?: ExecId | undefined;
  readonly cancellation?: CancellationToken | undefined;
  readonly supervision?: Supervision | null | undefined;
  /** Epoch milliseconds. Default: none. */
  readonly deadline?: number | null | undefined;
  readonly traceId?: string | undefined;
  readonly tenantId?: string | null | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
}

/** Options of `RunMeta.child`. What is left out is inherited. */
export interface RunMetaChildOptions {
  readonly execId?: ExecId | undefined;
  readonly supervision?: Supervision | undefined;
  readonly deadline?: number | null | undefined;
}

class Meta implements RunMeta {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly cancellation: CancellationToken;
  readonly supervision: Supervision | null;
  readonly deadline: number | null;
  readonly tenantId: string | null;
  private readonly sources: { readonly clock: Clock; readonly ids: IdSource };
  /** Created when first read, because most are never used. Children share the trace id of their root. */
  private readonly trace: { id: string | undefined };
  private readonly span: { id: string | undefined };

  constructor(options: RunMetaOptions, trace?: { id: string | undefined }) {
    this.sources = { clock: options.clock ?? systemClock, ids: options.ids ?? systemIds };
    const known = options.supervision?.runId;
    const runId = options.runId ?? known;
    // The id of a tree was checked when the tree was made.
    this.runId = runId !== undefined && runId === known ? known : RunId(runId ?? this.sources.ids.uuid());
    this.execId = options.execId ?? ExecId(this.runId);
    this.cancellation = options.cancellation ?? new CancellationToken();
    this.supervision = options.supervision ?? null;
    this.deadline = checkDeadline(options.deadline);
    this.tenantId = options.tenantId ?? null;
    this.trace = trace ?? { id: options.traceId };
    this.span = { id: undefined };
    Object.freeze(this);
  }

  get traceId(): string {
    return (this.trace.id ??= hex(this.sources.ids, 32));
  }

  get spanId(): string {
    return (this.span.id ??= hex(this.sources.ids, 16));
  }

  now(): number {
    return this.sources.clock.now();
  }

  check(): void {
    this.cancellation.check();
    if (this.deadline === null || this.now() <= this.deadline) return;
    this.cancellation.cancel(new DeadlineExceededError({ deadline: this.deadline }));
    this.cancellation.check();
  }

  child(options: RunMetaChildOptions = {}): RunMeta {
    checkFields("runMeta.child", options, CHILD_OPTIONS);
    return new Meta(
      {
        runId: this.runId,
        execId: options.execId ?? this.execId,
        cancellation: this.cancellation.child(),
        supervision: options.supervision ?? this.supervision,
        deadline: least(this.deadline, checkDeadline(options.deadline)),
        tenantId: this.tenantId,
        ...this.sources,
      },
      this.trace,
    );
  }
}

/** For engines, whose options are right: the checks of `RunMeta.of` would take 1 µs of a governed run of 24. */
export function engineRunMeta(options: RunMetaOptions): RunMeta {
  return new Meta(options);
}

/** Makes a `RunMeta`: `of` within a tree of agents, `standalone` without one. */
export const RunMeta = Object.freeze({
  of(options: RunMetaOptions): RunMeta {
    checkOptions(options, TREE_OPTIONS);
    return new Meta(options);
  },
  /** For a run without a tree of agents. If `clock` has timers, the deadline fires on its own, since nothing else watches it. */
  standalone(options: Omit<RunMetaOptions, "supervision"> = {}): RunMeta {
    checkOptions(options, OPTIONS);
    const meta = new Meta(options);
    if (meta.deadline !== null && options.clock?.setTimer !== undefined)
      arm(meta.deadline, options.clock, meta.cancellation);
    return meta;
  },
});

const OPTIONS: readonly (keyof RunMetaOptions)[] = [
  "runId",
  "execId",
  "cancellation",
  "deadline",
  "traceId",
  "tenantId",
  "clock",
  "ids",
];

const TREE_OPTIONS: readonly (keyof RunMetaOptions)[] = [...OPTIONS, "supervision"];
const CHILD_OPTIONS: readonly (keyof RunMetaChildOptions)[] = ["execId", "supervision", "deadline"];

/** A deadline that is misspelt would be none. */
function checkOptions(options: RunMetaOptions, known: readonly string[]): void {
  checkFields("runMeta", options, known);
  const { cancellation, clock, ids, supervision } = options;
  if (clock !== undefined) checkPort("runMeta.clock", clock, ["now"]);
  if (ids !== undefined) checkPort("runMeta.ids", ids, ["uuid", "random"]);
  if (cancellation !== undefined)
    checkPort("runMeta.cancellation", cancellation, ["check", "cancel", "child"]);
  if (supervision !== undefined && supervision !== null)
    checkPort("runMeta.supervision", supervision, ["spawnChild"]);
}

/** What a platform's timer can count; it fires at once beyond it. */
const LONGEST_STEP_MS = 2 ** 31 - 1;

/** Cancels the token at the deadline, unless it is cancelled or disposed first. Does not keep the process alive. */
function arm(deadline: number, clock: Clock, token: CancellationToken): void {
  let timer: TimerHandle | undefined;
  let left = Math.max(0, deadline - clock.now());
  const late = (): void => token.cancel(new DeadlineExceededError({ deadline }));
  const wait = (): void => {
    const step = Math.min(left, LONGEST_STEP_MS);
    left -= step;
    timer = clock.setTimer?.(left > 0 ? wait : late, step);
    timer?.unref?.();
  };
  const stop = (): void => timer?.cancel();
  wait();
  // Called immediately if the token is already cancelled or disposed.
  token.onCancel(stop, stop);
}

function checkDeadline(value: number | null | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (Number.isFinite(value)) return value;
  throw new InvalidValueError({
    field: "runMeta.deadline",
    value,
    expected: "epoch milliseconds, or null for none",
  });
}

function hex(ids: IdSource, length: number): string {
  return ids.uuid().replaceAll("-", "").slice(0, length);
}
