import type { ExecutionBudgetOptions, Reservation, Spend } from "@ravi/kernel";
import { DIMENSIONS, rounded } from "./stage.ts";

/** A ledger of the tree in its simplest form: its place and its limits. */
export interface Node {
  readonly parent: number | null;
  readonly limits: Record<keyof Spend, number | null>;
}

interface Booking {
  readonly node: number;
  readonly amounts: Spend;
}

export interface Open extends Booking {
  readonly handle: Reservation;
}

/** What was spent and reserved, as one list. Every question is answered by adding it all up. */
export class Books {
  readonly nodes: Node[] = [];
  readonly spent: Booking[] = [];
  open: Open[] = [];

  add(parent: number | null, limits: Node["limits"]): number {
    return this.nodes.push({ parent, limits: { ...limits } }) - 1;
  }

  chain(node: number): number[] {
    const above = this.nodes[node]?.parent ?? null;
    return above === null ? [node] : [node, ...this.chain(above)];
  }

  used(node: number, dimension: keyof Spend): number {
    return sum(
      this.spent.filter((one) => this.chain(one.node).includes(node)),
      dimension,
    );
  }

  held(node: number, dimension: keyof Spend): number {
    return sum(
      this.open.filter((one) => this.chain(one.node).includes(node)),
      dimension,
    );
  }

  limit(node: number, dimension: keyof Spend): number | null {
    return this.nodes[node]?.limits[dimension] ?? null;
  }

  /** The least that is left in the chain; null without a limit. Never negative, and without the errors of binary fractions. */
  left(node: number, dimension: keyof Spend): number | null {
    const all = this.chain(node).flatMap((at) => {
      const limit = this.limit(at, dimension);
      return limit === null ? [] : [limit - this.used(at, dimension) - this.held(at, dimension)];
    });
    return all.length === 0 ? null : Math.max(0, rounded(Math.min(...all)));
  }

  /**
   * Whether a reservation must be admitted. Undefined if a limit is exceeded of which it wants nothing: a ledger may then refuse
   * everything or only what makes it worse.
   */
  verdict(node: number, wanted: Spend): boolean | undefined {
    let isOver = false;
    for (const at of this.chain(node)) {
      for (const { dimension } of DIMENSIONS) {
        const limit = this.limit(at, dimension);
        if (limit === null) continue;
        const taken = this.used(at, dimension) + this.held(at, dimension);
        if (taken + wanted[dimension] <= limit + TINY) continue;
        if (wanted[dimension] > 0) return false;
        isOver = true;
      }
    }
    return isOver ? undefined : true;
  }

  raise(node: number, more: Partial<Spend>): void {
    for (const at of this.chain(node)) {
      const limits = this.nodes[at]?.limits;
      if (limits === undefined) continue;
      for (const { dimension } of DIMENSIONS) {
        const limit = limits[dimension];
        if (limit !== null) limits[dimension] = limit + (more[dimension] ?? 0);
      }
    }
  }
}

/** All sums are of cents, so this is less than any real difference. */
const TINY = 1e-6;

function sum(all: readonly Booking[], dimension: keyof Spend): number {
  const total = all.reduce((so, { amounts }) => so + amounts[dimension], 0);
  return dimension === "cost" ? Math.round(total * 100) / 100 : total;
}

export function budgetOf(limits: Node["limits"]): ExecutionBudgetOptions {
  return {
    maxTokens: limits.tokens,
    maxCostUsd: limits.cost,
    maxTurns: limits.turns,
    maxToolCalls: limits.toolCalls,
  };
}
