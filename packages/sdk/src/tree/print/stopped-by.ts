import type { AgentAccount, RunEvent, StoppedBy } from "@ravi/kernel";
import { fieldsOf } from "@ravi/kernel/provider";

import { KERNEL_NAMES } from "../../limits/kernel-names.ts";

/** Names of the kernel's options, and what the sdk calls them. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["maxCostUsd", "budget.usd"],
  ["maxTokens", "budget.tokens"],
  ["maxTurns", "budget.turns"],
  ["maxToolCalls", "budget.toolCalls"],
  ["maxOutputTokens", "settings.maxOutputTokens"],
]);

/** Limits of the tree, which no agent and no ledger has for itself. */
const TREE: ReadonlyMap<string, string> = new Map(
  Object.entries(KERNEL_NAMES.tree).map(([kernel, own]) => [kernel, `tree.${own}`]),
);

/** An event that tells of a refused hire, with the names of the sdk's options; any other as it is. */
export function withSdkLimits(told: RunEvent): RunEvent {
  const { event } = told;
  if (event.type !== "progress" || event.name !== "hireDenied") return told;
  const { to, error } = fieldsOf(event.data);
  if (typeof to !== "string" || typeof error !== "string") return told;
  const named = error.replace(/\b(?:max|allow)[A-Z]\w*/g, (name) => TREE.get(name) ?? name);
  return { ...told, event: { ...event, data: { to, error: named } } };
}

/** The same of all events, for a reader. Without a generator in between: a model's answer is hundreds of them. */
export function eventsWithSdkLimits(events: AsyncIterable<RunEvent>): AsyncIterableIterator<RunEvent> {
  const reader = events[Symbol.asyncIterator]();
  const named = (read: IteratorResult<RunEvent>): IteratorResult<RunEvent> =>
    read.done === true ? read : { done: false, value: withSdkLimits(read.value) };
  return {
    next: () => reader.next().then(named),
    return: async () => (await reader.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

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
