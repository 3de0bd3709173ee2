import type { MaybePromise } from "@ravi/kernel";

/** Returns the error as a rejected promise, for a caller that must not get an exception. */
export async function rejected(error: unknown): Promise<never> {
  throw error;
}

/**
 * Calls `begin` and turns an exception into a rejection. Untyped code may return a foreign thenable or a plain value; a real
 * promise is returned unchanged.
 */
export function promised<T>(begin: () => MaybePromise<T>): Promise<T> {
  try {
    return Promise.resolve(begin());
  } catch (error) {
    return rejected(error);
  }
}
