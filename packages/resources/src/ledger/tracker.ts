import {
  type Actual,
  type ChargeOptions,
  checkBoolean,
  checkFields,
  checkOneOf,
  checkSignal,
  type Clock,
  type Estimate,
  type ExecutionBudget,
  executionBudget,
  type ExecutionBudgetOptions,
  InvalidValueError,
  type JsonObject,
  type Ledger,
  type MaybePromise,
  type Remaining,
  type ReserveOptions,
  type Settlement,
  type Spend,
  systemClock,
} from "@ravi/kernel";
import { asOwn, checkPort, keepShapes } from "@ravi/kernel/loop";
import { type Account, openAccount } from "./account.ts";
import { addCapped, findOverrun, findRefusal, mayFitLater, spend } from "./parts/chain.ts";
import { serveLines, Waiter } from "./line.ts";
import { overrunError, refusalError, unpricedError } from "./parts/refusal.ts";
import { raiseAll, raisedBudget } from "./parts/raise.ts";
import { eachOpen, HeldReservation, type OpenReservation } from "./reservation.ts";
import { type LedgerState, readSnapshot, warnedOf, writeSnapshot } from "./parts/snapshot.ts";
import { spendOf } from "./spend-of.ts";
import {
  addedAmounts,
  type Amounts,
  DIMENSIONS,
  withAmount,
  NOTHING,
  reservedAmounts,
  inUserUnit,
  checkAmounts,
  spentAmounts,
  toSpend,
} from "./units.ts";
import {
  type ExecutionTrackerOptions,
  CHILD_OPTIONS,
  RESTORE_OPTIONS,
  type RestoreOptions,
  TRACKER_OPTIONS,
} from "./options.ts";
import { computeHeldBack, readReserve, type WrapUpReserve } from "./wrap-up.ts";

/** Of a reservation that is made now or not at all. */
type DenyOptions = ReserveOptions & { readonly onFull?: "deny" | undefined };

const ON_FULL = Object.freeze({ DENY: "deny", QUEUE: "queue" });
const OPEN = Object.freeze({ CHARGE: "charge", KEEP: "keep" });
const NO_DOUBT: readonly never[] = Object.freeze([]);

/**
 * The budget of an agent and of everybody that it hires. Money is reserved before a call and settled after it, in this ledger and in every
 * ledger above. Both happen in all of them or in none, and in one tick, so concurrent calls cannot exceed a limit.
 */
export class ExecutionTracker implements Ledger {
  private readonly account: Account;
  private readonly clock: Clock;
  private readonly reserveRule: WrapUpReserve | undefined;
  private readonly needsPrice: boolean;
  private nextId = 1;
  private doubt: readonly (Spend & { readonly id: number })[] = NO_DOUBT;

  /** Fields that `budget` leaves out have no limit. Throws an `InvalidValueError` if a value is wrong. */
  constructor(budget: ExecutionBudgetOptions = {}, options: ExecutionTrackerOptions = {}) {
    // A subclass may have options of its own.
    if (new.target === ExecutionTracker) checkFields("options", options, TRACKER_OPTIONS);
    if (options.parent !== undefined) checkParent(options.parent);
    const { parent, scope = "budget", warnAt = parent?.account.warnAt ?? 0.8 } = options;
    if (!(typeof warnAt === "number" && warnAt > 0 && warnAt <= 1)) {
      throw new InvalidValueError({
        field: "warnAt",
        value: warnAt,
        expected: "a fraction of the limit, greater than 0 and at most 1",
      });
    }
    if (typeof scope !== "string") {
      throw new InvalidValueError({
        field: "scope",
        value: scope,
        expected: "a string that names the owner of the budget",
      });
    }
    const given = isEmpty(budget) ? executionBudget() : executionBudget(budget);
    if (options.clock !== undefined) checkPort("clock", options.clock, ["now"]);
    this.clock = options.clock ?? parent?.clock ?? systemClock;
    this.reserveRule = options.reserve ?? (parent?.reserveRule === false ? false : undefined);
    this.account = openAccount({
      scope,
      parent: parent?.account,
      sameAgent: checkBoolean("sameAgent", options.sameAgent ?? false),
      budget: given,
      warnAt,
      fixed: readReserve(this.reserveRule, given),
    });
    this.needsPrice = given.maxCostUsd !== null || (parent?.needsPrice ?? false);
  }

  /** The current limits, including what was added by `raise`. */
  get budget(): ExecutionBudget {
    return raisedBudget(this.account);
  }

  /** For whoever runs the agent that has this ledger: the ledger itself counts no time. */
  get deadlineS(): number | null {
    return this.account.budget.deadlineS;
  }

  /** The name of the budget's owner in errors and warnings. */
  get scope(): string {
    return this.account.scope;
  }

  /** What was spent here and below, up to the highest amount that can be counted. Open reservations are not included. */
  get used(): Spend {
    return toSpend(this.account.used);
  }

  /** How many reservations are open, here and below. */
  get open(): number {
    return this.account.open;
  }

  /**
   * Reservations that were open in the restored snapshot and now count as spent: their calls may or may not have been paid for.
   */
  get inDoubt(): readonly (Spend & { readonly id: number })[] {
    return this.doubt;
  }

  /**
   * What may still be reserved, here and in every ledger above, including the wrap-up reserve. Null in a dimension without a
   * limit.
   */
  remaining(): Remaining {
    // Field by field, not by `DIMENSIONS`: it is asked before most model calls, and that took ten times as long.
    let tokens = Infinity;
    let nanos = Infinity;
    let turns = Infinity;
    let toolCalls = Infinity;
    for (let at: Account | undefined = this.account; at !== undefined; at = at.parent) {
      const { limited, caps, used, held } = at;
      if (limited.tokens) tokens = Math.min(tokens, caps.tokens - used.tokens - held.tokens);
      if (limited.nanos) nanos = Math.min(nanos, caps.nanos - used.nanos - held.nanos);
      if (limited.turns) turns = Math.min(turns, caps.turns - used.turns - held.turns);
      if (limited.toolCalls)
        toolCalls = Math.min(toolCalls, caps.toolCalls - used.toolCalls - held.toolCalls);
    }
    return {
      tokens: leftOf("tokens", tokens),
      cost: leftOf("nanos", nanos),
      turns: leftOf("turns", turns),
      toolCalls: leftOf("toolCalls", toolCalls),
    };
  }

  /** By how much a limit is exceeded, here or in a ledger above: in each dimension the most of any, and 0 if none is. */
  overrun(): Spend {
    const most = { ...NOTHING };
    for (let at: Account | undefined = this.account; at !== undefined; at = at.parent)
      for (const { unit } of DIMENSIONS) most[unit] = Math.max(most[unit], at.used[unit] - at.caps[unit]);
    return toSpend(most);
  }

  /**
   * Sets money aside for one call, here and in every ledger above. Throws a `BudgetExhaustedError` that names the ledger which refuses. If
   * any of them has a limit in dollars, a model call (tokens or turns) without a cost throws an `InvalidValueError`. A meter's estimate
   * is reserved as `spendOf` reads it.
   *
   * With `onFull: "queue"` it returns a promise if the call would fit once open reservations gave back all their tokens and dollars. The
   * promise resolves when it fits, and rejects with the refusal as soon as that cannot happen any more, or after ten minutes in which
   * nobody who waits for the same ledger got anything.
   */
  reserve(estimate: Partial<Spend> | Estimate, options?: DenyOptions): OpenReservation;
  reserve(estimate: Partial<Spend> | Estimate, options?: ReserveOptions): MaybePromise<OpenReservation>;
  reserve(estimate: Partial<Spend> | Estimate, options?: ReserveOptions): MaybePromise<OpenReservation> {
    if (isEstimate(estimate)) return this.reserve(spendOf(estimate), options);
    const { tokens, cost, turns, toolCalls } = checkAmounts("estimate", estimate);
    if (cost === undefined) {
      if (tokens === undefined && turns === undefined && toolCalls === undefined)
        throw emptyEstimate(estimate);
      if (this.needsPrice && ((tokens ?? 0) > 0 || (turns ?? 0) > 0)) {
        throw unpricedError(this.account, options?.what);
      }
    }
    const { account } = this;
    const wanted = new HeldReservation(this.nextId, account, reservedAmounts(estimate));
    const wrapUp = options?.wrapUp === true;
    const refusal = findRefusal(account, wanted, wrapUp);
    if (refusal === undefined) {
      this.nextId++;
      return wanted.open();
    }
    const isPatient = checkOneOf("onFull", options?.onFull ?? ON_FULL.DENY, ON_FULL) === ON_FULL.QUEUE;
    const waitable = mayFitLater(account, wanted, wrapUp);
    if (!isPatient || !waitable) throw refusalError(refusal, wanted, waitable);
    this.nextId++;
    const signal = checkSignal("signal", options?.signal);
    const { clock } = this;
    const onTurn = options?.onTurn;
    return new Waiter(account, wanted, { wrapUp, signal, clock, onTurn }).wait(refusal.account);
  }

  /**
   * For simple cases without a reservation: counts the spend here and above, then throws a `BudgetExhaustedError` if a limit is
   * exceeded. The spend stays counted.
   */
  consume(spent: Partial<Spend> = {}): void {
    this.charge(spent);
    const passed = findOverrun(this.account);
    if (passed !== undefined) throw overrunError(passed);
  }

  /**
   * Counts spending that had no reservation, as when a journal is replayed. It never refuses; it returns the warnings and
   * exceeded limits.
   */
  charge(spent: Actual = {}, { largest }: ChargeOptions = {}): Settlement {
    const amounts = spentAmounts(spent, NOTHING);
    const size = largest === undefined ? amounts : largest === null ? NOTHING : sizeOf(largest);
    const settlement = spend(this.account, amounts, size);
    // There is less room than before, so a call that waits for it may have to be refused.
    serveLines(this.account);
    return settlement;
  }

  /**
   * Adds to the limits of this ledger and of every ledger above it, so that the granted amount can really be spent. A dimension without a
   * limit is not changed.
   */
  raise(more: Partial<Spend>): void {
    raiseAll(this.account, addedAmounts(more));
    serveLines(this.account);
  }

  /** Whether the other one is above this ledger, so that what is spent here is spent there as well. */
  isBelow(other: Ledger): boolean {
    if (!(other instanceof ExecutionTracker)) return false;
    for (let at = this.account.parent; at !== undefined; at = at.parent)
      if (at === other.account) return true;
    return false;
  }

  /**
   * A ledger below this one. Without a limit of its own, only those above limit it; what it does not use stays available to them.
   */
  child(
    budget: ExecutionBudgetOptions,
    scope: string,
    options: Omit<ExecutionTrackerOptions, "parent" | "scope"> = {},
  ): ExecutionTracker {
    return new ExecutionTracker(budget, {
      ...options,
      ...asOwn(options, CHILD_OPTIONS),
      parent: this,
      scope,
    });
  }

  /** An open reservation made on this ledger; undefined if there is none with this id. */
  reservation(id: number): OpenReservation | undefined {
    for (const one of eachOpen(this.account)) if (one.id === id) return one;
    return undefined;
  }

  /**
   * This ledger alone, as plain JSON. For a whole tree, take the snapshots of all its ledgers in one tick; see `restoreLedgers`.
   */
  snapshot(): JsonObject {
    const { account } = this;
    return writeSnapshot(
      {
        scope: account.scope,
        parent: account.parent?.scope ?? null,
        sameAgent: account.sameAgent,
        budget: this.budget.toJSON(),
        warnAt: account.warnAt,
        reserve: this.reserveRule ?? null,
        used: account.used,
        held: account.held,
        open: account.open,
        largest: account.largest,
        warned: warnedOf(account),
        nextId: this.nextId,
        reservations: Array.from(eachOpen(account), ({ id, tokens, nanos, turns, toolCalls }) => ({
          id,
          tokens,
          nanos,
          turns,
          toolCalls,
        })),
      },
      this.clock.now(),
    );
  }

  /**
   * Restores a ledger from a snapshot. Restore its parent first and pass it as `parent`; both snapshots must be of the same moment. Nothing
   * is added to the parent here, because its own snapshot includes what its children have spent and reserved.
   */
  static restore(snapshot: unknown, options: RestoreOptions = {}): ExecutionTracker {
    checkFields("options", options, RESTORE_OPTIONS);
    checkOneOf("open", options.open ?? "charge", OPEN);
    const state = readSnapshot(snapshot);
    checkSameParent(options.parent, state);
    const tracker = new ExecutionTracker(options.budget ?? executionBudget.fromJSON(state.budget), {
      parent: options.parent,
      clock: options.clock,
      scope: state.scope,
      warnAt: state.warnAt,
      reserve: state.reserve ?? undefined,
      sameAgent: state.sameAgent,
    });
    const { account } = tracker;
    Object.assign(account.used, state.used);
    if (options.open === "keep") {
      Object.assign(account.held, state.held);
      account.open = state.open;
      for (const { id, ...amounts } of state.reservations) new HeldReservation(id, account, amounts).link();
    } else {
      addCapped(account.used, state.held);
      tracker.doubt = state.reservations.map(({ id, ...amounts }) => ({ id, ...toSpend(amounts) }));
    }
    account.largest = state.largest;
    account.heldBack = computeHeldBack(account);
    for (const { name, unit } of DIMENSIONS) {
      if (!account.limited[unit] || !state.warned.includes(name)) continue;
      // If the new limit is larger than the recorded one, the warning for it is still due.
      if (account.used[unit] >= account.watch[unit]) {
        account.watch = withAmount(account.watch, unit, account.caps[unit] + 1);
      }
    }
    tracker.nextId = state.nextId;
    return tracker;
  }
}

/** Checks a property, not the class: another copy of this package has another class. */
function checkParent(parent: object): void {
  if (typeof parent === "object" && parent !== null && "account" in parent) return;
  throw new InvalidValueError({ field: "parent", value: parent, expected: "an ExecutionTracker" });
}

function checkSameParent(given: ExecutionTracker | undefined, { scope, parent }: LedgerState): void {
  if ((given?.scope ?? null) === parent) return;
  const expected =
    parent === null
      ? `no parent, because ${scope} was a root`
      : `the restored ledger of ${parent}, which ${scope} spends from`;
  throw new InvalidValueError({ field: "parent", value: given?.scope, expected });
}

function sizeOf({ tokens, cost }: NonNullable<ChargeOptions["largest"]>): Amounts {
  return spentAmounts({ tokens, cost, turns: 1 }, NOTHING);
}

/** Most children have no limit of their own; all of them share one empty budget. */
function isEmpty(budget: ExecutionBudgetOptions): boolean {
  for (const _ in budget) return false;
  return typeof budget === "object" && budget !== null && Object.getPrototypeOf(budget) === Object.prototype;
}

function isEstimate(estimate: Partial<Spend> | Estimate): estimate is Estimate {
  return typeof estimate === "object" && estimate !== null && "price" in estimate;
}

function emptyEstimate(estimate: Partial<Spend>): InvalidValueError {
  return new InvalidValueError({
    field: "estimate",
    value: estimate,
    expected: "at least one of tokens, cost, turns and toolCalls",
  });
}

keepShapes(new ExecutionTracker().child({}, "agent").reserve({ turns: 1 }));

/** Infinity stands for no limit, and a negative amount for a limit that is exceeded. */
function leftOf(unit: keyof Amounts, amount: number): number | null {
  return amount === Infinity ? null : inUserUnit(unit, Math.max(0, amount));
}
