import { isPromiseLike } from "@ravi/kernel";

/** Calls an observer. Errors that it throws or rejects with are ignored; then the result is undefined. */
export function quietly<T>(notify: () => T): T | undefined {
  try {
    const result = notify();
    if (isPromiseLike(result)) result.then(undefined, () => {});
    return result;
  } catch {
    return undefined;
  }
}
