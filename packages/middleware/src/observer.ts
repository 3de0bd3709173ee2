import { isPromiseLike } from "@ravi/kernel";

/** Calls an observer. Errors that it throws or rejects with are ignored; then the result is undefined. */
export function quietly<T>(tell: () => T): T | undefined {
  try {
    const told = tell();
    if (isPromiseLike(told)) told.then(undefined, () => {});
    return told;
  } catch {
    return undefined;
  }
}
