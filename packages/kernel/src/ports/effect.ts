import type { JsonObject } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { ToolCall } from "../model/messages.ts";
import type { Usage } from "../model/usage.ts";
import type { Ledger } from "./ledger.ts";

/** What one attempt at a model call, or one tool call, has used. */
export interface Spent {
  readonly usage: Usage;
  readonly toolCalls?: number | undefined;
  /** Dollars; null if the price is not known. */
  readonly costUsd: number | null;
  /** True if it gave no usable answer. */
  readonly isWaste?: boolean | undefined;
  /** True for a model call made by a judge or a tool inside of an effect. */
  readonly isNested?: boolean | undefined;
}

/**
 * A note on the money of one call inside of an effect, for the journal. It is first written with what is reserved for the call, and
 * again with what the call has used. If the second one is missing, the reservation stays charged. `inLine` is for call 0 only: it waits
 * for money, and unless another note on it follows, it was never sent.
 */
export type CallNote = {
  /** Counts from 1 in each attempt at the effect. 0 is the call that the effect was begun for; its note replaces what `begin` says. */
  readonly call: number;
} & ({ readonly reserve: JsonObject } | { readonly spend: JsonObject } | { readonly inLine: true });

/** What an effect may use while it runs. It has no context: there are no effects or durable waits inside of an effect. */
export interface EffectScope {
  /** The same for every attempt, so that the other side can recognise a repeat. */
  readonly idempotencyKey: string;
  /** Counts from 1. It is higher after a crash in the middle of the effect. */
  readonly attempt: number;
  /** What each call inside of the effect reserves from. The first may be served from what `begin` has reserved. */
  readonly ledger: Pick<Ledger, "reserve"> | undefined;
  /** Counts what was used, for reports and for the journal. */
  spent(spent: Spent): MaybePromise<void>;
  /**
   * Records the money of calls that `begin` does not cover: those of tools and judges, retries, other models. Such a call is sent only
   * after this has resolved. Calls that are part of the `spend` in the effect's end are not counted again: those numbered up to its
   * `calls`, except those in its `open`. Absent if the engine learns of them by itself, for instance by its ledger.
   */
  note?(notes: readonly CallNote[]): MaybePromise<void>;
  /**
   * A call waits for money that others have reserved. Until the function that this returns is called, the time does not count for who waits
   * for the agent with a time limit.
   */
  standStill?(): () => void;
  /** The agent has ended before a call was answered. What was reserved for it has been counted by `spent`, since it may be paid. */
  leave?(): void;
}

/** Something that acts on the outside and is made once: a model call or a tool call. */
export interface Effect<T = unknown> {
  readonly kind: "llm" | "tool";
  readonly key: string;
  /** A description for people. */
  readonly what: string;
  /** The tool call that it makes; absent for a model call. For engines that tell what was done. */
  readonly call?: ToolCall | undefined;
  /** Whether what a model says is not what its agent says, and is not told to observers. */
  readonly isQuiet?: boolean | undefined;
  /**
   * What to do if it was begun before a crash and has no end. `retry`: make it again and report it as in doubt. `ask`: suspend the run
   * until somebody decides.
   */
  readonly onDoubt: "retry" | "ask";
  /** A short text that stands for what is asked for. If it differs from the recorded one, the run is not being replayed faithfully. */
  fingerprint(): string;
  /**
   * What to record before it is made. A new object that the engine may keep and add to. A `reserve` in it stays charged if the effect
   * never ends. Not called in a replay.
   */
  begin(): MaybePromise<JsonObject>;
  /** Makes the effect. It may return its value, or throw, without a promise. Not called in a replay. */
  run(scope: EffectScope): MaybePromise<T>;
  /** When it ended, if it has read the clock. The engine then records the same time and saves reading the clock again (0.1 µs). */
  readonly endedAt?: number | undefined;
  /** The outcome as it is recorded. */
  record(value: T): JsonObject;
  /** Whether what `record` returned last is plain JSON that nobody else will change, so that it need not be copied. */
  readonly isRecordGiven?: boolean | undefined;
  /** The outcome from its record. */
  restore(body: JsonObject): T;
  /** Called in a replay, with the recorded outcome or `error`, to tell observers of it again. */
  replayed?(body: JsonObject): void;
  /** What a failed effect has cost; undefined if nothing. */
  spend(): JsonObject | undefined;
  /** What else to record of a failure, beside its `error` and `spend`. `replayed` gets it back. */
  failureNote?(): JsonObject;
  /**
   * Whether nothing of it is running and its cost is known: it waits for its first attempt or for another. If the run is stopped then,
   * the effect is recorded as withdrawn, so that it is not in doubt later.
   */
  isSettled?(): boolean;
  /** The outcome if somebody has decided that it is not to be made. Only for `onDoubt: "ask"`. */
  skipped?(): T;
}
