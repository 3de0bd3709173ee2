import type { Gate, MaybePromise, ToolLeaf } from "@ravi/kernel";
import { andThen } from "../promises/and-then.ts";
import type { Execution } from "./execution.ts";

/**
 * Runs the admit of a single call, which may wait for an answer. Throws its error. As after the admits of a batch, the agent may have
 * lost its slot, or have been stopped, in the meantime.
 */
export function admitOne<T>(
  exec: Execution,
  key: string,
  admit: (gate: Gate) => MaybePromise<T>,
  tool?: Pick<ToolLeaf, "tool" | "call">,
): MaybePromise<T> {
  return andThen(exec.gates.admitAll([{ key, admit, tool }]), checked, exec);
}

function checked<T>([admitted]: readonly PromiseSettledResult<T>[], exec: Execution): MaybePromise<T> {
  if (admitted?.status !== "fulfilled") throw admitted?.reason;
  return andThen(exec.check(), given, admitted.value);
}

function given<T>(_: void, value: T): T {
  return value;
}
