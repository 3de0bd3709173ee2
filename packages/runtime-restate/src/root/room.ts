import { errorToJSON, type JsonObject } from "@ravi/kernel";
import { bytesOf, MOST, tooLarge } from "../execution/sizes.ts";
import type { RootState } from "./state.ts";
import { STORED } from "./stored.ts";

/** What is smaller is not measured: for that the whole state has to be packed, which takes ten times as long as to write it out. */
const LARGE = 64 * 1024;
/** Of so few, such small ones have room together. */
const FEW = MOST / LARGE / 2;

/**
 * What came of an execution, where the state has room for it beside all that somebody may still join. The server would try for ever to
 * write a state that is too large, so what has no room is a failure.
 */
export function withRoom(state: RootState, execId: string, fate: JsonObject): JsonObject {
  if (bytesOf(fate) < LARGE && areSmallTogether(state)) return fate;
  const bytes = STORED.serialize({ ...state, result: fate }).length;
  if (bytes <= MOST) return fate;
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
