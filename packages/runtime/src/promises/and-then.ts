import { isPromiseLike, type MaybePromise } from "@ravi/kernel";

/**
 * Continues with a value, synchronously if it is not a promise. An `await` of a plain value still creates two promises and waits
 * for a microtask; a call of a governed run had thirty of them.
 *
 * What `next` needs besides the value can be passed as `a` and `b`: a closure would be created even if there is nothing to wait
 * for, and takes 100 bytes. A turn with one tool created 2 kB of closures.
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
  // The `then` of a foreign thenable may return nothing. `Promise.resolve` returns a real promise unchanged.
  return Promise.resolve(value).then((known) => next(known, a, b));
}
