import {
  type Actual,
  BudgetExhaustedError,
  type BudgetWarning,
  type ExecutionBudgetOptions,
  InvalidValueError,
  type JsonObject,
  type Ledger,
  type MaybePromise,
  type Remaining,
  type Reservation,
  type Settlement,
  type Spend,
} from "@ravi/kernel";
import type { LedgerSetup } from "../../src/suites/index.ts";

export const NAMES = ["tokens", "cost", "turns", "toolCalls"] as const;
export type Amounts = Record<keyof Spend, number>;

/** What all handles on one ledger share. Money is in millionths of a dollar. */
export interface Account {
  readonly scope: string;
  readonly parent: Account | undefined;
  readonly limits: Record<keyof Spend, number | null>;
  readonly used: Amounts;
  readonly held: Amounts;
  readonly warned: (keyof Spend)[];
}

/** A ledger that does what the contract says and nothing more. Broken ones are this one with one thing wrong. */
export class HonestLedger implements Ledger {
  readonly account: Account;

  constructor({ budget, scope }: LedgerSetup, account?: Account, parent?: Account) {
    this.account = account ?? newAccount(budget, scope, parent);
  }

  reserve(estimate: Partial<Spend>): MaybePromise<Reservation> {
    this.check(estimate);
    this.hold(this.units(estimate));
    return this.reservation(this.units(estimate));
  }

  charge(spent: Actual): MaybePromise<Settlement> {
    return this.spend(this.units(spent));
  }

  raise(more: Partial<Spend>): void {
    const units = this.units(more);
    for (const { limits, warned } of this.chain) {
      for (const name of NAMES) {
        const limit = limits[name];
        if (limit === null || units[name] === 0) continue;
        limits[name] = limit + units[name];
        warned.splice(0, Infinity, ...warned.filter((other) => other !== name));
      }
    }
  }

  child(budget: ExecutionBudgetOptions, scope: string): Ledger {
    const Kind = this.constructor as typeof HonestLedger;
    return new Kind({ budget, scope }, undefined, this.account);
  }

  remaining(): Remaining {
    const left = (name: keyof Spend): number | null => {
      const all = this.chain.flatMap(({ limits, used, held }) => {
        const limit = limits[name];
        return limit === null ? [] : [Math.max(0, limit - used[name] - held[name])];
      });
      return all.length === 0 ? null : this.shown(name, Math.min(...all));
    };
    return { tokens: left("tokens"), cost: left("cost"), turns: left("turns"), toolCalls: left("toolCalls") };
  }

  overrun(): Spend {
    const most = (name: keyof Spend): number => {
      const all = this.chain.map(({ limits, used }) => used[name] - (limits[name] ?? Infinity));
      return this.shown(name, Math.max(0, ...all));
    };
    return { tokens: most("tokens"), cost: most("cost"), turns: most("turns"), toolCalls: most("toolCalls") };
  }

  isBelow(other: Ledger): boolean {
    return other instanceof HonestLedger && this.chain.slice(1).includes(other.account);
  }

  get used(): Spend {
    const { used } = this.account;
    return { ...used, cost: this.shown("cost", used.cost) };
  }

  snapshot(): JsonObject {
    const { scope, limits, used, held } = this.account;
    return { scope, limits: { ...limits }, used: { ...used }, held: { ...held } };
  }

  protected get chain(): Account[] {
    const all: Account[] = [];
    for (let at: Account | undefined = this.account; at !== undefined; at = at.parent) all.push(at);
    return all;
  }

  /** Throws if the amounts make no sense, have no price or do not fit. */
  protected check(estimate: Partial<Spend>): void {
    const wanted = this.units(estimate);
    const isCall = (estimate.tokens ?? 0) > 0 || (estimate.turns ?? 0) > 0;
    if (isCall && estimate.cost === undefined && this.chain.some(({ limits }) => limits.cost !== null))
      throw new InvalidValueError({ field: "cost", value: undefined, expected: "a price" });
    for (const at of this.chain) for (const name of NAMES) this.checkOne(at, name, wanted[name]);
  }

  protected checkOne({ limits, used, held, scope }: Account, name: keyof Spend, wanted: number): void {
    const limit = limits[name];
    const taken = used[name] + held[name];
    if (limit === null || wanted === 0 || this.fits(taken, wanted, limit)) return;
    const [shownUsed, shownLimit] = [this.shown(name, taken), this.shown(name, limit)];
    throw new BudgetExhaustedError({ dimension: name, used: shownUsed, limit: shownLimit, scope });
  }

  protected fits(taken: number, wanted: number, limit: number): boolean {
    return taken + wanted <= limit;
  }

  protected hold(units: Amounts): void {
    for (const { held } of this.chain) for (const name of NAMES) held[name] += units[name];
  }

  protected giveBack(units: Amounts): void {
    for (const { held } of this.chain) for (const name of NAMES) held[name] -= units[name];
  }

  protected reservation(reserved: Amounts): Reservation {
    let isOpen = true;
    return {
      settle: (actual) => {
        if (!isOpen) throw new InvalidValueError({ field: "reservation", value: "closed", expected: "open" });
        const spent = this.units(actual);
        for (const name of NAMES) if (actual[name] === undefined) spent[name] = reserved[name];
        isOpen = false;
        this.giveBack(reserved);
        return this.spend(spent);
      },
      cancel: () => {
        if (isOpen) this.giveBack(reserved);
        isOpen = false;
      },
    };
  }

  protected spend(units: Amounts): Settlement {
    const warnings: BudgetWarning[] = [];
    const exceeded: BudgetWarning[] = [];
    for (const { limits, used, warned, scope } of this.chain) {
      for (const name of NAMES) {
        used[name] += units[name];
        const limit = limits[name];
        if (limit === null || units[name] === 0) continue;
        const report = {
          dimension: name,
          used: this.shown(name, used[name]),
          limit: this.shown(name, limit),
          scope,
        };
        if (used[name] > limit) exceeded.push(report);
        if (used[name] < 0.8 * limit || warned.includes(name)) continue;
        warned.push(name);
        warnings.push(report);
      }
    }
    return { warnings, exceeded };
  }

  protected units(amounts: Partial<Spend>): Amounts {
    const units = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
    for (const name of NAMES) units[name] = this.unit(name, amounts[name] ?? 0);
    return units;
  }

  protected unit(name: keyof Spend, amount: number): number {
    if (!(amount >= 0)) throw new InvalidValueError({ field: name, value: amount, expected: "an amount" });
    return name === "cost" ? Math.round(amount * 1e6) : amount;
  }

  protected shown(name: keyof Spend, units: number): number {
    return name === "cost" ? units / 1e6 : units;
  }
}

function newAccount(budget: ExecutionBudgetOptions, scope: string, parent: Account | undefined): Account {
  const { maxTokens = null, maxCostUsd = null, maxTurns = null, maxToolCalls = null } = budget;
  const cost = maxCostUsd === null ? null : Math.round(maxCostUsd * 1e6);
  const none = (): Amounts => ({ tokens: 0, cost: 0, turns: 0, toolCalls: 0 });
  const limits = { tokens: maxTokens, cost, turns: maxTurns, toolCalls: maxToolCalls };
  return { scope, parent, limits, used: none(), held: none(), warned: [] };
}
