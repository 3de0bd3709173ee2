import type { AbortSignalLike } from "../core/types.ts";

/**
 * Removes a listener for the abort. A signal of another make may throw here. By then there is an outcome, which must not be lost for
 * it; a listener that stays must do no harm when it is called.
 */
export function leaveSignal(signal: AbortSignalLike, listener: () => void): void {
  try {
    signal.removeEventListener("abort", listener);
  } catch {
    // Nobody waits for the signal any more.
  }
}
