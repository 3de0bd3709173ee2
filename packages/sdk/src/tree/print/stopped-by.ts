import type { AgentAccount, StoppedBy } from "@ravi/kernel";

/** Names of the kernel's options, and what the sdk calls them. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["maxCostUsd", "budget.usd"],
  ["maxTokens", "budget.tokens"],
  ["maxTurns", "budget.turns"],
  ["maxToolCalls", "budget.toolCalls"],
  ["maxOutputTokens", "settings.maxOutputTokens"],
]);

/**
 * The hint of the ledger, with the names of the sdk's options. Replaced only here: records have the ledger's own text, the same with any
 * wiring. A ledger that the user made (its scope is not an agent of the run) keeps the names of its own limits: to
 * raise `budget` would not help.
 */
export function withSdkNames(stoppedBy: StoppedBy, agents: readonly AgentAccount[]): StoppedBy {
  const { hint, scope } = stoppedBy;
  if (hint === undefined) return stoppedBy;
  const isOfRun = agents.some(({ agentId }) => agentId === scope);
  const named = (name: string): string =>
    isOfRun || name === "maxOutputTokens" ? (OPTIONS.get(name) ?? name) : name;
  return { ...stoppedBy, hint: hint.replace(/\bmax[A-Z]\w*/g, named) };
}

/** Why an agent was cut off, in a few words: `deadline`, `budget: tokens of lead`. Undefined if it was not. */
export function cutOffWords({ stopReason, stoppedBy }: AgentAccount): string | undefined {
  return stoppedBy === undefined ? stopReason : `${stopReason}: ${stoppedBy.dimension} of ${stoppedBy.scope}`;
}
