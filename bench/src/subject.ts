import type { Plan } from "./fake.ts";

/** One run from "go" to its final text. It may be called many times at once. */
export type Run = () => Promise<string>;

/** What a file in `subjects`, or a peer's adapter, exports. A scenario that a subject cannot do is left out. */
export interface Subject {
  /** An agent with the tool `inc`, or with none. */
  readonly subject: (plan: Plan, options?: { readonly withTool?: boolean | undefined }) => Run;
  /** An agent that hands work to `size` others in one turn, each of which calls the tool `turns` times. */
  readonly team?: ((size: number, turns: number) => Run) | undefined;
  /** Streams an answer of `deltas` characters, one by one, and gives how many were seen in a `for await`. */
  readonly stream?: ((deltas: number) => () => Promise<number>) | undefined;
  /** The same with a function that is called for each. */
  readonly streamByCallback?: ((deltas: number) => () => Promise<number>) | undefined;
  /** What importing it means, for the time that takes. */
  readonly entry?: readonly string[] | undefined;
  readonly close?: (() => Promise<void> | void) | undefined;
}
