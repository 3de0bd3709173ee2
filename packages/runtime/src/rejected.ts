/** A failure as a promise, where a caller must not be thrown at. Whatever was thrown is passed on as it is. */
export async function rejected(error: unknown): Promise<never> {
  throw error;
}
