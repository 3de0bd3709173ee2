import {
  type Actual,
  BudgetExhaustedError,
  type ChargeOptions,
  type ExecutionBudgetOptions,
  isPromiseLike,
  isRaviError,
  type JsonObject,
  type Ledger,
  type MaybePromise,
  type Remaining,
  type Reservation,
  type ReserveOptions,
  type Settlement,
  type Spend,
} from "@ravi/kernel";
import { least, messageOf } from "@ravi/kernel/loop";
import { logOf, type RunLog } from "../run/run-log.ts";
import { andThen } from "../promises/and-then.ts";
import { promised } from "../promises/rejected.ts";
import { tryOrLog } from "../promises/try-or-log.ts";
import { reserveInLine } from "./joint-line.ts";
import { NOTHING_SPENT } from "./spends.ts";

/** Two independent ledgers as one; the second is the user's own. Every call reserves from both of them or from neither. */
export class JointLedger implements Ledger {
  readonly first: Ledger;
  readonly second: Ledger;
  /** The place of the second among the users' own ledgers. */
  readonly place: number;
  /** Only the run's own ledger is raised, and not the one that belongs to the user. */
  readonly raise?: (more: Partial<Spend>) => MaybePromise<void>;
  private readonly log: RunLog | undefined;

  constructor(
    first: Ledger,
    { second, place }: Pick<JointLedger, "second" | "place">,
    log: RunLog | undefined,
  ) {
    this.first = first;
    this.second = second;
    this.place = place;
    this.log = log;
    if (first.raise === undefined) return;
    // Assigned in two steps: see docs/decisions/0012.
    const raise = (more: Partial<Spend>): MaybePromise<void> => first.raise?.(more);
    this.raise = raise;
  }

  get used(): Spend {
    return this.first.used;
  }

  reserve(estimate: Partial<Spend>, options?: ReserveOptions): MaybePromise<Reservation> {
    if (options?.onFull === "queue") return this.reserveInLine(estimate, options);
    const one = this.ask(this.first, estimate, options);
    return andThen(one, (held) => this.withOther(held, this.second, estimate, options));
  }

  private async reserveInLine(estimate: Partial<Spend>, options: ReserveOptions): Promise<Reservation> {
    const { log } = this;
    const asks = this.asks(estimate);
    const ask = (place: number, how: ReserveOptions): MaybePromise<Reservation> => {
      const one = asks[place];
      if (one === undefined) throw new Error(`there is no ledger ${place}`);
      return one(how);
    };
    const all = await reserveInLine({ count: asks.length, ask, options, log });
    return all.reduce((one, two) => joined(one, two, log));
  }

  /** One for each ledger. With a ledger of its own, an agent below one that has such a ledger spends from three. */
  private asks(
    estimate: Partial<Spend>,
  ): readonly ((options: ReserveOptions) => MaybePromise<Reservation>)[] {
    const { first, second } = this;
    const own = (options: ReserveOptions): MaybePromise<Reservation> => this.ask(second, estimate, options);
    if (first instanceof JointLedger) return [...first.asks(estimate), own];
    return [(options) => this.ask(first, estimate, options), own];
  }

  /** Reserves from the other ledger as well, or gives back what is held in the one. */
  private withOther(
    one: Reservation,
    other: Ledger,
    estimate: Partial<Spend>,
    options: ReserveOptions | undefined,
  ): MaybePromise<Reservation> {
    const { log } = this;
    const giveBack = (error: unknown): MaybePromise<never> => {
      const message = "what was set aside for a refused call could not be given back";
      const given = tryOrLog(log, "error", message, () => one.cancel());
      return andThen(given, () => {
        // The refusal is what the caller must see.
        throw error;
      });
    };
    let two: MaybePromise<Reservation>;
    try {
      two = this.ask(other, estimate, options);
    } catch (error) {
      return giveBack(error);
    }
    return isPromiseLike(two)
      ? Promise.resolve(two).then((held) => joined(one, held, log), giveBack)
      : joined(one, two, log);
  }

  private ask(
    ledger: Ledger,
    estimate: Partial<Spend>,
    options: ReserveOptions | undefined,
  ): MaybePromise<Reservation> {
    const refuse = (error: unknown): never => {
      throw ledger === this.second ? asUsersOwn(error) : error;
    };
    try {
      const asked = ledger.reserve(estimate, options);
      return isPromiseLike(asked) ? Promise.resolve(asked).catch(refuse) : asked;
    } catch (error) {
      return refuse(error);
    }
  }

  async charge(spent: Actual, options?: ChargeOptions): Promise<Settlement> {
    const { first, second, log } = this;
    const [a, b] = await inBoth(first, second, (ledger) => ledger.charge(spent, options), log);
    return mergeSettlements(a, b);
  }

  child(budget: ExecutionBudgetOptions, scope: string): JointLedger {
    const { first, second, place, log } = this;
    return new JointLedger(first.child(budget, scope), { second: second.child({}, scope), place }, log);
  }

  remaining(): Remaining {
    const [a, b] = [this.first.remaining(), this.second.remaining()];
    return {
      tokens: least(a.tokens, b.tokens),
      cost: least(a.cost, b.cost),
      turns: least(a.turns, b.turns),
      toolCalls: least(a.toolCalls, b.toolCalls),
    };
  }

  overrun(): Spend {
    const [a, b] = [this.first.overrun?.() ?? NOTHING_SPENT, this.second.overrun?.() ?? NOTHING_SPENT];
    return {
      tokens: Math.max(a.tokens, b.tokens),
      cost: Math.max(a.cost, b.cost),
      turns: Math.max(a.turns, b.turns),
      toolCalls: Math.max(a.toolCalls, b.toolCalls),
    };
  }

  snapshot(): JsonObject {
    return this.first.snapshot();
  }
}

function joined(one: Reservation, two: Reservation, log: RunLog | undefined): Reservation {
  return {
    async settle(actual) {
      const [b, a] = await inBoth(two, one, (reservation) => reservation.settle(actual), log);
      return mergeSettlements(a, b);
    },
    async cancel() {
      await inBoth(two, one, (reservation) => reservation.cancel(), log);
    },
  };
}

const WHOSE = "this is the limit of a ledger of your own, in executionBudget of the agent or one above it";

/**
 * The refusal of a ledger that is not the run's. Nobody is asked for more because of it: an answer would raise the run's own limits, in
 * vain. An error of a ledger's own that lacks those fields stays what it is, and is marked.
 */
function asUsersOwn(error: unknown): unknown {
  if (!isRaviError(error, "BUDGET_EXHAUSTED")) return error;
  const { dimension, used, limit, scope, hint = WHOSE, waitable } = error;
  const isTold =
    [dimension, scope, hint].every((text) => typeof text === "string") &&
    [used, limit].every((amount) => typeof amount === "number" && !Number.isNaN(amount));
  if (!isTold) {
    // Has no effect on one that is frozen.
    Reflect.set(error, "raisable", false);
    return error;
  }
  const refusal = { dimension, used, limit, scope, hint, waitable };
  return new BudgetExhaustedError({ ...refusal, raisable: false, cause: error });
}

/**
 * Tells both, in one tick: one that is slow must not keep what is held in the other. If one fails, its failure is thrown; if both do, the
 * first failure is logged and the second one thrown.
 */
async function inBoth<P, T>(
  first: P,
  second: P,
  tell: (part: P) => MaybePromise<T>,
  log: RunLog | undefined,
): Promise<[T, T]> {
  const [one, two] = await Promise.allSettled([promised(() => tell(first)), promised(() => tell(second))]);
  if (one.status === "fulfilled") {
    if (two.status === "fulfilled") return [one.value, two.value];
  } else {
    const reason: unknown = one.reason;
    if (two.status === "fulfilled") throw reason;
    const error = messageOf(reason);
    logOf(log, "error", "both ledgers of a call failed; this is what the first said", { error });
  }
  throw two.reason;
}

/** A ledger in plain JavaScript may return an incomplete settlement, or none. */
function mergeSettlements(a: Partial<Settlement> = {}, b: Partial<Settlement> = {}): Settlement {
  return {
    warnings: [...(a.warnings ?? []), ...(b.warnings ?? [])],
    exceeded: [...(a.exceeded ?? []), ...(b.exceeded ?? [])],
  };
}
