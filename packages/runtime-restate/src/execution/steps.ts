import { CancelledError, RestatePromise } from "@restatedev/restate-sdk";
import type { CancellationError, Settled } from "@ravi/kernel";

/** One thing that a branch waits for. A `cut` is heard while it waits: it is then ended by the execution's own stop. */
interface Step {
  readonly promise: RestatePromise<unknown>;
  readonly cut: boolean;
}

/**
 * A branch of several steps, as a generator. The engine records by position and knows only one await at a time: all branches of
 * an operation are therefore moved by one loop, in the order in which the journal has their answers.
 */
export type Steps<T> = Generator<Step, T, unknown>;

export function* awaiting<T>(promise: RestatePromise<T>, options: { readonly cut: boolean }): Steps<T> {
  return (yield { promise, cut: options.cut }) as T;
}

type Moved = { readonly at: number; readonly value: unknown; readonly failure: unknown };

export interface Interruptions<S> {
  /** What may end the waiting from outside; empty once it did. */
  readonly promises: () => readonly RestatePromise<{ readonly stop: S }>[];
  /** Gives what the branches that can be cut are ended with. */
  readonly heard: (stop: S | undefined) => CancellationError | undefined;
  /** As `heard`, where somebody has cancelled the execution at the server, by hand. The server says it once. */
  readonly cancelled: () => CancellationError | undefined;
  /** Already stopped before it began. */
  readonly already: () => CancellationError | undefined;
}

export async function drive<S>(
  branches: readonly Steps<unknown>[],
  interruptions: Interruptions<S>,
): Promise<Settled[]> {
  const settled: Settled[] = [];
  const pending = new Map<number, Step>();
  const move = (at: number, next: () => IteratorResult<Step, unknown>): void => {
    pending.delete(at);
    try {
      const { done, value } = next();
      if (done === true) settled[at] = { ok: true, value };
      else pending.set(at, value);
    } catch (error) {
      settled[at] = { ok: false, error };
    }
  };
  const cutAll = (error: CancellationError | undefined): void => {
    if (error === undefined) return;
    for (const [at, branch] of branches.entries())
      while (pending.get(at)?.cut === true) move(at, () => branch.throw(error));
  };
  for (const [at, branch] of branches.entries()) move(at, () => branch.next());
  cutAll(interruptions.already());
  while (pending.size > 0) {
    const waiting = [...pending].map(([at, { promise }]) =>
      promise.map((value, failure): Moved => ({ at, value, failure })),
    );
    const first = await unlessCancelled(RestatePromise.race([...waiting, ...interruptions.promises()]));
    if (first === undefined) {
      cutAll(interruptions.cancelled());
      continue;
    }
    if ("stop" in first) {
      cutAll(interruptions.heard(first.stop));
      continue;
    }
    const { at, value, failure } = first;
    const branch = branches[at];
    if (branch === undefined) continue;
    move(at, () => (failure === undefined ? branch.next(value) : branch.throw(failure)));
    cutAll(interruptions.already());
  }
  return settled;
}

/** Undefined where the server says that the execution is cancelled. */
async function unlessCancelled<T>(first: RestatePromise<T>): Promise<T | undefined> {
  try {
    return await first;
  } catch (error) {
    if (error instanceof CancelledError) return undefined;
    throw error;
  }
}
