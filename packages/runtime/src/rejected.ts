/** A failure as a promise, where a caller must not be thrown at. Whatever was thrown is passed on as it is. */
export async function rejected(error: unknown): Promise<never> {
  throw error;
}

/** What throws before its first promise fails like any other. */
export function promised<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return begin();
  } catch (error) {
    return rejected(error);
  }
}
