import {
  type Actual,
  BudgetExhaustedError,
  type BudgetWarning,
  type Ledger,
  type Reservation,
  type Settlement,
  type Spend,
  type Supervision,
} from "@ravi/kernel";

/** A ledger with the limit on turns of the run. */
export function turnsLedger({ executionBudget }: Supervision): Ledger {
  return new TurnsLedger(executionBudget);
}

/** Counts turns and tokens of a whole tree, enforces the limit on turns, and warns once when four fifths of them are used. */
class TurnsLedger implements Ledger {
  readonly used = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  private limit: number;
  private held = 0;
  private isWarned = false;

  constructor({ maxTurns }: { readonly maxTurns: number | null }) {
    this.limit = maxTurns ?? Infinity;
  }

  reserve({ turns = 0, tokens = 0 }: Partial<Spend>): Reservation {
    const { used, held, limit } = this;
    if (used.turns + held + turns > limit)
      throw new BudgetExhaustedError({ dimension: "turns", used: used.turns, limit, scope: "suite" });
    this.held += turns;
    const letGo = (): void => void (this.held -= turns);
    return {
      settle: (actual) => {
        letGo();
        return this.charge({ turns, tokens, ...actual });
      },
      cancel: letGo,
    };
  }

  charge({ turns = 0, tokens = 0 }: Actual): Settlement {
    const { used, limit } = this;
    used.turns += turns;
    used.tokens += tokens;
    const isNew = !this.isWarned && used.turns >= 0.8 * limit;
    this.isWarned ||= isNew;
    const warning: BudgetWarning = { dimension: "turns", used: used.turns, limit, scope: "suite" };
    return { warnings: isNew ? [warning] : [], exceeded: [] };
  }

  raise({ turns = 0 }: Partial<Spend>): void {
    this.limit += turns;
  }

  child(): Ledger {
    return this;
  }

  remaining() {
    const turns = this.limit === Infinity ? null : this.limit - this.used.turns - this.held;
    return { tokens: null, cost: null, turns, toolCalls: null };
  }

  snapshot() {
    return {};
  }
}
