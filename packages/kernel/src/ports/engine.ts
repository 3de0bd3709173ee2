import type { Agent, AgentResult } from "../agent/agent.ts";
import type { AgentEvent } from "../agent/events.ts";
import type { RunHandle } from "../agent/handle.ts";
import type { InboxMessage } from "../agent/inbox.ts";
import type { HireOutcome } from "../agent/leaves.ts";
import type { RunScope } from "../agent/scope.ts";
import type { AgentId, ExecId } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { RaviError } from "../errors/base.ts";
import type { Attachment } from "../model/messages.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { Priority } from "../policy/scales.ts";
import type { Supervision } from "../policy/supervision.ts";
import type { CancellationToken } from "../run/cancellation.ts";
import type { Effect } from "./effect.ts";
import type { Remaining, Spend } from "./ledger.ts";
import type { Span } from "./services.ts";

// An engine carries one execution, which is one run of one agent: it makes each effect once, records facts, hires, waits and sleeps.
// The rules are not in the engine but in the context that `createRunContext` builds on top of it, so that they are the same for
// all engines.
//
// An engine may record by position, because the context calls one operation at a time and awaits it before the next. What is to run
// concurrently goes into one `all`. The context never races an operation against anything else: time limits are given to the engine,
// which races them against its own timers.

/** Who is to run, and under what conditions. Frozen; the same for every attempt at the execution. */
export interface ExecutionStart {
  readonly agent: Agent;
  readonly execId: ExecId;
  readonly supervision: Supervision;
  readonly input: string;
  readonly attachments?: readonly Attachment[] | undefined;
  readonly scope: RunScope;
  readonly tenantId: string | null;
  /** Epoch milliseconds; null if there is none. */
  readonly deadline: number | null;
  readonly onPreempt: "park" | "return";
  /** Whether it was started before, by another process or an earlier attempt. */
  readonly isResumed: boolean;
  /** The span of the agent that hired it. Absent if that is in another process, or has none. */
  readonly parentSpan?: Span | undefined;
}

/** A child to hire. The child holds its slot itself: it is freed at the child's end, whether or not the parent waits for that. */
export interface HireSpec {
  readonly kind: "hire";
  /** The child's `execId` is made of the parent's and this, so hiring again under the same key finds the same child. */
  readonly key: string;
  readonly execId: ExecId;
  readonly agent: Agent;
  /** `name@version` */
  readonly agentName: string;
  readonly agentId: AgentId;
  readonly priority: Priority | undefined;
  readonly input: string;
  readonly attachments?: readonly Attachment[] | undefined;
  readonly fingerprint: string;
  readonly budget: ExecutionBudgetOptions | undefined;
  /** How long the parent waits, from the hire on. Time in which the child has no slot does not count. */
  readonly timeoutMs: number | undefined;
  /** `cancel` cancels the child with a `DeadlineExceededError`, so that it can still return what it has. */
  readonly onTimeout: "cancel" | "leave";
  readonly onPreempt: "park" | "return";
  readonly onFull: "deny" | "queue";
  /** Whether it may be joined after its end. */
  readonly isJoinable: boolean;
  /** The span of the agent that hires. An engine that starts the child in the same process gives it to the child as `parentSpan`. */
  readonly span?: Span | undefined;
  /** Its place in the tree. Throws if the tree would become too deep. */
  supervision(): Supervision;
  /** Why it may not be hired; undefined if it may. Called before a slot is taken, and not in a replay. */
  denial(): MaybePromise<RaviError | undefined>;
}

/** A durable wait for a value that somebody delivers to the run under `name`. */
export interface WaitSpec {
  readonly kind: "wait";
  readonly key: string;
  readonly name: string;
  /** What somebody is asked, if it is an approval. */
  readonly question?: JsonValue | undefined;
  /** Called if the value is not there yet, so that somebody can be asked for it. Not called in a replay. */
  onWait?(): void;
}

export type Operation = Effect | HireSpec | WaitSpec;

export type Settled<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** The answer to `ask`. If the child is silent because it has ended, it is no use to ask again. */
export type Heard =
  | { readonly reply: JsonValue }
  | { readonly silent: true; readonly ended?: boolean | undefined };

/** Counts what a bare execution uses. */
export interface Tally {
  /** Counts a model call. A nested one, made by a tool, adds its usage but is not a call of the agent. */
  model(usage: Usage | undefined, isNested: boolean): void;
  tool(): void;
}

/** What one execution has used so far, without its children. */
export interface Used {
  readonly usage: Usage;
  readonly costUsd: number | null;
}

/** Carries one execution. */
export interface DurableEngine {
  readonly start: ExecutionStart;
  /**
   * Whether it is known that the execution had begun before: it has done something, waits for an answer, or crashed just now. Absent: if it is a
   * resumed one, it had.
   */
  readonly hasRecord?: boolean | undefined;
  /**
   * Cancelled from outside, and at the deadline. In a replay it is cancelled where it was cancelled before, and otherwise not before
   * the agent has caught up with its record.
   */
  readonly token: CancellationToken;
  /** The token of the whole run. It tells when the run is stopped, also after `token` was cancelled for another reason. */
  readonly runToken?: CancellationToken | undefined;
  /** Set when the execution is to stop and be resumed later. It is thrown to unwind the agent; nothing more is recorded. */
  readonly suspension: Error | undefined;
  /** Present if nothing is recorded, limited or paused. Calls then need no `effect`, and are counted here. */
  readonly bare: Tally | undefined;
  /** Whether there is a record, so that results have to be plain JSON. */
  readonly isDurable: boolean;
  /** Whether there is a budget, so that `begin` has to say what is reserved. */
  readonly isMetered: boolean;
  /** Whether anybody reads what is published. */
  readonly isWatched: boolean;
  readonly used: Used;

  /** The time of the fact that was read last, while the agent catches up with its record; then the clock's. */
  now(): number;
  /** What is left. In a replay, what was left when the agent asked before. */
  remaining(): Remaining;
  /** What is left now, also in a replay. Absent if the ledger is elsewhere and this is not known at once. */
  reservable?(): Remaining;
  /** Raises the limits of this execution and all above it, once for each key. Absent if they cannot be raised. */
  readonly raise?: ((key: string, more: Partial<Spend>) => MaybePromise<void>) | undefined;
  /** Whether the execution has lost its slot, asked at its `n`-th yield point (`ctx.check()`). */
  isPaused(n: number): MaybePromise<boolean>;
  whenResumed(): Promise<void>;
  /** True if `whenResumed` itself dispatches PREEMPTED and RESUMED, each once, because a replay waits there again. */
  readonly tellsPauses?: boolean | undefined;

  /** Makes an effect, or gives its recorded outcome. Returns no promise if none is needed. */
  effect<T>(effect: Effect<T>): MaybePromise<T>;
  /** Runs operations concurrently. Refusals and slots come first, in the order given; then all are started and awaited. */
  all(operations: readonly Operation[]): MaybePromise<readonly Settled[]>;
  /** Calls `make` and records its value; in a replay gives the recorded value. `make` must not wait for anything durable. */
  fact(key: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue>;
  /** `until` is in epoch milliseconds. */
  sleep(key: string, until: number): Promise<void>;
  wait(spec: WaitSpec): Promise<JsonValue>;

  /**
   * Runs a child to its end, or until its `timeoutMs` has passed. A child that is denied or fails does not make it throw. Here and in
   * `join`, a structured result that comes from a record has the form that the agent's `output` gives it.
   */
  hire(spec: HireSpec): Promise<HireOutcome>;
  /** Starts a child. Throws if it is denied. */
  spawn(spec: HireSpec): Promise<RunHandle>;
  /** Waits for the end of a child. */
  join(child: ExecId): Promise<HireOutcome>;
  /** Sends a message to a child and waits for its reply. `timeoutMs` counts from the first time that it was asked. */
  ask(
    key: string,
    child: ExecId,
    message: JsonValue,
    options: {
      readonly timeoutMs: number | undefined;
      readonly attachments?: readonly Attachment[] | undefined;
    },
  ): Promise<Heard>;
  /**
   * Whether `receive` under that key would give a message. Asking is not recorded, but a replay gives the same answers. Absent if the engine
   * cannot tell.
   */
  hasMail?(key: string): boolean;
  /** The next message to this execution. Without `wait`, null if there is none. */
  receive(key: string, options: { readonly wait: boolean }): Promise<InboxMessage | null>;
  reply(key: string, messageId: string, value: JsonValue): MaybePromise<void>;

  /** Publishes an event. The engine numbers it. */
  publish(event: AgentEvent): void;
  /** Throws if the engine cannot carry the result. That fails the agent, before anybody is told of its end. */
  checkResult?(result: AgentResult): void;
  /** Called when the outcome is known and is no crash. From then on the execution can no longer be suspended. */
  ending?(): void;
  /** Called at the end of the agent. Cancels the children that nobody has joined, and frees their slots before the agent's own. */
  end(outcome: HireOutcome, options: { readonly isCrash: boolean }): MaybePromise<void>;
  /** Called when a suspended agent has stopped. Resolves when its children have stopped too. */
  unwound?(): MaybePromise<void>;
}
