import type { Execution } from "./execution.ts";
import type { NamedGate } from "./gate.ts";

/** The admits of a single call, which may wait for an answer. */
export async function admitOne<T>(
  exec: Execution,
  key: string,
  admit: (gate: NamedGate) => Promise<T>,
): Promise<T> {
  const [admitted] = await exec.gates.admitAll([{ key, admit }]);
  if (admitted?.status === "fulfilled") return admitted.value;
  throw admitted?.reason;
}
