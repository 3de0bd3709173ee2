import type { HireLeaf, HireOutcome, ToolLeaf, ToolOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { MaybePromise } from "../core/types.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "../model/llm.ts";

type TurnLeaves = readonly (ToolLeaf | HireLeaf)[];
type TurnOutcomes = readonly (ToolOutcome | HireOutcome)[];

// A loop does nothing else while it waits for its context, so a context of ours can spare it promises: each costs a turn a twentieth.
// How it does is said of its methods, and not of itself: whoever puts a method of his own in the place of one, or hands out another
// through a proxy, is asked himself.

/** A `batch` of a context that makes no promise where nothing of it does. It may throw at once. */
export type AtOnce<C> = (ctx: C, leaves: TurnLeaves) => MaybePromise<TurnOutcomes>;

/** An `llm` of a context whose caller waits for the provider's own promise. */
export interface Direct<C> {
  /** Sends a request; undefined where this context has to do more about it, and `llm` is to be called. It may throw at once. */
  ask(ctx: C, model: LLMClient, request: ModelRequest): Promise<ModelResponse> | undefined;
  /** To be told as soon as that promise has settled, either way. */
  over(ctx: C): void;
  /** To be given what came of it, then. Throws where that is no answer. */
  accept(ctx: C, model: LLMClient, response: ModelResponse): ModelResponse;
}

/** Says how contexts of a kind batch at once. */
export function makeAtOnce<C extends Pick<RunContext, "batch">>(prototype: C, atOnce: AtOnce<C>): void {
  say(prototype.batch, atOnce);
}

/** Says how contexts of a kind are asked for an answer directly. */
export function makeDirect<C extends Pick<RunContext, "llm">>(prototype: C, direct: Direct<C>): void {
  say(prototype.llm, direct);
}

/** Undefined where nobody has said how. */
export function atOnceOf<C extends Pick<RunContext, "batch">>(ctx: C): AtOnce<C> | undefined {
  return saidOf(ctx.batch) as AtOnce<C> | undefined;
}

/** Undefined where nobody has said how. */
export function directOf<C extends Pick<RunContext, "llm">>(ctx: C): Direct<C> | undefined {
  return saidOf(ctx.llm) as Direct<C> | undefined;
}

/** Under its name, so that two copies of the kernel agree on it. */
const SAID: unique symbol = Symbol.for("ravi.loop.said");

interface Said {
  /** Of which it was said: a proxy of it, or a spy with all its fields, is another. */
  readonly method: unknown;
  readonly how: unknown;
}

function say(method: object, how: unknown): void {
  const said: Said = { method, how };
  Object.defineProperty(method, SAID, { value: said });
}

function saidOf(method: object): unknown {
  const said = (method as { readonly [SAID]?: Said })[SAID];
  return said?.method === method ? said.how : undefined;
}
