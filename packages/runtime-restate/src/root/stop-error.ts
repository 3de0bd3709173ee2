import { CancellationError, DeadlineExceededError } from "@ravi/kernel";
import type { Stopped } from "./messages.ts";

/** What an execution that was stopped gets as its error. */
export function stopError({ reason, deadline }: Stopped): CancellationError {
  return deadline === undefined ? new CancellationError({ reason }) : new DeadlineExceededError({ deadline });
}
