import { isPromiseLike, type MaybePromise, type Gate } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

/** The admits of a single call, which may wait for an answer. */
export function admitOne<T>(
  exec: Execution,
  key: string,
  admit: (gate: Gate) => MaybePromise<T>,
): MaybePromise<T> {
  const admitted = exec.gates.admitAll([{ key, admit }]);
  return isPromiseLike(admitted) ? admitted.then(only) : only(admitted);
}

function only<T>([admitted]: readonly PromiseSettledResult<T>[]): T {
  if (admitted?.status === "fulfilled") return admitted.value;
  throw admitted?.reason;
}
