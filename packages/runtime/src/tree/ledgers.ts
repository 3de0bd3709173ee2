import type { Agent, Ledger, Reservation, Settlement } from "@ravi/kernel";
import { isLedger, least } from "@ravi/kernel/loop";

/** An execution's ledger, and with it one that a user gave to the agent, which is reserved from in addition. */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  return ledger === undefined ? given : both(ledger, given);
}

/** Two ledgers as one; the second is a user's own. */
interface JointLedger extends Ledger {
  readonly first: Ledger;
  readonly extra: Ledger;
}

/** A ledger that a resumed run brought along, with all that the agents above it were given by their users. */
export function withExtraOf(parent: Ledger | undefined, restored: Ledger, scope: string): Ledger {
  let ledger = restored;
  for (let at = parent; at !== undefined && isJoint(at); at = at.first) {
    ledger = both(ledger, at.extra.child({}, scope));
  }
  return ledger;
}

function isJoint(ledger: Ledger): ledger is JointLedger {
  return "extra" in ledger;
}

/** Two ledgers that do not know each other, reserved from together: all or nothing. */
function both(first: Ledger, second: Ledger): JointLedger {
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
          // One that fails must not leave open what the other has set aside.
          try {
            a = await one.settle(actual);
          } finally {
            b = await two.settle(actual);
          }
          return bothOf(a, b);
        },
        async cancel() {
          // One that fails must not keep what the other has set aside.
          try {
            await one.cancel();
          } finally {
            await two.cancel();
          }
        },
      };
    },
    async charge(spent, options) {
      const [a, b] = [await first.charge(spent, options), await second.charge(spent, options)];
      return bothOf(a, b);
    },
    // What the run may spend can be raised; what a user has given beside it is theirs.
    ...(first.raise !== undefined && { raise: (more) => first.raise?.(more) }),
    child: (budget, scope) => both(first.child(budget, scope), second.child({}, scope)),
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

/** A ledger that was not compiled may leave out what it has nothing to say of. */
function bothOf(a: Partial<Settlement> = {}, b: Partial<Settlement> = {}): Settlement {
  return {
    warnings: [...(a.warnings ?? []), ...(b.warnings ?? [])],
    exceeded: [...(a.exceeded ?? []), ...(b.exceeded ?? [])],
  };
}
