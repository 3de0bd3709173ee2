import type { Agent, AgentResult } from "../agent/agent.ts";
import type { AgentEvent } from "../agent/events.ts";
import type { RunHandle } from "../agent/handle.ts";
import type { Inbox, InboxMessage } from "../agent/inbox.ts";
import type { HireOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { RunScope } from "../agent/scope.ts";
import type { Clock, IdSource } from "../core/clock.ts";
import type { AgentId, ExecId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { RaviError } from "../errors/base.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { Priority } from "../policy/scales.ts";
import type { Supervision } from "../policy/supervision.ts";
import type { CancellationToken } from "../run/cancellation.ts";
import type { CompactionStrategy, HistoryProvider } from "./history.ts";
import type { Hooks } from "./hooks.ts";
import type { Ledger, Meter, Remaining, Spend } from "./ledger.ts";
import type { Limiter } from "./limiter.ts";
import type { Pipelines } from "./middleware.ts";
import type { AuditLog, Logger, Memory, Permissions, Telemetry } from "./services.ts";

// What carries one execution: it makes effects once, keeps what was decided, hires, waits and sleeps. The rules are not in
// here but in the context that `createRunContext` builds on top of it, so that they are written once for all engines.
//
// What a context promises: inside of one execution it calls one operation after the other and awaits each; what is to happen
// at once goes into one `all`. An engine may therefore record by position. It never awaits an operation in a race with
// anything else: limits in time are told to the engine, which races them with its own timers.

/** Who is to run, and on what terms. Frozen: the same in every attempt at the execution. */
export interface ExecutionStart {
  readonly agent: Agent;
  readonly execId: ExecId;
  readonly supervision: Supervision;
  readonly input: string;
  readonly scope: RunScope;
  readonly tenantId: string | null;
  /** Epoch milliseconds. */
  readonly deadline: number | null;
  readonly onPreempt: "park" | "return";
  /** It was begun before, by another process or another attempt. */
  readonly isResumed: boolean;
}

/** What one attempt at a model call took, or a tool call by itself. */
export interface Spent {
  readonly usage: Usage;
  readonly toolCalls?: number | undefined;
  /** Dollars; null when the price is not known. */
  readonly costUsd: number | null;
  /** It gave no answer that anybody can use. */
  readonly isWaste?: boolean | undefined;
  /** Made inside of an effect by a judge or a tool. */
  readonly isNested?: boolean | undefined;
}

/**
 * What goes on record of one paid call inside of an effect, beside the effect's own begin and end. First what is set aside for it,
 * which stays charged if nothing more is written; then what it took, which replaces that.
 */
export type CallNote = {
  /**
   * Counts from 1 in each attempt at the effect; 0 is the call that the effect was begun for, whose note replaces what `begin`
   * says.
   */
  readonly call: number;
} & ({ readonly reserve: JsonObject } | { readonly spend: JsonObject });

/** What an effect knows while it runs. It never uses the context: no effect inside of an effect, no durable wait. */
export interface EffectScope {
  /** The same for every attempt, so that the other side can recognise a repeat. */
  readonly idempotencyKey: string;
  /** Counts from 1; more than that after a crash in the middle. */
  readonly attempt: number;
  /** Where each attempt at a call takes its money from. An engine may serve the first from what `begin` has asked for. */
  readonly ledger: Pick<Ledger, "reserve"> | undefined;
  /** Counts what was used, for reports and for the record. */
  spent(spent: Spent): MaybePromise<void>;
  /**
   * Puts money on record that the effect's `begin` does not speak of: calls of tools and judges, other tries, other models. They are
   * sent when it has resolved. What an end's `spend` contains is not counted again: all up to its `calls`, without those in its
   * `open`. Absent where an engine learns of such calls by itself, as by the ledger that it gives.
   */
  note?(notes: readonly CallNote[]): MaybePromise<void>;
  /** The agent is over while a call of it is not answered: it may have been paid for. What was set aside was counted as `spent`. */
  leave?(): void;
}

/** Something outward, done once: a model call or a tool call. */
export interface Effect<T = unknown> {
  readonly kind: "llm" | "tool";
  readonly key: string;
  /** What it is, for people. */
  readonly what: string;
  /**
   * What becomes of one that was begun and not ended before a crash. `retry`: it is made again and reported as in doubt.
   * `ask`: somebody decides.
   */
  readonly onDoubt: "retry" | "ask";
  /** What is asked for, as a short text; another one under the same key means that the agent is not the one recorded. */
  fingerprint(): string;
  /**
   * What is written down before it is made, an object made for it of which nobody else holds a part; `reserve` in it stays
   * charged if it is never ended. Not called on replay.
   */
  begin(): MaybePromise<JsonObject>;
  /** Not called on replay. What makes no promise, as many tools, is done at once: it may give its value, or throw. */
  run(scope: EffectScope): MaybePromise<T>;
  /** When it ended, where it has read the clock for that (which takes 0.1 µs); its entry says the same. */
  readonly endedAt?: number | undefined;
  /** What is written down of its outcome, and back. */
  record(value: T): JsonObject;
  /** Whether what `record` gave last is plain JSON of which nobody else holds a part. */
  readonly isRecordGiven?: boolean | undefined;
  restore(body: JsonObject): T;
  /** What is on record is handed over, an outcome or an `error`; the moment to tell observers that it happened before. */
  replayed?(body: JsonObject): void;
  /** What it has cost, where it failed after something was paid. */
  spend(): JsonObject | undefined;
  /** What else is written down of a failure, beside its `error` and its `spend`: `replayed` tells it again. */
  failureNote?(): JsonObject;
  /**
   * Nothing of it is under way, and what it has cost so far is known: it waits for its first try, or for another. Where it is
   * stopped by then, that is written down, so that nobody has to doubt it later.
   */
  isSettled?(): boolean;
  /** Its outcome when somebody decided that it is not made. Only for `ask`. */
  skipped?(): T;
}

/** Somebody to hire. The seat belongs to the child: whoever watches its end gives it back. */
export interface HireSpec {
  readonly kind: "hire";
  /** The child's `execId` is its parent's and this, so that hiring twice hires once. */
  readonly key: string;
  readonly execId: ExecId;
  readonly agent: Agent;
  /** `name@version` */
  readonly agentName: string;
  readonly agentId: AgentId;
  readonly priority: Priority | undefined;
  readonly input: string;
  readonly fingerprint: string;
  readonly budget: ExecutionBudgetOptions | undefined;
  /** How long its parent waits for it, from the hire on; time without a seat is not counted. */
  readonly timeoutMs: number | undefined;
  /** `cancel`: with a `DeadlineExceededError`, so that it can still return what it has. */
  readonly onTimeout: "cancel" | "leave";
  readonly onPreempt: "park" | "return";
  readonly onFull: "deny" | "queue";
  /** Somebody may join it after its end. */
  readonly isJoinable: boolean;
  /** Its place in the tree. Throws where the tree would become too deep. */
  supervision(): Supervision;
  /** Why it may not be hired. Asked before the seat is taken, and not on replay. */
  denial(): MaybePromise<RaviError | undefined>;
}

/** A durable wait for what somebody delivers to the run under that name. */
export interface WaitSpec {
  readonly kind: "wait";
  readonly key: string;
  readonly name: string;
  /** Nothing is here yet, and somebody has to be told. Not called on replay. */
  onWait?(): void;
}

export type Operation = Effect | HireSpec | WaitSpec;

export type Settled<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** Where it is silent because it has ended, no other try helps. */
export type Heard =
  | { readonly reply: JsonValue }
  | { readonly silent: true; readonly ended?: boolean | undefined };

/** Where a bare execution counts what it used. */
export interface Tally {
  /** One that a tool asked for is nested: it is used, but it is not a call of the agent's. */
  model(usage: Usage | undefined, isNested: boolean): void;
  tool(): void;
}

/** What one execution has used so far, itself and without its children. */
export interface Used {
  readonly usage: Usage;
  readonly costUsd: number | null;
}

/** The engine of one execution. */
export interface DurableEngine {
  readonly start: ExecutionStart;
  /**
   * Cancelled by whoever may, and at the deadline. Both are facts like others: while an execution catches up with its record,
   * it is cancelled where it was cancelled before, and otherwise not before the end of what is on record.
   */
  readonly token: CancellationToken;
  /** Of the whole run: who stops that is heard here, also after a deadline or the end of an agent has cancelled `token`. */
  readonly runToken?: CancellationToken | undefined;
  /** Unwinds the execution while it keeps its place. It is no outcome, and nothing more is recorded. */
  readonly suspension: Error | undefined;
  /** Present where nothing is recorded, limited or paused: calls may then go past `effect`, and are counted here. */
  readonly bare: Tally | undefined;
  /** What is returned has to be plain JSON. */
  readonly isDurable: boolean;
  /** Money is counted, so `begin` says what is set aside. */
  readonly isMetered: boolean;
  /** Somebody follows what is published. */
  readonly isWatched: boolean;
  readonly used: Used;

  /** The time by recorded facts: of the last one read while it catches up with its record, then the clock's. */
  now(): number;
  /** What is left, as it was when the agent first asked. */
  remaining(): Remaining;
  /** Raises the limits of this execution and of all above it, once; a replay finds them raised. Absent where it cannot. */
  readonly raise?: ((key: string, more: Partial<Spend>) => MaybePromise<void>) | undefined;
  /** Whether its slot was taken, at its `n`-th yield point, as the last admission told. */
  isPaused(n: number): MaybePromise<boolean>;
  whenResumed(): Promise<void>;
  /** `whenResumed` tells PREEMPTED and RESUMED by itself, each once: an engine whose replay waits there again. */
  readonly tellsPauses?: boolean | undefined;

  /** No promise where the effect makes none. */
  effect<T>(effect: Effect<T>): MaybePromise<T>;
  /** All at once: first whatever may refuse and all seats, in the order given; then all are begun and joined. */
  all(operations: readonly Operation[]): MaybePromise<readonly Settled[]>;
  /** A fact that is recorded when it is first made, and read ever after. `make` waits for nothing durable. */
  fact(key: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue>;
  sleep(key: string, until: number): Promise<void>;
  wait(spec: WaitSpec): Promise<JsonValue>;

  /** The child's whole run; `timedOut` by the engine's own timer. Never throws for the child's fate. */
  hire(spec: HireSpec): Promise<HireOutcome>;
  /** Throws where it is denied. */
  spawn(spec: HireSpec): Promise<RunHandle>;
  join(child: ExecId): Promise<HireOutcome>;
  /** Says something to a child. `timeoutMs` counts from the first time that it was asked. */
  ask(
    key: string,
    child: ExecId,
    message: JsonValue,
    options: { readonly timeoutMs: number | undefined },
  ): Promise<Heard>;
  /** Whether `receive` under that key has something, without recording that it was asked. Absent where an engine cannot tell. */
  hasMail?(key: string): boolean;
  /** The next message to this execution; null when there is none and nobody wants to wait. */
  receive(key: string, options: { readonly wait: boolean }): Promise<InboxMessage | null>;
  reply(key: string, messageId: string, value: JsonValue): MaybePromise<void>;

  /** Numbered by the engine, one-way. */
  publish(event: AgentEvent): void;
  /** Throws where it cannot carry what the agent returned: that is the agent's failure then, before anybody is told of its end. */
  checkResult?(result: AgentResult): void;
  /** It is known what came of the agent, and it was no crash: whoever wants to suspend it now comes too late. */
  ending?(): void;
  /** The agent is over. Whom it hired and nobody joined is cancelled, and its seat is free before the agent's own is. */
  end(outcome: HireOutcome, options: { readonly isCrash: boolean }): MaybePromise<void>;
  /** Everything is suspended, and the agent has left off. Resolves when whom it hired has left off too: nobody works on after that. */
  unwound?(): MaybePromise<void>;
}

/** What surrounds every execution, whatever engine carries it. */
export interface ContextPorts {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly hooks: Hooks;
  readonly pipelines?: Pipelines | undefined;
  readonly meter?: Meter | undefined;
  readonly limiter?: Limiter | undefined;
  readonly history?: HistoryProvider | undefined;
  readonly compaction?: CompactionStrategy | undefined;
  readonly memory?: Memory | undefined;
  readonly permissions?: Permissions | undefined;
  readonly telemetry?: Telemetry | undefined;
  readonly auditLog?: AuditLog | undefined;
  /** Checks raw JSON Schemas of tools. */
  readonly validator?: JsonSchemaValidator | undefined;
  readonly logger?: Logger | undefined;
}

/** One agent with its context, ready to run on its engine. */
export interface AgentRun {
  readonly agentId: AgentId;
  readonly context: RunContext;
  readonly inbox: Inbox;
  /** To its end, whatever end that is. Throws only the engine's suspension, and what breaks the engine itself. */
  run(): Promise<HireOutcome>;
}

/** `createRunContext` of `@ravi/runtime`; a composition hands it to other engines. */
export type CreateRunContext = (engine: DurableEngine, ports: ContextPorts) => AgentRun;
