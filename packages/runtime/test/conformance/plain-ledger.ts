import {
  type Actual,
  BudgetExhaustedError,
  type BudgetWarning,
  type ExecutionBudgetOptions,
  InvalidValueError,
  type JsonObject,
  type Ledger,
  type Remaining,
  type Reservation,
  type Settlement,
  type Spend,
} from "@ravi/kernel";

const NAMES = ["tokens", "cost", "turns", "toolCalls"] as const;
const FIELDS = {
  tokens: "maxTokens",
  cost: "maxCostUsd",
  turns: "maxTurns",
  toolCalls: "maxToolCalls",
} as const;
type Amounts = Record<keyof Spend, number>;

/** The rules of a ledger in the fewest words. Amounts are kept in millionths, so that dollars add up. */
export class PlainLedger implements Ledger {
  private readonly scope: string;
  private readonly parent: PlainLedger | undefined;
  private readonly limits: Amounts;
  private readonly spent: Amounts = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  private readonly held: Amounts = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  private readonly warned = new Set<keyof Spend>();

  constructor(budget: ExecutionBudgetOptions, scope: string, parent?: PlainLedger) {
    this.scope = scope;
    this.parent = parent;
    this.limits = map((name) => (budget[FIELDS[name]] ?? Infinity) * 1e6);
  }

  reserve(estimate: Partial<Spend>): Reservation {
    const wanted = unitsOf(estimate);
    if (estimate.cost === undefined && wanted.tokens + wanted.turns > 0 && this.remaining().cost !== null)
      throw new InvalidValueError({ field: "cost", value: undefined, expected: "a price" });
    for (const { limits, spent, held, scope } of this.chain) {
      for (const dimension of NAMES) {
        const [limit, used] = [limits[dimension], spent[dimension] + held[dimension]];
        if (wanted[dimension] > 0 && used + wanted[dimension] > limit)
          throw new BudgetExhaustedError({ dimension, used: used / 1e6, limit: limit / 1e6, scope });
      }
    }
    this.each((at) => add(at.held, wanted, 1));
    let isOpen = true;
    const close = (): void => {
      if (isOpen) this.each((at) => add(at.held, wanted, -1));
      isOpen = false;
    };
    return {
      cancel: close,
      settle: (actual) => {
        if (!isOpen) throw new InvalidValueError({ field: "reservation", value: "closed", expected: "open" });
        const given = unitsOf(actual);
        const used = map((name) => (actual[name] === undefined ? wanted[name] : given[name]));
        close();
        return this.spend(used);
      },
    };
  }

  charge(spent: Actual): Settlement {
    return this.spend(unitsOf(spent));
  }

  raise(more: Partial<Spend>): void {
    this.each((at) => add(at.limits, unitsOf(more), 1));
  }

  child(budget: ExecutionBudgetOptions, scope: string): PlainLedger {
    return new PlainLedger(budget, scope, this);
  }

  remaining(): Remaining {
    const left = (name: keyof Spend): number =>
      Math.min(...this.chain.map(({ limits, spent, held }) => limits[name] - spent[name] - held[name]));
    return map((name) => (left(name) === Infinity ? null : Math.max(0, left(name) / 1e6)));
  }

  overrun(): Spend {
    return map((name) =>
      Math.max(0, ...this.chain.map(({ limits, spent }) => (spent[name] - limits[name]) / 1e6)),
    );
  }

  get used(): Spend {
    return map((name) => this.spent[name] / 1e6);
  }

  snapshot(): JsonObject {
    return { used: { ...this.used } };
  }

  private spend(units: Amounts): Settlement {
    const warnings: BudgetWarning[] = [];
    const exceeded: BudgetWarning[] = [];
    this.each(({ limits, spent, warned, scope }) => {
      add(spent, units, 1);
      for (const dimension of NAMES) {
        const [used, limit] = [spent[dimension] / 1e6, limits[dimension] / 1e6];
        if (units[dimension] === 0 || used < 0.8 * limit) continue;
        if (!warned.has(dimension)) warnings.push({ dimension, used, limit, scope });
        warned.add(dimension);
        if (used > limit) exceeded.push({ dimension, used, limit, scope });
      }
    });
    return { warnings, exceeded };
  }

  private get chain(): PlainLedger[] {
    return this.parent === undefined ? [this] : [this, ...this.parent.chain];
  }

  private each(act: (at: PlainLedger) => void): void {
    for (const at of this.chain) act(at);
  }
}

function map<T>(of: (name: keyof Spend) => T): Record<keyof Spend, T> {
  return { tokens: of("tokens"), cost: of("cost"), turns: of("turns"), toolCalls: of("toolCalls") };
}

function add(to: Amounts, amounts: Amounts, sign: 1 | -1): void {
  for (const name of NAMES) to[name] += sign * amounts[name];
}

function unitsOf(amounts: Partial<Spend>): Amounts {
  return map((name) => {
    const amount = amounts[name] ?? 0;
    if (amount >= 0) return Math.round(amount * 1e6);
    throw new InvalidValueError({ field: name, value: amount, expected: "an amount" });
  });
}
