import { type AbortSignalLike, cancellationOf, type Reservation } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

/** Why nothing more may be sent: all was stopped, or whoever asked for this one call has given up on it. */
export function refuseStopped({ stopped }: Execution, signal: AbortSignalLike | undefined): void {
  if (stopped !== undefined) throw stopped;
  if (signal?.aborted === true) throw cancellationOf(signal);
}

/** A ledger may answer late: what it has set aside for somebody who was stopped in the meantime is given back. */
export async function reservedInTime(
  exec: Execution,
  reserving: PromiseLike<Reservation>,
  signal?: AbortSignalLike | undefined,
): Promise<Reservation> {
  const reservation = await reserving;
  try {
    refuseStopped(exec, signal);
  } catch (error) {
    await reservation.cancel();
    throw error;
  }
  return reservation;
}
