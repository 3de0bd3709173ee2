import type { Gate, MaybePromise, ToolLeaf } from "@ravi/kernel";
import { andThen } from "../promises/and-then.ts";
import type { Execution } from "./execution.ts";

/** Runs the admit of a single call, which may wait for an answer. Throws its error. */
export function admitOne<T>(
  exec: Execution,
  key: string,
  admit: (gate: Gate) => MaybePromise<T>,
  tool?: Pick<ToolLeaf, "tool" | "call">,
): MaybePromise<T> {
  return andThen(exec.gates.admitAll([{ key, admit, tool }]), only);
}

function only<T>([admitted]: readonly PromiseSettledResult<T>[]): T {
  if (admitted?.status === "fulfilled") return admitted.value;
  throw admitted?.reason;
}
