import { isPromiseLike, type MaybePromise } from "@ravi/kernel";

/**
 * Goes on with a value, at once where it is there already. An `await` of what is no promise still makes two and waits for a turn
 * of the queue; a call of a governed run had thirty of them.
 *
 * What `next` needs beside the value may be handed over with it: a closure, and what it holds, is made also where there is nothing
 * to wait for, and takes 100 bytes. A turn of one tool made 2 kB of them.
 */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R>;
export function andThen<T, R, A>(
  value: MaybePromise<T>,
  next: (value: T, a: A) => MaybePromise<R>,
  a: A,
): MaybePromise<R>;
export function andThen<T, R, A, B>(
  value: MaybePromise<T>,
  next: (value: T, a: A, b: B) => MaybePromise<R>,
  a: A,
  b: B,
): MaybePromise<R>;
export function andThen(
  value: unknown,
  next: (value: unknown, a: unknown, b: unknown) => unknown,
  a?: unknown,
  b?: unknown,
): unknown {
  return isPromiseLike(value) ? later(value, next, a, b) : next(value, a, b);
}

function later(
  value: PromiseLike<unknown>,
  next: (value: unknown, a: unknown, b: unknown) => unknown,
  a: unknown,
  b: unknown,
): Promise<unknown> {
  // A thenable of somebody's own may give nothing back from its `then`; a promise is resolved to itself.
  return Promise.resolve(value).then((known) => next(known, a, b));
}
