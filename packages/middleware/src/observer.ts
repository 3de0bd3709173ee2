import { isPromiseLike } from "@ravi/kernel";

/** For whoever only watches a call: what it throws, now or later, changes nothing. Undefined where it threw. */
export function quietly<T>(tell: () => T): T | undefined {
  try {
    const told = tell();
    if (isPromiseLike(told)) told.then(undefined, () => {});
    return told;
  } catch {
    return undefined;
  }
}
