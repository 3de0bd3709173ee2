import {
  type Agent,
  executionBudget,
  type ExecutionBudgetOptions,
  InvalidValueError,
  type Ledger,
  type Reservation,
  type Settlement,
} from "@ravi/kernel";

/** What an agent may spend at most: the tighter of what its hire and what its definition say, in each dimension. */
export function tighterBudget(
  agent: Agent,
  budget: ExecutionBudgetOptions | undefined,
): ExecutionBudgetOptions | undefined {
  const own = agent.defaults?.executionBudget;
  if (own === undefined || isLedger(own)) return budget;
  if (budget === undefined) return own;
  const [a, b] = [executionBudget(budget), executionBudget(own)];
  return {
    maxTokens: least(a.maxTokens, b.maxTokens),
    maxCostUsd: least(a.maxCostUsd, b.maxCostUsd),
    maxTurns: least(a.maxTurns, b.maxTurns),
    maxToolCalls: least(a.maxToolCalls, b.maxToolCalls),
    deadlineS: least(a.deadlineS, b.deadlineS),
  };
}

/** A limit that nobody keeps is none, and whoever set it would find out by the bill. A deadline is kept without a ledger. */
export function refuseLimits(whose: string, budget: ExecutionBudgetOptions): void {
  const { maxTokens, maxCostUsd, maxTurns, maxToolCalls } = budget;
  const limit = maxTokens ?? maxCostUsd ?? maxTurns ?? maxToolCalls ?? null;
  if (limit === null) return;
  throw new InvalidValueError({
    field: `${whose}.executionBudget`,
    value: JSON.stringify(budget),
    expected: "a runtime with a ledger, which keeps it (without one only deadlineS is kept)",
  });
}

/** An execution's ledger, and with it one that a user gave to the agent, which is reserved from in addition. */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  return ledger === undefined ? given : both(ledger, given);
}

function isLedger(value: object): value is Ledger {
  return "reserve" in value && typeof value.reserve === "function";
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
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
          return { warnings: [...a.warnings, ...b.warnings], exceeded: [...a.exceeded, ...b.exceeded] };
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
      return { warnings: [...a.warnings, ...b.warnings], exceeded: [...a.exceeded, ...b.exceeded] };
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
