import { type Estimate, isPromiseLike, type JsonObject, type MaybePromise } from "@ravi/kernel";
import type { AttemptOptions } from "./attempt.ts";
import { type Paid, spendOf, usdOf } from "./bill.ts";
import type { Execution } from "./execution.ts";
import { giveBack, refuseStopped } from "./reserved.ts";
import type { SentCall } from "./sent-calls.ts";

// A begin speaks of one call: the first try at it, with the model and the request that it was begun with. Whatever else is paid inside
// of an effect is put on record by itself, before it is sent, so that a crash passes no limit. A call that is tried once writes
// nothing here.

/** Whether a crash in the middle of it would leave enough charged by what is on record already. */
export function isOnRecord(
  exec: Execution,
  { options: { scope, call, begun }, estimate, reservation }: SentCall,
): boolean {
  if (scope.note === undefined || !exec.engine.isDurable) return true;
  if (call !== 0) return false;
  // Without a ledger nothing is set aside for anything.
  if (reservation === undefined) return true;
  // A begin that waits in a line does not say whether its call was ever sent.
  if (exec.ports.limiter !== undefined) return false;
  if (estimate === begun) return true;
  return estimate !== undefined && begun !== undefined && isWithin(estimate, begun);
}

function isWithin(estimate: Estimate, begun: Estimate): boolean {
  const tokens = estimate.inputTokens + estimate.maxOutputTokens;
  if (tokens > begun.inputTokens + begun.maxOutputTokens) return false;
  const [usd, begunUsd] = [usdOf(estimate.price), usdOf(begun.price)];
  return usd === null || begunUsd === null ? usd === begunUsd : usd <= begunUsd;
}

/** What stays charged of a call that was left open, as it is on record: it may have been paid, and nobody got anything for it. */
export function asideOf({ inputTokens, maxOutputTokens, price }: Estimate): JsonObject {
  const usd = usdOf(price);
  // As `spendOf` writes it, without what that would make in between: it is in every begin.
  return {
    tokens: inputTokens + maxOutputTokens,
    cost: usd ?? 0,
    turns: 1,
    usage: { inputTokens, outputTokens: maxOutputTokens },
    priced: usd !== null,
    waste: usd ?? 0,
  };
}

/**
 * Puts on record what is set aside for a call that is to be sent, and with it what the try before it took. Where it cannot be, or
 * where all was stopped meanwhile, nothing is sent and nothing stays set aside.
 */
export async function noteBefore(
  exec: Execution,
  { options, estimate, reservation }: SentCall,
): Promise<void> {
  const { bill, scope, signal, call } = options;
  const notes = bill.takeUnwritten();
  if (reservation !== undefined && estimate !== undefined) {
    notes.push({ call, reserve: { ...asideOf(estimate), ...retriedBy(options) } });
  }
  let isWritten = false;
  try {
    const written = notes.length === 0 ? undefined : scope.note?.(notes);
    if (isPromiseLike(written)) await written;
    isWritten = true;
    refuseStopped(exec, signal);
  } catch (error) {
    bill.drop(call);
    if (reservation !== undefined) await giveBack(exec, reservation);
    if (isWritten) await noteUnsent(options);
    throw error;
  }
}

const NOTHING_SENT: JsonObject = { tokens: 0, cost: 0, turns: 0 };

/** Where this cannot be written either, what was set aside stays charged, as after a crash. Why it was stopped is what counts. */
async function noteUnsent({ scope, call }: AttemptOptions): Promise<void> {
  try {
    await scope.note?.([{ call, spend: NOTHING_SENT }]);
  } catch {
    return;
  }
}

/**
 * Puts on record what a call took. A tool or a judge may go on for long, so there it is done at once. What a try at the effect's own
 * call took is in the sum of the effect's end, which comes next, or is written with the next try.
 */
export function noteAfter(exec: Execution, options: AttemptOptions, paid: Paid): MaybePromise<void> {
  const { scope, bill, isNested, call } = options;
  if (scope.note === undefined || !exec.engine.isDurable) return;
  if (!isNested && !bill.isClosed && bill.unwritten === undefined) return bill.leaveUnwritten(call, paid);
  return scope.note([...bill.takeUnwritten(), { call, spend: { ...spendOf(paid), ...retriedBy(options) } }]);
}

/** Tries at the effect's own call after the first are counted; calls of tools and judges are none. */
function retriedBy({ isNested, call }: AttemptOptions): JsonObject {
  return isNested || call === 0 ? {} : { retries: 1 };
}
