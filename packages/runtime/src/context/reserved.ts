import { type AbortSignalLike, CancellationError, cancellationOf, type Reservation } from "@ravi/kernel";
import { tryOrLog } from "../promises/try-or-log.ts";
import { reasonOfEnd } from "./bounded-wait.ts";
import type { Execution } from "./execution.ts";

/**
 * Throws if nothing more may be sent: everything was stopped, the agent has ended, or the layer or tool that made this call has given it
 * up.
 */
export function refuseStopped(exec: Execution, signal: AbortSignalLike | undefined): void {
  const { stopped } = exec;
  if (stopped !== undefined) throw stopped;
  if (exec.isOver) throw new CancellationError({ reason: reasonOfEnd(exec) });
  if (signal?.aborted === true) throw cancellationOf(signal);
}

/**
 * Throws if a tool that is on record as begun may not be run. In a run that is only suspended it may: otherwise, when the run is
 * resumed, somebody would be asked whether the call was made, though we know that it was not.
 */
export function refuseCancelled({ engine, token }: Execution): void {
  if (engine.suspension === undefined) token.check();
}

/** Waits for a reservation. A ledger may answer late: if `refuse` throws by then, the reservation is given back. */
export async function reservedInTime(
  exec: Execution,
  reserving: PromiseLike<Reservation>,
  refuse: () => void,
): Promise<Reservation> {
  const reservation = await reserving;
  try {
    refuse();
  } catch (error) {
    await cancelReservation(exec, reservation);
    throw error;
  }
  return reservation;
}

/**
 * Cancels a reservation. A failure of the ledger is only logged: it must not replace the reason for stopping, and a layer would retry it.
 */
export async function cancelReservation(exec: Execution, reservation: Reservation): Promise<void> {
  const message = `could not cancel a reservation of ${exec.agentId}; its amount stays reserved`;
  await tryOrLog(exec, "error", message, () => reservation.cancel());
}
