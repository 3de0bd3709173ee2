import { isPromiseLike, type JsonObject, type MaybePromise } from "@ravi/kernel";
import { tryOrLog } from "../../promises/try-or-log.ts";
import { cancelReservation, refuseStopped } from "../reserved.ts";
import type { Attempt } from "./attempt.ts";
import { type Charge, spendRecord } from "./charge.ts";
import { isWithin, reserveRecord } from "./estimate.ts";

// What the journal knows of the money of an effect. The begin entry reserves for one call: the first attempt, with the model and the
// request that the effect was begun with. The end entry has the sum of all charges. Between the two, every other paid call gets
// notes of its own: what is set aside for it before it is sent, and what it took. An effect that needs a single attempt writes none.

/** Whether the journal already covers the attempt: after a crash in the middle of it, enough would be charged. */
export function isCoveredByRecord(attempt: Attempt): boolean {
  const { exec, number, estimate, recordedEstimate } = attempt;
  if (!takesNotes(attempt)) return true;
  if (number !== 0) return false;
  // Without a ledger nothing is set aside.
  if (attempt.reservation === undefined) return true;
  // An effect that has begun may still wait in line with nothing sent, so the journal needs a note that the call was sent.
  if (exec.ports.limiter !== undefined || attempt.isNotedInLine) return false;
  if (estimate === recordedEstimate) return true;
  return estimate !== undefined && recordedEstimate !== undefined && isWithin(estimate, recordedEstimate);
}

function takesNotes({ exec, scope }: Attempt): boolean {
  return scope.note !== undefined && exec.engine.isDurable;
}

/**
 * Puts on record that the call which the effect was begun for waits for its money. Otherwise a crash would charge what `begin` has
 * reserved, though nothing was sent, and the wait would count for a time limit. Of a call that comes after another one, it records what
 * that one took. Never rejects: if it cannot be written, what was reserved stays charged after a crash.
 */
export async function noteInLine(attempt: Attempt): Promise<void> {
  const { exec, scope, bill, isNested } = attempt;
  if (!takesNotes(attempt)) return;
  const notes = bill.takeUnwritten();
  // If another attempt was sent first, that one is call 0, and its note has replaced what `begin` says.
  attempt.isNotedInLine = !isNested && !bill.hasOpenedOwn;
  if (attempt.isNotedInLine) notes.push({ call: 0, inLine: true });
  if (notes.length === 0) return;
  const message = `could not record that a call of ${exec.agentId} waits for its money`;
  await tryOrLog(exec, "warn", message, () => scope.note?.(notes));
}

/**
 * Puts on record what is set aside for an attempt that is about to be sent, together with what the attempt before it took. If that
 * fails, or everything was stopped meanwhile, nothing is sent and nothing stays set aside.
 */
export async function noteReservation(attempt: Attempt): Promise<void> {
  const { exec, bill, scope, signal, number, estimate, reservation } = attempt;
  const notes = bill.takeUnwritten();
  if (reservation !== undefined && estimate !== undefined) {
    notes.push({ call: number, reserve: { ...reserveRecord(estimate), ...retryMark(attempt) } });
  }
  let isWritten = false;
  try {
    const written = notes.length === 0 ? undefined : scope.note?.(notes);
    if (isPromiseLike(written)) await written;
    isWritten = true;
    refuseStopped(exec, signal);
  } catch (error) {
    bill.drop(number);
    if (reservation !== undefined) await cancelReservation(exec, reservation);
    if (isWritten) await noteUnsent(attempt);
    throw error;
  }
}

const NOTHING_SENT: JsonObject = { tokens: 0, cost: 0, turns: 0 };

/** If this cannot be written either, the reservation stays charged, as after a crash. The caller throws why it was stopped. */
async function noteUnsent({ scope, number }: Attempt): Promise<void> {
  try {
    await scope.note?.([{ call: number, spend: NOTHING_SENT }]);
  } catch {
    return;
  }
}

/**
 * Puts on record what an attempt took. For a nested call that is done at once, since the tool or the layer around it may go on for
 * long. For an own attempt it can wait: the effect's end entry, or the note of the next attempt, comes right after it.
 */
export function noteCharge(attempt: Attempt, charge: Charge): MaybePromise<void> {
  const { scope, bill, isNested, number } = attempt;
  if (!takesNotes(attempt)) return;
  if (!isNested && bill.leaveUnwritten(number, charge)) return;
  const spend = { ...spendRecord(charge), ...retryMark(attempt) };
  return scope.note?.([...bill.takeUnwritten(), { call: number, spend }]);
}

/** Only the effect's own attempts after the first are retries; nested calls are not. */
function retryMark({ isNested, number }: Attempt): JsonObject {
  return isNested || number === 0 ? {} : { retries: 1 };
}
