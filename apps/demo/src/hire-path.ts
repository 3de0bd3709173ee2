import type { AgentId } from "@ravi/kernel";

/** The position of each hire from the root down: `fact_checker/2.1` is the first hire of the root's second hire. */
export function hirePath(agentId: AgentId): readonly number[] {
  const slash = agentId.indexOf("/");
  return slash === -1
    ? []
    : agentId
        .slice(slash + 1)
        .split(".")
        .map(Number);
}

/** Compares by position: parents before their children, and siblings in the order of hiring. */
export function byHiring(a: AgentId, b: AgentId): number {
  const [one, other] = [hirePath(a), hirePath(b)];
  for (const [at, number] of one.entries()) {
    const order = number - (other[at] ?? -Infinity);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}
