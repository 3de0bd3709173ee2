import type { PendingWait } from "@ravi/kernel";

/**
 * The waits of a noted list that nobody has answered; undefined if there is none. `signals` are the names of those that the run had not
 * read when it noted the list. Each answers the first wait of its name.
 */
export function openWaits(text: string, signals: readonly string[]): readonly PendingWait[] | undefined {
  const waits = JSON.parse(text) as readonly PendingWait[];
  if (signals.length === 0) return waits;
  const answers = new Map<string, number>();
  for (const name of signals) answers.set(name, (answers.get(name) ?? 0) + 1);
  const open = waits.filter(({ kind, name }) => {
    const left = kind === "signal" || kind === "approval" ? (answers.get(name) ?? 0) : 0;
    if (left > 0) answers.set(name, left - 1);
    return left === 0;
  });
  return open.length === 0 ? undefined : open;
}
