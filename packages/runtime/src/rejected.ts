import type { MaybePromise } from "@ravi/kernel";

/** A failure as a promise, where a caller must not be thrown at. Whatever was thrown is passed on as it is. */
export async function rejected(error: unknown): Promise<never> {
  throw error;
}

/**
 * What throws before its first promise fails like any other. What was not compiled may give something that only looks like a promise,
 * or its value; a promise is resolved to itself.
 */
export function promised<T>(begin: () => MaybePromise<T>): Promise<T> {
  try {
    return Promise.resolve(begin());
  } catch (error) {
    return rejected(error);
  }
}
