/** A value, or a promise of it. Callers await it only if it is a promise, because mostly it is not. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** An `AbortSignal`, as the user's platform declares it (DOM, Node or neither). */
export type AbortSignalLike = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      throwIfAborted(): void;
      addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
      removeEventListener(type: "abort", listener: () => void): void;
    };

/**
 * A string type with a label that tells it apart from other strings. The label is a string and not a symbol, so that two copies
 * of the kernel agree on it.
 */
export type Branded<Label extends string> = string & { readonly __ravi: Label };

interface Thenable {
  readonly then?: unknown;
}

/** Whether the value has a `then` method and has to be awaited. */
export function isPromiseLike<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  // Reading `then` without asking `in` first: on objects of many shapes `in` takes five times as long.
  return typeof value === "object" && value !== null && typeof (value as Thenable).then === "function";
}
