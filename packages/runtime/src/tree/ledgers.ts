import {
  type Agent,
  BudgetExhaustedError,
  type ExecutionBudgetOptions,
  isRaviError,
  type Ledger,
  type MaybePromise,
  type Reservation,
  type Settlement,
} from "@ravi/kernel";
import { isLedger, least, messageOf } from "@ravi/kernel/loop";
import { logOf, type RunLog } from "../run/run-log.ts";
import { tryOrLog } from "../promises/try-or-log.ts";
import { NOTHING_SPENT } from "./spends.ts";

/** By ledger of an execution: the users' own ledgers that it spends from. */
const GIVEN = new WeakMap<Ledger, readonly Ledger[]>();
const NONE: readonly Ledger[] = [];

/**
 * The ledger of an execution, combined with the one that the user gave to the agent (`defaults.executionBudget`), if there is one: every
 * call then reserves from both. One that an agent above was given too is among them already.
 */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined, log?: RunLog): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  const above = givenTo(ledger);
  if (ledger === given || above.includes(given)) return ledger;
  const both = ledger === undefined ? given : jointLedger(ledger, given, log);
  GIVEN.set(both, [...above, given]);
  return both;
}

/** The ledger of a hired agent, below that of the one that hires it. */
export function childLedger(
  parent: Ledger | undefined,
  budget: ExecutionBudgetOptions,
  scope: string,
): Ledger | undefined {
  return asGiven(parent, parent?.child(budget, scope));
}

function givenTo(ledger: Ledger | undefined): readonly Ledger[] {
  return (ledger && GIVEN.get(ledger)) ?? NONE;
}

function asGiven<L extends Ledger | undefined>(parent: Ledger | undefined, ledger: L): L {
  const given = givenTo(parent);
  if (ledger !== undefined && given.length > 0) GIVEN.set(ledger, given);
  return ledger;
}

/** A symbol, because a ledger of a user may have a field of any name. */
const EXTRA = Symbol("ravi.extraLedger");

/** Two ledgers as one; the second is the user's own. */
interface JointLedger extends Ledger {
  readonly first: Ledger;
  readonly [EXTRA]: Ledger;
}

/** The restored ledger of a resumed execution, combined with the users' own ledgers of all agents above it. */
export function withExtraOf(
  parent: Ledger | undefined,
  restored: Ledger,
  scope: string,
  log?: RunLog,
): Ledger {
  let ledger = restored;
  for (let at = parent; at !== undefined && isJoint(at); at = at.first) {
    ledger = jointLedger(ledger, at[EXTRA].child({}, scope), log);
  }
  return asGiven(parent, ledger);
}

function isJoint(ledger: Ledger): ledger is JointLedger {
  return EXTRA in ledger;
}

/** Combines two independent ledgers. Every call reserves from both of them or from neither. */
function jointLedger(first: Ledger, second: Ledger, log: RunLog | undefined): JointLedger {
  return {
    first,
    [EXTRA]: second,
    async reserve(estimate, options) {
      const one = await first.reserve(estimate, options);
      let two: Reservation;
      try {
        two = await second.reserve(estimate, options);
      } catch (error) {
        // The refusal is what the caller must see.
        const message = "what was set aside for a refused call could not be given back";
        await tryOrLog(log, "error", message, () => one.cancel());
        throw asUsersOwn(error);
      }
      return {
        async settle(actual) {
          const [a, b] = await inBoth(one, two, (reservation) => reservation.settle(actual), log);
          return mergeSettlements(a, b);
        },
        async cancel() {
          await inBoth(one, two, (reservation) => reservation.cancel(), log);
        },
      };
    },
    async charge(spent, options) {
      const [a, b] = await inBoth(first, second, (ledger) => ledger.charge(spent, options), log);
      return mergeSettlements(a, b);
    },
    // Only the run's own ledger is raised, and not the one that belongs to the user.
    ...(first.raise !== undefined && { raise: (more) => first.raise?.(more) }),
    child: (budget, scope) => jointLedger(first.child(budget, scope), second.child({}, scope), log),
    remaining() {
      const [a, b] = [first.remaining(), second.remaining()];
      return {
        tokens: least(a.tokens, b.tokens),
        cost: least(a.cost, b.cost),
        turns: least(a.turns, b.turns),
        toolCalls: least(a.toolCalls, b.toolCalls),
      };
    },
    overrun() {
      const [a, b] = [first.overrun?.() ?? NOTHING_SPENT, second.overrun?.() ?? NOTHING_SPENT];
      return {
        tokens: Math.max(a.tokens, b.tokens),
        cost: Math.max(a.cost, b.cost),
        turns: Math.max(a.turns, b.turns),
        toolCalls: Math.max(a.toolCalls, b.toolCalls),
      };
    },
    get used() {
      return first.used;
    },
    snapshot: () => first.snapshot(),
  };
}

const WHOSE = "this is the limit of a ledger of your own, in executionBudget of the agent or one above it";

/**
 * The refusal of a ledger that is not the run's. Nobody is asked for more because of it: an answer would raise the run's own limits, in
 * vain. An error of a ledger's own that lacks those fields stays what it is, and is marked.
 */
function asUsersOwn(error: unknown): unknown {
  if (!isRaviError(error, "BUDGET_EXHAUSTED")) return error;
  const { dimension, used, limit, scope, hint = WHOSE } = error;
  const isTold =
    [dimension, scope, hint].every((text) => typeof text === "string") &&
    [used, limit].every((amount) => typeof amount === "number" && !Number.isNaN(amount));
  if (!isTold) {
    // Has no effect on one that is frozen.
    Reflect.set(error, "raisable", false);
    return error;
  }
  return new BudgetExhaustedError({ dimension, used, limit, scope, hint, raisable: false, cause: error });
}

/** Tells both, the second also if the first fails. If both fail, the first failure is logged and the second one thrown. */
async function inBoth<P, T>(
  first: P,
  second: P,
  tell: (part: P) => MaybePromise<T>,
  log: RunLog | undefined,
): Promise<[T, T]> {
  let told: T;
  try {
    told = await tell(first);
  } catch (error) {
    try {
      await tell(second);
    } catch (other) {
      logOf(log, "error", "both ledgers of a call failed; this is what the first said", {
        error: messageOf(error),
      });
      throw other;
    }
    throw error;
  }
  return [told, await tell(second)];
}

/** A ledger in plain JavaScript may return an incomplete settlement, or none. */
function mergeSettlements(a: Partial<Settlement> = {}, b: Partial<Settlement> = {}): Settlement {
  return {
    warnings: [...(a.warnings ?? []), ...(b.warnings ?? [])],
    exceeded: [...(a.exceeded ?? []), ...(b.exceeded ?? [])],
  };
}
