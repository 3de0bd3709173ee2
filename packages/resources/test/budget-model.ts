import fc from "fast-check";
import { type Actual, type ExecutionBudgetOptions, isRaviError, type Spend } from "@ravi/kernel";
import { AXES, type Booking, Books, NAMES, type Node, type Units } from "./budget-books.ts";

/** What the model drives: the real ledger, or one with a bug planted in it. */
export interface LedgerUnderTest {
  reserve(estimate: Partial<Spend>, options: { wrapUp: boolean }): ReservationUnderTest;
  child(budget: ExecutionBudgetOptions, scope: string): LedgerUnderTest;
  consume(spend: Partial<Spend>): void;
  readonly used: Spend;
  readonly open: number;
}
export interface ReservationUnderTest {
  readonly id: number;
  settle(actual: Actual): unknown;
  cancel(): void;
}
export interface System {
  root(budget: ExecutionBudgetOptions, holdsBack: boolean): LedgerUnderTest;
  /** All ledgers, the root first, written down and read again; a reservation is found again by its ledger and id. */
  restart(ledgers: readonly LedgerUnderTest[]): {
    ledgers: LedgerUnderTest[];
    find: (node: number, id: number) => ReservationUnderTest;
  };
}

interface Handled extends Booking {
  handle: ReservationUnderTest;
}

export interface Step {
  readonly kind: "reserve" | "settle" | "lie" | "estimated" | "cancel" | "again" | "consume" | "restart";
  readonly node: number;
  readonly pick: number;
  readonly wanted: Units;
  readonly part: number;
  readonly wrapUp: boolean;
}
export interface Script {
  readonly nodes: readonly Node[];
  readonly holdsBack: boolean;
  readonly steps: readonly Step[];
}

const NANO = 1e9;
const MOST_DEPTH = 4;

/** Runs a script, and after each step compares the system with the books. Throws where they differ. */
export function play(system: System, script: Script): void {
  const tree = treeOf(script.nodes);
  const books = new Books<Handled>(tree, script.holdsBack);
  let ledgers: LedgerUnderTest[] = [];
  for (const [index, { parent, caps }] of tree.entries()) {
    const budget = budgetOf(caps);
    const above = ledgers[parent];
    ledgers.push(
      above === undefined ? system.root(budget, script.holdsBack) : above.child(budget, String(index)),
    );
  }

  for (const step of script.steps) {
    const node = step.node % tree.length;
    const pool = books.bookings.filter((one) => one.isOpen === (step.kind !== "again"));
    const booking = pool[step.pick % Math.max(1, pool.length)];
    if (step.kind === "restart") {
      const again = system.restart(ledgers);
      ledgers = again.ledgers;
      for (const one of books.open(0)) one.handle = again.find(one.node, one.handle.id);
    } else if (step.kind === "reserve" || step.kind === "consume") {
      const ledger = ledgers[node];
      if (ledger !== undefined) act(step.kind, step, node, ledger, books);
    } else if (booking !== undefined) {
      end(step.kind, step, booking, books);
    }
    for (const at of [node, booking?.node ?? node]) verify(books.chains[at] ?? [], ledgers, books, step.kind);
  }

  for (const [index, one] of books.open(0).entries())
    end(index % 2 === 0 ? "estimated" : "cancel", { part: 1 }, one, books);
  verify([...tree.keys()], ledgers, books, "the end");
  if (ledgers[0]?.open !== 0) throw new Error("a reservation was left open");
}

function act(
  kind: "reserve" | "consume",
  step: Step,
  node: number,
  ledger: LedgerUnderTest,
  books: Books<Handled>,
): void {
  if (kind === "consume") {
    const units = [step.wanted[0], step.wanted[1], 0, 0] as const;
    attempt(() => ledger.consume({ tokens: units[0], cost: units[1] / NANO }));
    books.record(node, units, [0, 0, 0, 0]);
    return;
  }
  const expected = books.refusal(node, step.wanted, step.wrapUp);
  const handle = attempt(() => ledger.reserve(asSpend(step.wanted), { wrapUp: step.wrapUp }));
  const got = typeof handle === "string" ? handle : undefined;
  if (got !== expected) {
    throw new Error(`reserve on ${node}: ${got ?? "admitted"}, expected ${expected ?? "room"}`);
  }
  if (typeof handle !== "string") books.bookings.push({ node, wanted: step.wanted, handle, isOpen: true });
}

function end(
  kind: "settle" | "lie" | "estimated" | "cancel" | "again",
  { part }: { readonly part: number },
  booking: Handled,
  books: Books<Handled>,
): void {
  const { wanted, handle, node } = booking;
  if (kind === "again") {
    handle.cancel();
    try {
      handle.settle({ tokens: 1 });
    } catch (error) {
      if (!isRaviError(error, "INVALID_VALUE")) throw error;
    }
    return;
  }
  booking.isOpen = false;
  if (kind === "cancel") {
    handle.cancel();
  } else if (kind === "estimated") {
    handle.settle({ estimated: true });
    books.record(node, wanted, wanted);
  } else {
    // A provider that keeps its maximum takes a part of it; one that lies, up to three times as much.
    const factor = kind === "lie" ? 1 + 2 * part : part;
    const actual = [
      Math.floor(wanted[0] * factor),
      Math.floor(wanted[1] * factor),
      wanted[2],
      wanted[3],
    ] as const;
    handle.settle({ tokens: actual[0], cost: actual[1] / NANO });
    books.record(node, actual, wanted);
  }
}

function verify(
  nodes: readonly number[],
  ledgers: readonly LedgerUnderTest[],
  books: Books<Handled>,
  step: string,
): void {
  for (const at of nodes) {
    const ledger = ledgers[at];
    for (const axis of AXES) {
      const name = NAMES[axis];
      const sum = books.spend(at, axis);
      const shown = axis === 1 ? sum / NANO : sum;
      if (ledger?.used[name] !== shown) {
        throw new Error(
          `after ${step}: ledger ${at} says ${ledger?.used[name]} ${name}, spent were ${shown}`,
        );
      }
      const cap = books.cap(at, axis);
      // With a provider that keeps its maximum the excess is 0, and so is the overshoot.
      if (cap !== null && sum > cap && sum - cap > books.excess(at, axis)) {
        throw new Error(`after ${step}: ledger ${at} passed its ${name} by more than the excess in flight`);
      }
    }
    const open = books.open(at).length;
    if (ledger?.open !== open)
      throw new Error(`after ${step}: ledger ${at} has ${ledger?.open} open, not ${open}`);
  }
}

/** 1 to 64 agents, at most four levels deep: who would stand deeper reports to the root. */
function treeOf(nodes: readonly Node[]): Node[] {
  const depths: number[] = [];
  return nodes.map(({ parent, caps }, index) => {
    const wanted = index === 0 ? -1 : parent % index;
    const above = (depths[wanted] ?? 0) >= MOST_DEPTH ? 0 : wanted;
    depths.push((depths[above] ?? 0) + 1);
    return { parent: above, caps };
  });
}

function budgetOf([
  tokens = null,
  nanos = null,
  turns = null,
  toolCalls = null,
]: Node["caps"]): ExecutionBudgetOptions {
  const usd = nanos === null ? null : nanos / NANO;
  return { maxTokens: tokens, maxCostUsd: usd, maxTurns: turns, maxToolCalls: toolCalls };
}

function asSpend([tokens, nanos, turns, toolCalls]: Units): Spend {
  return { tokens, cost: nanos / NANO, turns, toolCalls };
}

/** What it gives, or where it was refused. */
function attempt<T>(action: () => T): T | string {
  try {
    return action();
  } catch (error) {
    if (isRaviError(error, "BUDGET_EXHAUSTED")) return `${error.scope}:${error.dimension}`;
    throw error;
  }
}

export function scripts(kinds: readonly Step["kind"][]): fc.Arbitrary<Script> {
  const cap = (most: number): fc.Arbitrary<number | null> =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: fc.nat(most) });
  const money = fc.oneof(
    fc.nat(100).map((n) => n * 1_000_000),
    fc.nat(100_000_000),
  );
  return fc.record({
    nodes: fc.array(
      fc.record({ parent: fc.nat(63), caps: fc.tuple(cap(1000), cap(1_000_000_000), cap(12), cap(8)) }),
      { minLength: 1, maxLength: 64, size: "max" },
    ),
    holdsBack: fc.boolean(),
    steps: fc.array(
      fc.record({
        kind: fc.constantFrom(...kinds),
        node: fc.nat(63),
        pick: fc.nat(63),
        wanted: fc.tuple(fc.nat(100), money, fc.constantFrom(0, 1, 1, 1), fc.constantFrom(0, 0, 1)),
        part: fc.constantFrom(0, 0.25, 0.5, 1, 1),
        wrapUp: fc.boolean(),
      }),
      { maxLength: 60, size: "max" },
    ),
  });
}
