import type { Agent, Ledger, Reservation, Settlement } from "@ravi/kernel";
import { isLedger, least } from "@ravi/kernel/loop";

/**
 * The ledger of an execution, combined with the one that the user gave to the agent (`defaults.executionBudget`), if there is one: every
 * call then reserves from both.
 */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  return ledger === undefined ? given : jointLedger(ledger, given);
}

/** Two ledgers as one; the second is the user's own. */
interface JointLedger extends Ledger {
  readonly first: Ledger;
  readonly extra: Ledger;
}

/** The restored ledger of a resumed execution, combined with the users' own ledgers of all agents above it. */
export function withExtraOf(parent: Ledger | undefined, restored: Ledger, scope: string): Ledger {
  let ledger = restored;
  for (let at = parent; at !== undefined && isJoint(at); at = at.first) {
    ledger = jointLedger(ledger, at.extra.child({}, scope));
  }
  return ledger;
}

function isJoint(ledger: Ledger): ledger is JointLedger {
  return "extra" in ledger;
}

/** Combines two independent ledgers. Every call reserves from both of them or from neither. */
function jointLedger(first: Ledger, second: Ledger): JointLedger {
  return {
    first,
    extra: second,
    async reserve(estimate, options) {
      const one = await first.reserve(estimate, options);
      let two: Reservation;
      try {
        two = await second.reserve(estimate, options);
      } catch (error) {
        await one.cancel();
        throw error;
      }
      return {
        async settle(actual) {
          let a: Settlement;
          let b: Settlement;
          // If the first fails, the reservation of the second must still be settled.
          try {
            a = await one.settle(actual);
          } finally {
            b = await two.settle(actual);
          }
          return mergeSettlements(a, b);
        },
        async cancel() {
          // If the first fails, the reservation of the second must still be cancelled.
          try {
            await one.cancel();
          } finally {
            await two.cancel();
          }
        },
      };
    },
    async charge(spent, options) {
      let a: Settlement;
      let b: Settlement;
      // If the first fails, the second must still count what was spent.
      try {
        a = await first.charge(spent, options);
      } finally {
        b = await second.charge(spent, options);
      }
      return mergeSettlements(a, b);
    },
    // Only the run's own ledger is raised, and not the one that belongs to the user.
    ...(first.raise !== undefined && { raise: (more) => first.raise?.(more) }),
    child: (budget, scope) => jointLedger(first.child(budget, scope), second.child({}, scope)),
    remaining() {
      const [a, b] = [first.remaining(), second.remaining()];
      return {
        tokens: least(a.tokens, b.tokens),
        cost: least(a.cost, b.cost),
        turns: least(a.turns, b.turns),
        toolCalls: least(a.toolCalls, b.toolCalls),
      };
    },
    get used() {
      return first.used;
    },
    snapshot: () => first.snapshot(),
  };
}

/** A ledger in plain JavaScript may return an incomplete settlement, or none. */
function mergeSettlements(a: Partial<Settlement> = {}, b: Partial<Settlement> = {}): Settlement {
  return {
    warnings: [...(a.warnings ?? []), ...(b.warnings ?? [])],
    exceeded: [...(a.exceeded ?? []), ...(b.exceeded ?? [])],
  };
}
