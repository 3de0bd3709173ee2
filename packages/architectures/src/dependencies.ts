import type { AgentSession, Dependencies, Inbox, Remaining, RunContext } from "@ravi/kernel";
import { CountingContext } from "./context/counting-context.ts";
import { GovernedContext } from "./context/governed-context.ts";
import type { Observer } from "./context/observer.ts";
import { activeServices } from "./context/services.ts";
import { sessionSpend } from "./context/spend.ts";
import type { StrategyPlan } from "./options.ts";

/**
 * What one run works with: the frozen dependencies of the strategy, and the observer if the run has telemetry or an audit log.
 */
export interface RunParts {
  readonly deps: Dependencies;
  readonly observer: Observer | undefined;
}

/** Builds the parts of a run. Everything that the strategy does through `deps.runtime` is counted in its session. */
export function partsFor(
  plan: StrategyPlan,
  session: AgentSession,
  ctx: RunContext,
  inbox: Inbox,
  streaming: boolean,
): RunParts {
  const { model, tools, memory, permissions, telemetry, auditLog, middleware, maxTurns } = plan;
  const services = activeServices(plan);
  const governed = services === undefined ? undefined : new GovernedContext(ctx, services);
  const runtime = new CountingContext(governed ?? ctx, sessionSpend(session));
  const deps = Object.freeze({
    model,
    memory,
    runtime,
    inbox,
    tools,
    budget: Object.freeze({ isNoop: isUnlimited(ctx.budget), remaining: () => ctx.budget }),
    permissions,
    hooks: ctx.hooks,
    telemetry,
    auditLog,
    middleware,
    maxTurns,
    streaming,
    scope: ctx.scope,
  });
  return { deps, observer: governed?.observer };
}

function isUnlimited(remaining: Remaining): boolean {
  return Object.values(remaining).every((left) => left === null);
}
