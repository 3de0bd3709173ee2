import type { HireLeaf, HireOutcome, ToolLeaf, ToolOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { MaybePromise } from "../core/types.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "../model/llm.ts";

type TurnLeaves = readonly (ToolLeaf | HireLeaf)[];
type TurnOutcomes = readonly (ToolOutcome | HireOutcome)[];

// A loop does nothing else while it waits for its context, so our own contexts can save it promises: each costs a twentieth of a
// turn. The fast path is attached to the context's methods and not to the context: if a user replaces a method, or wraps the
// context in a proxy, his own method is called.

/** A context's `batch` that returns a promise only if a part of it does. It may throw synchronously. */
export type AtOnce<C> = (ctx: C, leaves: TurnLeaves) => MaybePromise<TurnOutcomes>;

/** A context's `llm`, split so that the caller can await the call's own promise. */
export interface Direct<C> {
  /** Sends a request. Undefined if this context has more to do for it; then call `llm`. It may throw synchronously. */
  ask(ctx: C, model: LLMClient, request: ModelRequest): Promise<ModelResponse> | undefined;
  /** Must be called as soon as the promise has resolved. Throws if the response is not a valid answer. */
  answered(ctx: C, model: LLMClient, response: ModelResponse): ModelResponse;
  /** Must be called as soon as the promise has rejected. Returns the error. */
  failed(ctx: C, error: unknown): unknown;
}

/** Registers the fast path for a context class's `batch`. */
export function makeAtOnce<C extends Pick<RunContext, "batch">>(prototype: C, atOnce: AtOnce<C>): void {
  setFastPath(prototype.batch, atOnce);
}

/** Registers the fast path for a context class's `llm`. */
export function makeDirect<C extends Pick<RunContext, "llm">>(prototype: C, direct: Direct<C>): void {
  setFastPath(prototype.llm, direct);
}

/** Undefined if the context's method has no fast path. */
export function atOnceOf<C extends Pick<RunContext, "batch">>(ctx: C): AtOnce<C> | undefined {
  return fastPathOf(ctx.batch) as AtOnce<C> | undefined;
}

/** Undefined if the context's method has no fast path. */
export function directOf<C extends Pick<RunContext, "llm">>(ctx: C): Direct<C> | undefined {
  return fastPathOf(ctx.llm) as Direct<C> | undefined;
}

/** Registered by name, so that two copies of the kernel share it. */
const FAST_PATH: unique symbol = Symbol.for("ravi.loop.fastPath");

interface FastPath {
  /**
   * The method that it was registered for. A proxy or a spy that copies all fields is another function, and must not take the
   * fast path.
   */
  readonly method: unknown;
  readonly implementation: unknown;
}

function setFastPath(method: object, implementation: unknown): void {
  const fastPath: FastPath = { method, implementation };
  Object.defineProperty(method, FAST_PATH, { value: fastPath });
}

function fastPathOf(method: object): unknown {
  const fastPath = (method as { readonly [FAST_PATH]?: FastPath })[FAST_PATH];
  return fastPath?.method === method ? fastPath.implementation : undefined;
}
