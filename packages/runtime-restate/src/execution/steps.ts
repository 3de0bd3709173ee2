import { CancelledError, RestatePromise } from "@restatedev/restate-sdk";
import type { CancellationError, Settled } from "@ravi/kernel";
import type { Stopped } from "../root/messages.ts";

/** One promise that a branch waits for. With `cut`, a stop of the execution ends the wait. */
interface Step {
  readonly promise: RestatePromise<unknown>;
  readonly cut: boolean;
}

/**
 * A branch with several steps, as a generator. The journal records by position and allows only one await at a time. So one loop
 * moves all branches of an operation, in the order in which the journal has their answers.
 */
export type Steps<T> = Generator<Step, T, unknown>;

/** Waits for one promise in a branch. */
export function* awaiting<T>(promise: RestatePromise<T>, options: { readonly cut: boolean }): Steps<T> {
  return (yield { promise, cut: options.cut }) as T;
}

type Moved = { readonly at: number; readonly value: unknown; readonly failure: unknown };

export interface Interruptions {
  /** Promises that interrupt the waiting from outside: a stop, once, or news of a message. */
  readonly promises: () => readonly RestatePromise<{ readonly stop: Stopped } | { readonly mail: true }>[];
  /** There is a message. The waiting goes on. */
  readonly onMail: () => void;
  /** Handles a stop. Returns the error that ends the branches which can be cut. */
  readonly onStop: (stop: Stopped) => CancellationError | undefined;
  /** The error, if it was stopped already. */
  readonly stoppedBefore: () => CancellationError | undefined;
}

/** Moves all branches until the last one ends. Returns their results in the same order. */
export async function drive(
  branches: readonly Steps<unknown>[],
  interruptions: Interruptions,
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
  cutAll(interruptions.stoppedBefore());
  while (pending.size > 0) {
    const waiting = [...pending].map(([at, { promise }]) =>
      promise.map((value, failure): Moved => ({ at, value, failure })),
    );
    const first = await unlessCancelled(RestatePromise.race([...waiting, ...interruptions.promises()]));
    if (first !== undefined && "mail" in first) {
      interruptions.onMail();
      continue;
    }
    if (first === undefined || "stop" in first) {
      cutAll(interruptions.onStop(first?.stop ?? BY_HAND));
      continue;
    }
    const { at, value, failure } = first;
    const branch = branches[at];
    if (branch === undefined) continue;
    move(at, () => (failure === undefined ? branch.next(value) : branch.throw(failure)));
    cutAll(interruptions.stoppedBefore());
  }
  return settled;
}

/** Somebody cancelled the execution at the server. The server says so only once. */
const BY_HAND: Stopped = Object.freeze({ reason: "cancelled at the server" });

/** Undefined if the server says that the execution is cancelled. */
async function unlessCancelled<T>(first: RestatePromise<T>): Promise<T | undefined> {
  try {
    return await first;
  } catch (error) {
    if (error instanceof CancelledError) return undefined;
    throw error;
  }
}
