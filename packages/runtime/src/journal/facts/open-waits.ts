import type { PendingWait } from "@ravi/kernel";

/** The name of a signal that a run had not read when it noted its waits; null for a request to cancel the run. */
export type Unread = string | null;

/**
 * The waits of a noted list that nobody has answered; undefined if there is none. Each signal answers the first wait of its name. A run
 * that was cancelled waits for nothing.
 */
export function openWaits(
  waits: readonly PendingWait[],
  unread: readonly Unread[],
): readonly PendingWait[] | undefined {
  if (waits.length === 0) return undefined;
  if (unread.length === 0) return waits;
  if (unread.includes(null)) return undefined;
  const answers = new Map<Unread, number>();
  for (const name of unread) answers.set(name, (answers.get(name) ?? 0) + 1);
  const open = waits.filter(({ kind, name }) => {
    const left = kind === "signal" || kind === "approval" ? (answers.get(name) ?? 0) : 0;
    if (left > 0) answers.set(name, left - 1);
    return left === 0;
  });
  return open.length === 0 ? undefined : open;
}
