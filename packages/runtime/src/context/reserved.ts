import { type AbortSignalLike, CancellationError, cancellationOf, type Reservation } from "@ravi/kernel";
import { orLog } from "../or-log.ts";
import type { Execution } from "./execution.ts";

/** Why nothing more may be sent: all was stopped, its agent is over, or whoever asked for this one call has given up on it. */
export function refuseStopped(
  { stopped, isOver, agentId }: Execution,
  signal: AbortSignalLike | undefined,
): void {
  if (stopped !== undefined) throw stopped;
  if (isOver) throw new CancellationError({ reason: `${agentId} has ended` });
  if (signal?.aborted === true) throw cancellationOf(signal);
}

/**
 * Why a tool that is on record as begun may not be run. A run that is only suspended goes on later: it would ask somebody whether
 * the call was made, although it is known that it was not. So it is made, and its result written down.
 */
export function refuseCancelled({ engine, token }: Execution): void {
  if (engine.suspension === undefined) token.check();
}

/** A ledger may answer late: what it has set aside for somebody who is refused by then is given back. */
export async function reservedInTime(
  exec: Execution,
  reserving: PromiseLike<Reservation>,
  refuse: () => void,
): Promise<Reservation> {
  const reservation = await reserving;
  try {
    refuse();
  } catch (error) {
    await giveBack(exec, reservation);
    throw error;
  }
  return reservation;
}

/** Why it was stopped is what counts, whatever the ledger says to it: a failure of its own would be tried again by a layer. */
export async function giveBack({ agentId, ports }: Execution, reservation: Reservation): Promise<void> {
  const message = `what was set aside for ${agentId} could not be given back`;
  await orLog(ports.logger, "error", message, () => reservation.cancel());
}
