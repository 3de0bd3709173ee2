import { errorToJSON, type JsonObject } from "@ravi/kernel";
import { bytesOf, MOST, tooLarge } from "../execution/sizes.ts";
import type { RootState } from "./state.ts";
import { STATE_SERDE } from "./state-serde.ts";

/** In bytes. Smaller outcomes are not measured, because that requires packing the whole state. */
const LARGE = 64 * 1024;
/** With at most this many executions, outcomes below `LARGE` always fit. */
const FEW = MOST / LARGE / 2;

/**
 * The outcome of an execution, or a failure if it does not fit into the state beside the outcomes that may still be joined. The
 * server would retry for ever to write a state that is too large.
 */
export function fitOutcome(state: RootState, execId: string, outcome: JsonObject): JsonObject {
  if (bytesOf(outcome) < LARGE && areSmallTogether(state)) return outcome;
  const bytes = STATE_SERDE.serialize({ ...state, result: outcome }).length;
  if (bytes <= MOST) return outcome;
  const error = tooLarge(`the result of ${execId}, with those that may still be joined`, bytes);
  return { status: "failed", failure: errorToJSON(error) };
}

/** Most are forgotten as soon as they are told. */
function areSmallTogether({ execs }: RootState): boolean {
  const all = Object.values(execs);
  if (all.length <= FEW) return true;
  let bytes = 0;
  for (const { outcome } of all) if (outcome !== undefined) bytes += bytesOf(outcome);
  return bytes < MOST / 2;
}
