/** A value, or a promise of it. Callers await only when it is a promise: most of the time it is not. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** An `AbortSignal` as the consumer's own platform declares it (DOM, Node or neither). */
export type AbortSignalLike = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      throwIfAborted(): void;
      addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
      removeEventListener(type: "abort", listener: () => void): void;
    };

/** A string that is told apart by its label. Labels are strings, so two copies of the kernel agree on them. */
export type Branded<Label extends string> = string & { readonly __ravi: Label };

interface Thenable {
  readonly then?: unknown;
}

/** Whether something has to be awaited. */
export function isPromiseLike<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  // Read without asking for it with `in` first: on objects of many shapes that takes five times as long.
  return typeof value === "object" && value !== null && typeof (value as Thenable).then === "function";
}
