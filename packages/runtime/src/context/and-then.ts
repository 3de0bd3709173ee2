import { isPromiseLike, type MaybePromise } from "@ravi/kernel";

/**
 * Goes on with a value, at once where it is there already. An `await` of what is no promise still makes two and waits for a turn
 * of the queue; a call of a governed run had thirty of them.
 */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  // A thenable of somebody's own may give nothing back from its `then`; a promise is resolved to itself.
  return isPromiseLike(value) ? Promise.resolve(value).then(next) : next(value);
}
