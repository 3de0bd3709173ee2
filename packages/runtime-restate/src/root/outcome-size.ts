import { errorToJSON, type JsonObject, type JsonValue, type SerializedError } from "@ravi/kernel";
import { bytesOf, MOST, tooLarge } from "../sizes.ts";
import type { RootState } from "./state.ts";
import { STATE_SERDE } from "./state-serde.ts";

/** In bytes. Smaller values are not measured, because that requires writing the whole state. */
const LARGE = 64 * 1024;
/** With at most this many executions, outcomes below `LARGE` always fit. */
const FEW = MOST / LARGE / 2;

/**
 * The outcome of an execution, or a failure if it does not fit into the state beside the outcomes that may still be joined. The
 * server would retry for ever to write a state that is too large.
 */
export function fitOutcome(state: RootState, execId: string, outcome: JsonObject): JsonObject {
  const failure = noRoomFor(`the result of ${execId}, with those that may still be joined`, state, outcome);
  return failure === undefined ? outcome : { status: "failed", failure };
}

/** The error if the value does not fit into the state beside what is kept there; undefined if it does. */
export function noRoomFor(what: string, state: RootState, value: JsonValue): SerializedError | undefined {
  if (bytesOf(value) < LARGE && areSmallTogether(state)) return undefined;
  const full = { ...state, result: { value } };
  // To pack takes ten times as long.
  if (bytesOf(full) <= MOST) return undefined;
  const bytes = STATE_SERDE.serialize(full).length;
  return bytes <= MOST ? undefined : errorToJSON(tooLarge(what, bytes));
}

/** Most outcomes are forgotten as soon as they are told, most values when their execution goes on, and few wait or come early. */
function areSmallTogether({ execs, signals, early }: RootState): boolean {
  const all = Object.values(execs);
  let bytes = bytesOf(signals) + (early === undefined ? 0 : bytesOf(early));
  for (const { given, mail, launch } of all) {
    if (launch !== null) bytes += bytesOf(launch);
    for (const { value } of Object.values(given)) bytes += bytesOf(value);
    for (const message of mail) bytes += bytesOf(message);
  }
  if (all.length > FEW) for (const { outcome } of all) if (outcome !== undefined) bytes += bytesOf(outcome);
  return bytes < MOST / 2;
}
