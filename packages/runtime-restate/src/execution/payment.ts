import {
  type BlobStore,
  type BudgetWarning,
  type CancellationToken,
  type Clock,
  type Effect,
  type EffectScope,
  errorToJSON,
  type IdSource,
  type JsonObject,
  type MaybePromise,
  type Remaining,
  type Spend,
  type Usage,
} from "@ravi/kernel";
import type { Admission, FromExec, AbandonedCall, Settle, Stopped } from "../root/messages.ts";
import { type Paid, paidOf } from "./account.ts";
import { store, type Stored } from "./bodies.ts";
import { nameOf } from "./record.ts";
import type { RootChannel } from "./root-channel.ts";
import { EffectLedger } from "./effect-ledger.ts";
import type { AdmissionTurn } from "./admission-order.ts";

/** What the journal records of one attempt at an effect: its outcome, or why it was not made. */
export type Recorded = {
  readonly key: string;
  readonly fingerprint: string;
  readonly at: number;
  /** When it was admitted. */
  readonly startedAt?: number | undefined;
  readonly paused: boolean;
  readonly remaining: Remaining;
  readonly verdict: Exclude<Admission["verdict"], "go"> | "done";
  readonly stopped?: Stopped | undefined;
  readonly attempt: number;
  /** Whether it was stopped while it was under way: if it is made again, it may be made, and paid for, twice. */
  readonly isCutOff?: true | undefined;
  readonly stored?: Stored | undefined;
  readonly paid: readonly Paid[];
  /** How much of the execution's record the server had by then. */
  readonly recordSent?: number | undefined;
  /** Settlements that the root has not received yet. They go with the next message. */
  readonly settle: readonly (Settle | AbandonedCall)[];
};

export interface PaymentOptions {
  readonly effect: Effect;
  readonly fingerprint: string;
  readonly from: FromExec;
  readonly settle: readonly (Settle | AbandonedCall)[];
  readonly isMetered: boolean;
  readonly channel: RootChannel;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly blobs: BlobStore | undefined;
  readonly token: CancellationToken;
  readonly turn: AdmissionTurn;
  /** Aborted when the attempt of this closure is over. Nothing receives what it does after that. */
  readonly attemptOver: AbortSignal;
  readonly warn: (warnings: readonly BudgetWarning[]) => void;
  /** How often an earlier invocation of the execution has tried the call. */
  readonly triedBefore: number;
}

/** Milliseconds that a call may go on after it was told to stop. Less than its agent gets. */
const GRACE_MS = 20;
const WITHDRAW_MS = 5_000;

/** What an effect wants to reserve before it is made, or the error of its `begin`. */
interface Begun {
  readonly wanted?: Partial<Spend> | undefined;
  readonly usage?: Usage | undefined;
  readonly early?: Error | undefined;
}

/**
 * The closure of an effect: admission by the root, then the call itself. Errors are returned as values, so that the server never
 * repeats the closure.
 */
export async function pay(options: PaymentOptions): Promise<Recorded> {
  const { effect, from, attemptOver, fingerprint, clock } = options;
  const { key } = effect;
  const { execId } = from;
  const nonce = options.ids.uuid();
  const begun = await beginEffect(options);
  const admission = await admit(options, nonce, begun);
  const { at, paused, remaining, stopped } = admission;
  const attempt = admission.attempt + options.triedBefore;
  const base = { key, fingerprint, at, paused, remaining, attempt, stopped };
  options.warn(admission.warnings);
  if (admission.verdict !== "go") {
    return { ...base, verdict: admission.verdict, paid: [], settle: [] };
  }
  if (attemptOver.aborted) {
    await withdraw(options, nonce);
    throw new Error(`the attempt at ${execId} is over`);
  }
  const effectLedger = new EffectLedger(options, nonce, begun.wanted, admission);
  const paid: Paid[] = [];
  const scope: EffectScope = {
    idempotencyKey: `${execId}:${key}`,
    attempt,
    ledger: options.isMetered ? effectLedger : undefined,
    spent: (spent) => void paid.push(paidOf(spent)),
  };
  let left: AbandonedCall | undefined;
  const leave = (): void => {
    if (effect.kind === "llm" && effect.isSettled?.() !== true) left = { left: scope.idempotencyKey };
  };
  const stored = await outcomeOf(options, scope, begun.early, leave);
  attemptOver.throwIfAborted();
  const settle = left === undefined ? effectLedger.close() : [...effectLedger.close(), left];
  const isCutOff = isCutOffIn(options, stored) || undefined;
  return { ...base, at: clock.now(), startedAt: at, verdict: "done", isCutOff, stored, paid, settle };
}

async function beginEffect({ effect, isMetered }: PaymentOptions): Promise<Begun> {
  try {
    const begun = await effect.begin();
    return { wanted: wantedBy(effect, begun, isMetered), usage: reserveIn(begun)?.usage };
  } catch (error) {
    return { early: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** Asks the root for admission, when it is this call's turn. */
async function admit(options: PaymentOptions, nonce: string, { wanted, usage }: Begun): Promise<Admission> {
  const { effect, from, settle, channel, clock, turn, attemptOver } = options;
  const { key, onDoubt } = effect;
  await turn.reached();
  const asked = { key, nonce, onDoubt, name: nameOf(effect), reserve: wanted, usage, settle };
  const answered = channel.ask("admit", { ...from, at: clock.now(), ...asked }, attemptOver);
  turn.pass();
  try {
    return await answered;
  } catch (error) {
    if (attemptOver.aborted) await withdraw(options, nonce);
    throw error;
  }
}

/**
 * This attempt is over but still runs; the run continues elsewhere. The admission is withdrawn because nothing was paid, so that
 * the call is not in doubt.
 */
function withdraw({ effect, from, channel, clock }: PaymentOptions, nonce: string): Promise<void> {
  const message = { at: clock.now(), execId: from.execId, key: effect.key, nonce };
  return channel.tell("withdraw", message, AbortSignal.timeout(WITHDRAW_MS));
}

async function outcomeOf(
  options: PaymentOptions,
  scope: EffectScope,
  early: Error | undefined,
  leave: () => void,
): Promise<Stored> {
  const { effect, blobs } = options;
  try {
    if (early !== undefined) throw early;
    return await store(effect.record(await withGrace(options, effect.run(scope), leave)), blobs);
  } catch (error) {
    const spend = effect.spend();
    const more = effect.failureNote?.();
    return { here: { error: errorToJSON(error), ...more, ...(spend !== undefined && { spend }) } };
  }
}

function isCutOffIn({ effect, token }: PaymentOptions, stored: Stored): boolean {
  const hasFailed = "here" in stored && stored.here["error"] !== undefined;
  if (!hasFailed || token.error === undefined) return false;
  // A tool counts from when it is called.
  return effect.kind === "llm" ? effect.isSettled?.() !== true : effect.spend() !== undefined;
}

/** Abandons a call that does not stop within the grace after it was told to: the journal must not wait for it. */
async function withGrace<T>(
  { token, clock }: PaymentOptions,
  running: MaybePromise<T>,
  leave: () => void,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  let timer: { cancel(): void } | undefined;
  const unlisten = token.onCancel((error) => {
    timer ??= clock.setTimer?.(() => {
      leave();
      reject(error);
    }, GRACE_MS);
  });
  try {
    return await Promise.race([running, promise]);
  } finally {
    timer?.cancel();
    unlisten();
  }
}

/** What to reserve with the admission. A tool call takes one tool call; model calls inside it reserve on their own. */
function wantedBy(effect: Effect, begin: JsonObject, isMetered: boolean): Partial<Spend> | undefined {
  if (!isMetered) return undefined;
  if (effect.kind === "tool") return { toolCalls: 1 };
  const reserve = reserveIn(begin);
  if (reserve === undefined) return undefined;
  const { tokens, turns, cost } = reserve;
  return { tokens: tokens ?? 0, turns: turns ?? 0, ...(reserve.priced !== false && { cost: cost ?? 0 }) };
}

type ReserveEntry = Partial<Spend> & { readonly priced?: boolean; readonly usage?: Usage };

function reserveIn(begin: JsonObject): ReserveEntry | undefined {
  return begin["reserve"] as ReserveEntry | undefined;
}
