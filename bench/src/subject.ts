import type { Plan } from "./fake.ts";

/** One run, from the input "go" to its final text. May be called many times at once. */
export type Run = () => Promise<string>;

/** What a file in `subjects`, or a peer's adapter, exports. A subject leaves out the scenarios that it does not support. */
export interface Subject {
  /** Creates an agent with the tool `inc`, or without tools. */
  readonly subject: (plan: Plan, options?: { readonly withTool?: boolean | undefined }) => Run;
  /** Creates an agent that hands work to `size` others in one turn. Each of these calls the tool `turns` times. */
  readonly team?: ((size: number, turns: number) => Run) | undefined;
  /** Streams an answer of `deltas` characters, one at a time, and returns how many a `for await` loop received. */
  readonly stream?: ((deltas: number) => () => Promise<number>) | undefined;
  /** The same, with a callback for each delta. */
  readonly streamByCallback?: ((deltas: number) => () => Promise<number>) | undefined;
  /** The modules that its users import, to measure how long that takes. */
  readonly entry?: readonly string[] | undefined;
  readonly close?: (() => Promise<void> | void) | undefined;
}
