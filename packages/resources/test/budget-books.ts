/** In whole numbers, money in billionths: tokens, cost, turns, tool calls. */
export type Units = readonly [number, number, number, number];
export const NAMES = ["tokens", "cost", "turns", "toolCalls"] as const;
export const AXES = [0, 1, 2, 3] as const;
type Axis = (typeof AXES)[number];

export interface Node {
  /** An earlier node; -1 for the root. */
  readonly parent: number;
  /** A limit for each of the four; null for none. */
  readonly caps: readonly (number | null)[];
}

export interface Booking {
  readonly node: number;
  readonly wanted: Units;
  isOpen: boolean;
}

/**
 * The books of a whole tree, kept the slow way: a list of all that happened, and every sum made anew from it. They know
 * nothing of how a ledger works, only what must come out.
 */
export class Books<B extends Booking> {
  readonly bookings: B[] = [];
  readonly chains: readonly (readonly number[])[];
  private readonly tree: readonly Node[];
  private readonly holdsBack: boolean;
  private readonly spent: { readonly node: number; readonly units: Units; readonly excess: Units }[] = [];

  constructor(tree: readonly Node[], holdsBack: boolean) {
    this.tree = tree;
    this.holdsBack = holdsBack;
    const chains: number[][] = [];
    for (const [index, { parent }] of tree.entries()) chains.push([index, ...(chains[parent] ?? [])]);
    this.chains = chains;
  }

  record(node: number, units: Units, reserved: Units): void {
    const over = (axis: Axis): number => Math.max(0, units[axis] - reserved[axis]);
    this.spent.push({ node, units, excess: [over(0), over(1), over(2), over(3)] });
  }

  cap(node: number, axis: Axis): number | null {
    return this.tree[node]?.caps[axis] ?? null;
  }

  /** What this node and all below it have spent. */
  spend(node: number, axis: Axis): number {
    let sum = 0;
    for (const one of this.spent) if (this.isUnder(one.node, node)) sum += one.units[axis];
    return sum;
  }

  /** How much of it nobody had reserved. */
  excess(node: number, axis: Axis): number {
    let sum = 0;
    for (const one of this.spent) if (this.isUnder(one.node, node)) sum += one.excess[axis];
    return sum;
  }

  open(node: number): B[] {
    return this.bookings.filter((one) => one.isOpen && this.isUnder(one.node, node));
  }

  /** The first limit without room for it, as `scope:dimension`. */
  refusal(node: number, wanted: Units, wrapUp: boolean): string | undefined {
    for (const at of this.chains[node] ?? []) {
      const open = this.open(at);
      for (const axis of AXES) {
        const cap = this.cap(at, axis);
        if (cap === null) continue;
        const held = open.reduce((sum, one) => sum + one.wanted[axis], 0);
        const back = wanted[axis] === 0 || (wrapUp && at === node) ? 0 : this.heldBack(at, axis, cap);
        if (this.spend(at, axis) + held + wanted[axis] + back > cap) {
          return `${at === 0 ? "budget" : at}:${NAMES[axis]}`;
        }
      }
    }
    return undefined;
  }

  private heldBack(node: number, axis: Axis, cap: number): number {
    if (!this.holdsBack || axis === 3) return 0;
    if (axis === 2) return cap >= 2 ? 1 : 0;
    const own = this.spent
      .filter((one) => one.node === node && one.units[2] > 0)
      .map((one) => one.units[axis]);
    return Math.min(Math.ceil(Math.max(0, ...own) * 1.25), Math.floor(cap / 2));
  }

  private isUnder(node: number, above: number): boolean {
    return this.chains[node]?.includes(above) ?? false;
  }
}
