import {
  type Actual,
  CancellationError,
  type ExecutionBudgetOptions,
  isRaviError,
  type Ledger,
  type Reservation,
  type ReserveOptions,
  type Settlement,
  type Spend,
} from "@ravi/kernel";
import type { LedgerSetup } from "../../src/suites/index.ts";
import { type Account, type Amounts, HonestLedger, NAMES } from "./honest-ledger.ts";

export interface PlantedLedger {
  readonly says: string;
  /** Part of what the case says that must fail. */
  readonly caughtBy: string;
  readonly Broken: typeof HonestLedger;
}

const NOTHING: Spend = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
const SEQUENCES = "any sequence of reservations";

/** Lets calls wait for the tokens of those under way. */
export class WaitingLedger extends HonestLedger {
  override async reserve(estimate: Partial<Spend>, options: ReserveOptions = {}): Promise<Reservation> {
    if (options.onFull !== "queue") return super.reserve(estimate);
    await this.wait(estimate, options);
    this.check(estimate);
    return super.reserve(estimate);
  }

  /** Waits until it fits, can no longer fit, or is told to wait no longer. */
  protected async wait(estimate: Partial<Spend>, options: ReserveOptions): Promise<void> {
    while (!isAborted(options) && !this.hasRoom(estimate) && this.mayFit(this.units(estimate)))
      await new Promise((resolve) => setImmediate(resolve));
    if (isAborted(options)) throw new CancellationError({ reason: "it was told to wait no longer" });
  }

  /** Whether it would fit if all tokens were given back that are held. */
  private mayFit({ tokens, turns }: Amounts): boolean {
    return this.chain.every(
      ({ limits, used, held }) =>
        used.tokens + tokens <= (limits.tokens ?? Infinity) &&
        used.turns + held.turns + turns <= (limits.turns ?? Infinity),
    );
  }

  protected hasRoom(estimate: Partial<Spend>): boolean {
    try {
      this.check(estimate);
      return true;
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED")) return false;
      throw error;
    }
  }
}

function isAborted({ signal }: ReserveOptions): boolean {
  return signal?.aborted === true;
}

export const PLANTED_LEDGERS: readonly PlantedLedger[] = [
  {
    says: "takes what a call waits for when it begins to wait",
    caughtBy: "holds nothing until there is room",
    Broken: class extends WaitingLedger {
      protected override async wait(estimate: Partial<Spend>) {
        const units = this.units(estimate);
        this.hold(units);
        while (this.account.held.tokens > units.tokens) await new Promise((resolve) => setImmediate(resolve));
        this.giveBack(units);
      }
    },
  },
  {
    says: "gives a call that waited what it asked for, whatever there is",
    caughtBy: "does not wait",
    Broken: class extends WaitingLedger {
      protected override checkOne() {}
    },
  },
  {
    says: "reserves for a call that was told to wait no longer",
    caughtBy: "told to wait no longer",
    Broken: class extends WaitingLedger {
      protected override async wait(estimate: Partial<Spend>) {
        await super.wait(estimate, {});
      }
    },
  },
  {
    says: "admits one more than fits",
    caughtBy: "what fits is reserved up to the limit",
    Broken: class extends HonestLedger {
      protected override fits(taken: number, wanted: number, limit: number) {
        return taken + wanted <= limit + 1;
      }
    },
  },
  {
    says: "admits the call that passes the limit, and refuses only the next",
    caughtBy: SEQUENCES,
    Broken: class extends HonestLedger {
      protected override fits(taken: number, _wanted: number, limit: number) {
        return taken < limit;
      }
    },
  },
  {
    says: "looks only at what was spent already",
    caughtBy: "what is reserved is not left for others",
    Broken: class extends HonestLedger {
      protected override checkOne(at: Account, name: keyof Spend, wanted: number) {
        super.checkOne({ ...at, held: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 } }, name, wanted);
      }
    },
  },
  {
    says: "looks whether it fits, waits, and then takes it",
    caughtBy: "at the same moment",
    Broken: class extends HonestLedger {
      override async reserve(estimate: Partial<Spend>) {
        this.check(estimate);
        await Promise.resolve();
        this.hold(this.units(estimate));
        return this.reservation(this.units(estimate));
      }
    },
  },
  {
    says: "takes from one ledger after the other and keeps what it has when one refuses",
    caughtBy: "a reservation leaves nothing in any of the chain",
    Broken: class extends HonestLedger {
      override reserve(estimate: Partial<Spend>) {
        const units = this.units(estimate);
        for (const at of this.chain) {
          for (const name of NAMES) this.checkOne(at, name, units[name]);
          for (const name of NAMES) at.held[name] += units[name];
        }
        return this.reservation(units);
      }
    },
  },
  {
    says: "takes one dimension after the other and keeps what it has when one does not fit",
    caughtBy: "a refused reservation leaves nothing behind",
    Broken: class extends HonestLedger {
      override reserve(estimate: Partial<Spend>) {
        const units = this.units(estimate);
        for (const name of NAMES) {
          this.checkOne(this.account, name, units[name]);
          this.account.held[name] += units[name];
        }
        return this.reservation(units);
      }
    },
  },
  {
    says: "does not give back the rest of a settled reservation",
    caughtBy: "a settlement charges what was used",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        const one = super.reservation(reserved);
        return { ...one, settle: () => one.settle({ estimated: true }) };
      }
    },
  },
  {
    says: "gives a reservation back each time it is cancelled",
    caughtBy: "whatever is called after",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        return { ...super.reservation(reserved), cancel: () => this.giveBack(reserved) };
      }
    },
  },
  {
    says: "charges a reservation each time it is settled",
    caughtBy: "whatever is called after",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        const one = super.reservation(reserved);
        return {
          ...one,
          settle: (actual) => {
            try {
              return one.settle(actual);
            } catch {
              return this.charge(actual);
            }
          },
        };
      }
    },
  },
  {
    says: "charges nothing for a call without usage",
    caughtBy: "without usage the whole reservation is charged",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        const one = super.reservation(reserved);
        return { ...one, settle: (actual) => one.settle({ ...NOTHING, ...actual }) };
      }
    },
  },
  {
    says: "charges nothing for what a settlement leaves out",
    caughtBy: "a field that a settlement leaves out is charged as it was reserved",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        const one = super.reservation(reserved);
        const settle: Reservation["settle"] = (actual) =>
          one.settle(actual.estimated === true ? actual : { ...NOTHING, ...actual });
        return { ...one, settle };
      }
    },
  },
  {
    says: "charges no more than was reserved",
    caughtBy: "more than was reserved is charged in full",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        const one = super.reservation(reserved);
        const most = (actual: Actual): Actual => ({
          ...actual,
          tokens: Math.min(actual.tokens ?? 0, reserved.tokens),
          cost: Math.min(actual.cost ?? 0, reserved.cost / 1e6),
        });
        return { ...one, settle: (actual) => one.settle(most(actual)) };
      }
    },
  },
  {
    says: "closes a reservation before it finds that the settlement makes no sense",
    caughtBy: "a settlement that makes no sense",
    Broken: class extends HonestLedger {
      protected override reservation(reserved: Amounts): Reservation {
        const one = super.reservation(reserved);
        return {
          ...one,
          settle: (actual) => {
            if (!((actual.tokens ?? 0) >= 0)) void one.cancel();
            return one.settle(actual);
          },
        };
      }
    },
  },
  {
    says: "admits a call without a price as if it were free",
    caughtBy: "a model call without a price",
    Broken: class extends HonestLedger {
      protected override check(estimate: Partial<Spend>) {
        super.check({ cost: 0, ...estimate });
      }
    },
  },
  {
    says: "sees only its own limit in dollars when a price is missing",
    caughtBy: "a model call without a price",
    Broken: class extends HonestLedger {
      protected override check(estimate: Partial<Spend>) {
        super.check(this.account.limits.cost === null ? { cost: 0, ...estimate } : estimate);
      }
    },
  },
  {
    says: "accepts negative amounts, which make room",
    caughtBy: "an amount that is negative",
    Broken: class extends HonestLedger {
      protected override unit(name: keyof Spend, amount: number) {
        return Number.isNaN(amount) || amount >= 0 ? super.unit(name, amount) : amount;
      }
    },
  },
  {
    says: "adds up dollars as fractions",
    caughtBy: "a hundred calls of a cent",
    Broken: class extends HonestLedger {
      constructor(setup: LedgerSetup, account?: Account, parent?: Account) {
        super(setup, account, parent);
        this.account.limits.cost = setup.budget.maxCostUsd ?? null;
      }
      protected override unit(_name: keyof Spend, amount: number) {
        return amount;
      }
      protected override shown(_name: keyof Spend, units: number) {
        return units;
      }
    },
  },
  {
    says: "keeps a child's spending from the ledgers above",
    caughtBy: "what is spent below is spent in every ledger above",
    Broken: class extends HonestLedger {
      protected override get chain() {
        return [this.account];
      }
    },
  },
  {
    says: "sees only a child's own limits",
    caughtBy: "must fit in each ledger of its chain",
    Broken: class extends HonestLedger {
      protected override checkOne(at: Account, name: keyof Spend, wanted: number) {
        if (at === this.account) super.checkOne(at, name, wanted);
      }
    },
  },
  {
    says: "sets the whole budget of a child aside when it is made",
    caughtBy: "making one takes nothing",
    Broken: class extends HonestLedger {
      override child(budget: ExecutionBudgetOptions, scope: string): Ledger {
        this.hold(this.units({ tokens: budget.maxTokens ?? 0 }));
        return super.child(budget, scope);
      }
    },
  },
  {
    says: "finds its children by name",
    caughtBy: "two children of one name",
    Broken: class extends HonestLedger {
      private readonly children = new Map<string, Ledger>();
      override child(budget: ExecutionBudgetOptions, scope: string): Ledger {
        const child = this.children.get(scope) ?? super.child(budget, scope);
        this.children.set(scope, child);
        return child;
      }
    },
  },
  {
    says: "names itself when a ledger above refuses",
    caughtBy: "the refusal names the one that has no room",
    Broken: class extends HonestLedger {
      protected override checkOne(at: Account, name: keyof Spend, wanted: number) {
        super.checkOne({ ...at, scope: this.account.scope }, name, wanted);
      }
    },
  },
  {
    says: "refuses to count what does not fit",
    caughtBy: "a charge is never refused",
    Broken: class extends HonestLedger {
      override charge(spent: Actual) {
        this.check({ cost: 0, ...spent });
        return super.charge(spent);
      }
    },
  },
  {
    says: "warns at each settlement",
    caughtBy: "it was warned of once",
    Broken: class extends HonestLedger {
      protected override spend(units: Amounts): Settlement {
        for (const { warned } of this.chain) warned.length = 0;
        return super.spend(units);
      }
    },
  },
  {
    says: "never warns",
    caughtBy: "it was warned of once",
    Broken: class extends HonestLedger {
      protected override spend(units: Amounts): Settlement {
        return { ...super.spend(units), warnings: [] };
      }
    },
  },
  {
    says: "raises its own limits alone",
    caughtBy: "a raise adds to this ledger's limits and to those above",
    Broken: class extends HonestLedger {
      override raise(more: Partial<Spend>) {
        new HonestLedger({ budget: {}, scope: "" }, { ...this.account, parent: undefined }).raise(more);
      }
    },
  },
  {
    says: "gives a limit to a dimension that had none",
    caughtBy: "a raise adds to this ledger's limits",
    Broken: class extends HonestLedger {
      override raise(more: Partial<Spend>) {
        for (const { limits } of this.chain) for (const name of NAMES) if (more[name]) limits[name] ??= 0;
        super.raise(more);
      }
    },
  },
  {
    says: "sees only its own limits when asked how far they are exceeded",
    caughtBy: "an overrun is how far a limit of the chain is exceeded",
    Broken: class extends HonestLedger {
      override overrun() {
        return new HonestLedger({ budget: {}, scope: "" }, { ...this.account, parent: undefined }).overrun();
      }
    },
  },
  {
    says: "says by how much a limit is not yet exceeded",
    caughtBy: "an overrun is how far a limit of the chain is exceeded",
    Broken: class extends HonestLedger {
      override overrun() {
        const { used, limits } = this.account;
        return { ...super.overrun(), tokens: used.tokens - (limits.tokens ?? Infinity) };
      }
    },
  },
  {
    says: "adds up how far the limits of its chain are exceeded",
    caughtBy: "an overrun is how far a limit of the chain is exceeded",
    Broken: class extends HonestLedger {
      override overrun() {
        const over = this.chain.map(({ used, limits }) =>
          Math.max(0, used.tokens - (limits.tokens ?? Infinity)),
        );
        return { ...super.overrun(), tokens: over.reduce((sum, each) => sum + each, 0) };
      }
    },
  },
  {
    says: "takes whatever it shares a ledger with for one above it",
    caughtBy: "is below those that it spends from",
    Broken: class extends HonestLedger {
      override isBelow(other: Ledger): boolean {
        const top = this.chain.at(-1);
        return (
          other !== this &&
          other instanceof HonestLedger &&
          (top === other.account || top === other.account.parent)
        );
      }
    },
  },
  {
    says: "knows only the ledger right above it",
    caughtBy: "is below those that it spends from",
    Broken: class extends HonestLedger {
      override isBelow(other: Ledger): boolean {
        return other instanceof HonestLedger && this.account.parent === other.account;
      }
    },
  },
  {
    says: "takes itself for one above it",
    caughtBy: "is below those that it spends from",
    Broken: class extends HonestLedger {
      override isBelow(other: Ledger): boolean {
        return other === this || super.isBelow(other);
      }
    },
  },
  {
    says: "hands out its living state as a snapshot",
    caughtBy: "a snapshot is plain JSON",
    Broken: class extends HonestLedger {
      override snapshot() {
        const { scope, limits, used, held } = this.account;
        return { scope, limits, used, held };
      }
    },
  },
  {
    says: "does not write down what is reserved",
    caughtBy: "a reservation that was open in the snapshot",
    Broken: class extends HonestLedger {
      override snapshot() {
        return { ...super.snapshot(), held: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 } };
      }
    },
  },
  {
    says: "keeps in each process what that has reserved",
    caughtBy: "through several handles",
    Broken: class extends HonestLedger {
      constructor(setup: LedgerSetup, account?: Account, parent?: Account) {
        super(setup, account && { ...account, held: { ...account.held } }, parent);
      }
    },
  },
];
