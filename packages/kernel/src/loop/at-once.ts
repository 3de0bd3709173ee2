import type { HireLeaf, HireOutcome, ToolLeaf, ToolOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { MaybePromise } from "../core/types.ts";

type TurnLeaves = readonly (ToolLeaf | HireLeaf)[];
type TurnOutcomes = readonly (ToolOutcome | HireOutcome)[];

/** A `batch` of a context that makes no promise where nothing of it does. It may throw at once. */
export type AtOnce<C> = (ctx: C, leaves: TurnLeaves) => MaybePromise<TurnOutcomes>;

type Batching = Pick<RunContext, "batch">;

/** Under its name, so that two copies of the kernel agree on it. */
const AT_ONCE: unique symbol = Symbol.for("ravi.batch.atOnce");

interface Said<C> {
  /** Of which it was said: a proxy of it, or a spy with all its fields, is another. */
  readonly batch: unknown;
  readonly atOnce: AtOnce<C>;
}

/**
 * Says how contexts of a kind batch at once; a turn of tools that answer at once takes a tenth less for it. It is said of their method
 * `batch`, and not of them: whoever puts one of his own in its place, or hands out another through a proxy, is asked himself.
 */
export function makeAtOnce<C extends Batching>(prototype: C, atOnce: AtOnce<C>): void {
  const { batch } = prototype;
  const said: Said<C> = { batch, atOnce };
  Object.defineProperty(batch, AT_ONCE, { value: said });
}

/** Undefined where nobody has said how. */
export function atOnceOf<C extends Batching>(ctx: C): AtOnce<C> | undefined {
  const { batch } = ctx;
  // It is the method of such a context that says so.
  const said = (batch as { readonly [AT_ONCE]?: Said<C> })[AT_ONCE];
  return said?.batch === batch ? said.atOnce : undefined;
}
