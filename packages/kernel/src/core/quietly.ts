import { isPromiseLike } from "./types.ts";

/** Calls an observer, which must never change a run: what it throws or rejects with is ignored, and the result is then undefined. */
export function quietly<T>(notify: () => T): T | undefined {
  try {
    const result = notify();
    // An observer may be asynchronous although its type says void.
    if (isPromiseLike(result)) result.then(undefined, () => {});
    return result;
  } catch {
    return undefined;
  }
}
