/** What ledgers that belong to users have refused. */
const refusals = new WeakSet<object>();

export function noteOwnRefusal(error: unknown): void {
  if (typeof error === "object" && error !== null) refusals.add(error);
}

/** Whether a ledger that belongs to the user has refused it, beside the run's own, which is the only one that is raised. */
export function isOwnRefusal(error: object): boolean {
  return refusals.has(error);
}
