import {
  type BlobStore,
  type BudgetWarning,
  type CancellationToken,
  type Clock,
  type Effect,
  type EffectScope,
  errorFromJSON,
  errorToJSON,
  type IdSource,
  type JsonObject,
  type Remaining,
  type Reservation,
  type Spend,
} from "@ravi/kernel";
import type { Admission, Settle, Stopped } from "../root/messages.ts";
import { covers } from "../root/spend.ts";
import { type Paid, paidOf } from "./account.ts";
import { store, type Stored } from "./bodies.ts";
import type { Line } from "./line.ts";

/** What the journal has of one go at an effect: its outcome, or why it was not made. */
export type Recorded = {
  readonly key: string;
  readonly fingerprint: string;
  readonly at: number;
  readonly paused: boolean;
  readonly remaining: Remaining;
  readonly verdict: Exclude<Admission["verdict"], "go"> | "done";
  readonly stopped?: Stopped | undefined;
  readonly attempt: number;
  readonly stored?: Stored | undefined;
  readonly paid: readonly Paid[];
  /** What the root has not been told yet; it goes with the next message. */
  readonly settle: readonly Settle[];
};

export interface PaymentOptions {
  readonly effect: Effect;
  readonly fingerprint: string;
  readonly execId: string;
  readonly lane: number;
  readonly settle: readonly Settle[];
  readonly isMetered: boolean;
  readonly line: Line;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly blobs: BlobStore | undefined;
  readonly token: CancellationToken;
  /** Aborted when the attempt that this closure belongs to is over. What it does then is heard by nobody. */
  readonly attemptOver: AbortSignal;
  readonly warn: (warnings: readonly BudgetWarning[]) => void;
}

const NO_WARNINGS = Object.freeze({ warnings: [], exceeded: [] });
/** How long a call may go on after it was told to stop. Less than what its agent is given. */
const GRACE_MS = 20;
const WITHDRAW_MS = 5_000;

/** The closure of an effect: admission by the root, then the payment. Errors are values, so that the engine never repeats it. */
export async function pay(options: PaymentOptions): Promise<Recorded> {
  const { effect, execId, lane, line, ids, attemptOver, fingerprint, clock } = options;
  const { key, onDoubt } = effect;
  const nonce = ids.uuid();
  let wanted: Partial<Spend> | undefined;
  let early: Error | undefined;
  try {
    wanted = wantedBy(effect, await effect.begin(), options.isMetered);
  } catch (error) {
    early = error instanceof Error ? error : new Error(String(error));
  }
  const message = {
    at: clock.now(),
    execId,
    lane,
    key,
    nonce,
    onDoubt,
    reserve: wanted,
    settle: options.settle,
  };
  // A zombie: the run goes on elsewhere. What paid nothing is taken back, so that nobody has to doubt it.
  const withdraw = (): Promise<void> =>
    line.tell("withdraw", { at: clock.now(), execId, key, nonce }, AbortSignal.timeout(WITHDRAW_MS));
  let admission: Admission;
  try {
    admission = await line.ask("admit", message, attemptOver);
  } catch (error) {
    if (attemptOver.aborted) await withdraw();
    throw error;
  }
  const { at, paused, remaining, attempt, stopped } = admission;
  const base = { key, fingerprint, at, paused, remaining, attempt, stopped };
  options.warn(admission.warnings);
  if (admission.verdict !== "go") {
    return { ...base, verdict: admission.verdict, paid: [], settle: [] };
  }
  if (attemptOver.aborted) {
    await withdraw();
    throw new Error(`the attempt at ${execId} is over`);
  }
  const purse = new Purse(options, nonce, wanted, admission);
  const paid: Paid[] = [];
  const scope: EffectScope = {
    idempotencyKey: `${execId}:${key}`,
    attempt,
    ledger: options.isMetered ? purse : undefined,
    spent: (spent) => void paid.push(paidOf(spent)),
  };
  const stored = await outcomeOf(options, scope, early);
  attemptOver.throwIfAborted();
  return { ...base, at: clock.now(), verdict: "done", stored, paid, settle: purse.close() };
}

async function outcomeOf(
  options: PaymentOptions,
  scope: EffectScope,
  early: Error | undefined,
): Promise<Stored> {
  const { effect, blobs } = options;
  try {
    if (early !== undefined) throw early;
    return await store(effect.record(await inTime(options, effect.run(scope))), blobs);
  } catch (error) {
    const spend = effect.spend();
    return { here: { error: errorToJSON(error), ...(spend !== undefined && { spend }) } };
  }
}

/** A call that is told to stop and does not is left behind: the journal must not wait for it. */
async function inTime<T>({ token, clock }: PaymentOptions, running: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  let timer: { cancel(): void } | undefined;
  const unlisten = token.onCancel((error) => {
    timer ??= clock.setTimer?.(() => reject(error), GRACE_MS);
  });
  try {
    return await Promise.race([running, promise]);
  } finally {
    timer?.cancel();
    unlisten();
  }
}

/** What is asked for together with the admission. A tool call takes one of its kind, and what it pays inside, by itself. */
function wantedBy(effect: Effect, begin: JsonObject, isMetered: boolean): Partial<Spend> | undefined {
  if (!isMetered) return undefined;
  if (effect.kind === "tool") return { toolCalls: 1 };
  const reserve = begin["reserve"] as (Partial<Spend> & { readonly priced?: boolean }) | undefined;
  if (reserve === undefined) return undefined;
  const { tokens, turns, cost } = reserve;
  return { tokens: tokens ?? 0, turns: turns ?? 0, ...(reserve.priced !== false && { cost: cost ?? 0 }) };
}

/** The money of one effect: the first reservation came with the admission, any further one is asked for. */
class Purse {
  private readonly options: PaymentOptions;
  private readonly nonce: string;
  private readonly wanted: Partial<Spend>;
  private readonly refused: Admission["refused"];
  private first: string | undefined;
  private count = 0;
  private settles: Settle[] = [];

  constructor(
    options: PaymentOptions,
    nonce: string,
    wanted: Partial<Spend> | undefined,
    { reserved, refused }: Admission,
  ) {
    this.options = options;
    this.nonce = nonce;
    this.wanted = wanted ?? {};
    this.first = reserved;
    this.refused = refused;
  }

  async reserve(
    spend: Partial<Spend>,
    options?: { readonly wrapUp?: boolean | undefined; readonly what?: string | undefined },
  ): Promise<Reservation> {
    const wrapUp = options?.wrapUp === true;
    const isFirst = this.count++ === 0;
    const { first, refused } = this;
    if (isFirst && refused !== undefined && !wrapUp) throw errorFromJSON(refused);
    if (first !== undefined && covers(this.wanted, spend)) {
      this.first = undefined;
      return this.reservation(first);
    }
    this.putBack();
    const { line, execId, lane, effect, clock, attemptOver } = this.options;
    const id = `${execId}:${effect.key}:${this.nonce}:${this.count}`;
    const settle = this.settles;
    this.settles = [];
    const message = { at: clock.now(), execId, lane, id, spend, wrapUp, what: options?.what, settle };
    const reserved = await line.ask("reserve", message, attemptOver);
    this.options.warn(reserved.warnings);
    if (reserved.refused !== undefined) throw errorFromJSON(reserved.refused);
    return this.reservation(id);
  }

  /** What is left to be told. */
  close(): readonly Settle[] {
    this.putBack();
    return this.settles;
  }

  private putBack(): void {
    if (this.first !== undefined) this.settles.push({ id: this.first });
    this.first = undefined;
  }

  private reservation(id: string): Reservation {
    return {
      settle: ({ tokens, cost, turns, toolCalls, estimated }) => {
        const actual = { tokens, cost, turns, toolCalls, estimated };
        this.settles.push({
          id,
          actual: JSON.parse(JSON.stringify(actual)) as NonNullable<Settle["actual"]>,
        });
        return NO_WARNINGS;
      },
      cancel: () => void this.settles.push({ id }),
    };
  }
}
