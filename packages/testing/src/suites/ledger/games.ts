import type { Ledger, Spend } from "@ravi/kernel";
import { attempt, games, must } from "../case.ts";
import fc from "fast-check";
import { Books, budgetOf, type Node, type Open } from "./books.ts";
import { admits, DIMENSIONS, expectLeft, expectUsed, type LedgerCase, type LedgerStage } from "./stage.ts";

interface Reserve {
  readonly do: "reserve";
  readonly at: number;
  readonly wanted: Spend;
}
type Close =
  | { readonly do: "settle"; readonly pick: number; readonly part: number }
  | { readonly do: "cancel"; readonly pick: number }
  | { readonly do: "estimate"; readonly pick: number }
  | { readonly do: "again"; readonly pick: number };
type Step =
  | Reserve
  | Close
  | { readonly do: "charge"; readonly at: number; readonly wanted: Spend }
  | { readonly do: "raise"; readonly at: number; readonly wanted: Spend }
  | { readonly do: "child"; readonly at: number; readonly limits: Node["limits"] };

const limit = (most: number, unit = 1): fc.Arbitrary<number | null> =>
  fc.option(
    fc.nat(most).map((n) => n * unit),
    { freq: 2 },
  );
const limits: fc.Arbitrary<Node["limits"]> = fc.record({
  tokens: limit(100),
  cost: limit(100, 0.01),
  turns: limit(8),
  toolCalls: limit(8),
});
const at = fc.nat(20);
const pick = fc.nat(20);
const wanted: fc.Arbitrary<Spend> = fc.record({
  tokens: fc.integer({ min: 1, max: 40 }),
  cost: fc.nat(40).map((n) => n * 0.01),
  turns: fc.constantFrom(0, 1, 1, 2),
  toolCalls: fc.constantFrom(0, 0, 1),
});
const reserve: fc.Arbitrary<Reserve> = fc.record({ do: fc.constant("reserve"), at, wanted });
const cancel: fc.Arbitrary<Close> = fc.record({ do: fc.constant("cancel"), pick });
const estimate: fc.Arbitrary<Close> = fc.record({ do: fc.constant("estimate"), pick });
const again: fc.Arbitrary<Close> = fc.record({ do: fc.constant("again"), pick });
const settle: fc.Arbitrary<Close> = fc.record({
  do: fc.constant("settle"),
  pick,
  part: fc.constantFrom(0, 0.5, 1, 2),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: reserve },
  { weight: 3, arbitrary: settle },
  { weight: 3, arbitrary: fc.oneof(cancel, estimate, again) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("charge"), at, wanted }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("raise"), at, wanted }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("child"), at, limits }) },
);

/** A tree of ledgers with its books. */
class Game {
  readonly books = new Books();
  readonly ledgers: Ledger[] = [];
  private readonly closed: Open[] = [];

  constructor(root: Ledger, rootLimits: Node["limits"]) {
    this.ledgers.push(root);
    this.books.add(null, rootLimits);
  }

  async play(one: Step): Promise<void> {
    const { books, ledgers } = this;
    const node = "at" in one ? one.at % ledgers.length : 0;
    const ledger = ledgers[node] as Ledger;
    if (one.do === "child") {
      ledgers.push(ledger.child(budgetOf(one.limits), `ledger ${ledgers.length}`));
      books.add(node, one.limits);
    } else if (one.do === "charge") {
      await ledger.charge(one.wanted);
      books.spent.push({ node, amounts: one.wanted });
    } else if (one.do === "raise") {
      if (ledger.raise === undefined) return;
      await ledger.raise(one.wanted);
      books.raise(node, one.wanted);
    } else if (one.do === "reserve") {
      const expected = books.verdict(node, one.wanted);
      const isIn = await this.reserve(node, one.wanted);
      must(
        isIn === (expected ?? isIn),
        `a reservation on ledger ${node} is ${isIn ? "refused" : "admitted"}`,
      );
    } else {
      await this.close(one);
    }
  }

  /** Reserves, and keeps what is granted. */
  async reserve(node: number, amounts: Spend, through = this.ledgers[node] as Ledger): Promise<boolean> {
    return admits(async () => {
      const handle = await through.reserve(amounts);
      this.books.open.push({ node, amounts, handle });
    });
  }

  async close(one: Close): Promise<void> {
    const { books, closed } = this;
    if (one.do === "again") {
      const old = closed[one.pick % Math.max(1, closed.length)];
      await attempt(async () => old?.handle.cancel()).catch(() => undefined);
      await attempt(async () => old?.handle.settle({ tokens: 1 })).catch(() => undefined);
      return;
    }
    const open = books.open[one.pick % Math.max(1, books.open.length)];
    if (open === undefined) return;
    books.open = books.open.filter((other) => other !== open);
    closed.push(open);
    const { node, amounts, handle } = open;
    if (one.do === "cancel") {
      await handle.cancel();
    } else if (one.do === "estimate") {
      await handle.settle({ estimated: true });
      books.spent.push({ node, amounts });
    } else {
      const actual = { ...amounts, tokens: Math.floor(amounts.tokens * one.part) };
      await handle.settle(actual);
      books.spent.push({ node, amounts: actual });
    }
  }

  /** Compares each ledger with the books. */
  verify(): void {
    const { books, ledgers } = this;
    for (const [node, ledger] of ledgers.entries()) {
      const why = `ledger ${node}`;
      const used = DIMENSIONS.map(({ dimension }) => [dimension, books.used(node, dimension)]);
      expectUsed(ledger, Object.fromEntries(used) as Partial<Spend>, why);
      for (const { dimension } of DIMENSIONS)
        expectLeft(ledger, dimension, books.left(node, dimension), `${why}, ${dimension}`);
    }
  }

  /** Fails if what was granted and spent is more than a limit. Nothing may have been charged that was not reserved. */
  verifyCaps(): void {
    const { books } = this;
    for (const node of books.nodes.keys()) {
      for (const { dimension } of DIMENSIONS) {
        const most = books.limit(node, dimension);
        const taken = books.used(node, dimension) + books.held(node, dimension);
        must(
          taken <= (most ?? Infinity) + 1e-6,
          `ledger ${node} has at most ${most} ${dimension}, not ${taken}`,
        );
      }
    }
  }
}

const burst: fc.Arbitrary<readonly (Reserve | Close)[]> = fc.array(
  fc.oneof({ weight: 5, arbitrary: reserve }, { weight: 2, arbitrary: fc.oneof(cancel, estimate) }),
  { maxLength: 12 },
);

/** Plays bursts of steps that start at the same moment, and nothing is said about their order: only the limits count. */
async function playBursts(
  stage: LedgerStage,
  handles: (root: Ledger) => Promise<readonly Ledger[]>,
): Promise<void> {
  const tree = fc.array(fc.record({ at, limits }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      limits,
      tree,
      fc.array(burst, { maxLength: 4 }),
      async (rootLimits, children, bursts) => {
        const root = await stage.open(budgetOf(rootLimits));
        const roots = await handles(root);
        const game = new Game(root, rootLimits);
        for (const { at: above, limits: own } of children)
          await game.play({ do: "child", at: above, limits: own });
        for (const steps of bursts) {
          await Promise.all(
            steps.map(async (one, n) => {
              if (one.do !== "reserve") return game.close(one);
              const node = one.at % game.ledgers.length;
              await game.reserve(node, one.wanted, node === 0 ? roots[n % roots.length] : undefined);
            }),
          );
          game.verifyCaps();
        }
        // Whatever is still open is given back: then everything that was not spent is left.
        for (const { handle } of game.books.open) await handle.cancel();
        game.books.open = [];
        for (const { dimension } of DIMENSIONS) {
          const left = game.books.left(0, dimension);
          if (left === null || left === 0) continue;
          await (await root.reserve({ cost: 0, [dimension]: left })).cancel();
        }
        for (const handle of roots) await stage.close(handle);
      },
    ),
    { ...games(), examples: [[NO_CENT_LEFT, [], [reserved(0.28, 0.07), [ALL, ALL]]]] },
  );
}

// In binary fractions 35 cents are a little more than 28 and 7.
const NO_CENT_LEFT: Node["limits"] = { tokens: null, cost: 35 * 0.01, turns: null, toolCalls: null };
const ALL: Close = { do: "estimate", pick: 0 };
const reserved = (...costs: readonly number[]): readonly Reserve[] =>
  costs.map((cost) => ({ do: "reserve", at: 0, wanted: { tokens: 1, cost, turns: 0, toolCalls: 0 } }));

export const gameCases: readonly LedgerCase[] = [
  {
    rule: "T2",
    says: "any sequence of reservations, settlements, cancellations, charges and raises in any tree does what its books say",
    async run({ open, close }) {
      await fc.assert(
        fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (rootLimits, steps) => {
          const root = await open(budgetOf(rootLimits));
          const game = new Game(root, rootLimits);
          for (const one of steps) {
            await game.play(one);
            game.verify();
          }
          await close(root);
        }),
        games(),
      );
    },
  },
  {
    rule: "T2",
    says: "whatever is reserved, settled and cancelled at the same moment, no limit is passed and nothing is lost",
    run: (stage) => playBursts(stage, async (root) => [root]),
  },
  {
    rule: "T2",
    says: "nor is one passed, nor anything lost, through several handles",
    needs: "second",
    run: (stage) => playBursts(stage, async (root) => [root, await stage.second(root)]),
  },
];
