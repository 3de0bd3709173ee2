import {
  type Agent,
  agentName,
  type AgentResult,
  type DelegateTool,
  type Dependencies,
  type HireLeaf,
  type HireOutcome,
  HookEvent,
  InvalidValueError,
  isDelegate,
  isRaviError,
  type RunContext,
  type RunScope,
  SessionId,
  type Tool,
  ToolError,
} from "@ravi/kernel";
import { bareInbox, hookBase, isStop, messageOf } from "@ravi/kernel/loop";
import { LaneContext } from "../context/lane-context.ts";

// The helpers of multi-agent strategies (J8).

/** The scope of somebody who works for this run: the same user and run, and a conversation of its own. */
export function scopeForWorker(scope: RunScope, worker: string): RunScope {
  return Object.freeze({ ...scope, sessionId: SessionId(`${scope.sessionId}/${worker}`) });
}

/** The same dependencies with more tools. Frozen, as all of them are; a name that is taken is refused. */
export function withExtraTools(deps: Dependencies, extra: readonly (Tool | DelegateTool)[]): Dependencies {
  const names = new Set(deps.tools.map(({ name }) => name));
  for (const { name } of extra) {
    if (names.has(name))
      throw new InvalidValueError({
        field: "tools",
        value: name,
        expected: "a name of its own; another tool is called that already",
      });
    names.add(name);
  }
  return Object.freeze({ ...deps, tools: Object.freeze([...deps.tools, ...extra]) });
}

/** Hires one worker. Where no seat is free, it works on its parent's lane, in a conversation of its own. */
export async function spawnChild<T>(
  deps: Dependencies,
  leaf: Omit<HireLeaf<T>, "kind">,
): Promise<HireOutcome<T>> {
  tellHandoff(deps.runtime, leaf);
  return orHere(deps, leaf, await deps.runtime.hire(leaf));
}

/** For whoever was denied a seat in a batch: hired again alone, now that the others have left theirs. */
export async function hireAgain<T>(
  deps: Dependencies,
  leaf: Omit<HireLeaf<T>, "kind">,
  outcome: HireOutcome<T>,
): Promise<HireOutcome<T>> {
  return lacksSeat(outcome) ? orHere(deps, leaf, await deps.runtime.hire(leaf)) : outcome;
}

/** Several at once, in one batch. Outcomes come in the order asked. */
export async function spawnChildren<T>(
  deps: Dependencies,
  leaves: readonly Omit<HireLeaf<T>, "kind">[],
): Promise<HireOutcome<T>[]> {
  const ctx = deps.runtime;
  for (const leaf of leaves) tellHandoff(ctx, leaf);
  const outcomes = await ctx.batch(leaves.map((leaf): HireLeaf<T> => ({ ...leaf, kind: "hire" })));
  for (const [at, outcome] of outcomes.entries()) {
    const leaf = leaves[at];
    if (leaf !== undefined) outcomes[at] = await hireAgain(deps, leaf, outcome);
  }
  return outcomes;
}

async function orHere<T>(
  deps: Dependencies,
  leaf: Omit<HireLeaf<T>, "kind">,
  outcome: HireOutcome<T>,
): Promise<HireOutcome<T>> {
  return lacksSeat(outcome) && canWorkHere(leaf) ? workHere(deps, leaf) : outcome;
}

function lacksSeat(outcome: HireOutcome): boolean {
  return (
    outcome.status === "denied" &&
    isRaviError(outcome.error, "BUDGET_EXHAUSTED") &&
    outcome.error.dimension === "agents"
  );
}

/** Layers, limits and listeners of its own would be lost on another's lane: such an agent needs a seat. */
function canWorkHere({ agent, executionBudget, timeoutS }: Omit<HireLeaf, "kind">): boolean {
  const { pipelines, defaults, hooks } = agent;
  const layers = [pipelines?.agent, pipelines?.chat, pipelines?.function];
  const guarded = layers.some((pipeline) => pipeline !== undefined && !pipeline.isNoop);
  return !guarded && [defaults, hooks, executionBudget, timeoutS].every((own) => own === undefined);
}

async function workHere<T>(deps: Dependencies, leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
  const { agent, input } = leaf;
  const scope = scopeForWorker(deps.scope, agentName(agent.id));
  const lane = new LaneContext(deps.runtime, { scope });
  try {
    const result: AgentResult<T> = await agent.run(lane, bareInbox(input));
    return { status: result.status, result };
  } catch (error) {
    // A rule that was met here is this run's, and not the worker's alone.
    if (isStop(error)) throw error;
    if (isRaviError(error)) return { status: "failed", error };
    const message = `${agent.id} failed: ${messageOf(error)}`;
    return { status: "failed", error: new ToolError({ toolName: agent.id, message, cause: error }) };
  }
}

/** Somebody is about to be hired. */
export function tellHandoff(
  ctx: RunContext,
  { agent, input: task }: Pick<HireLeaf, "agent" | "input">,
): void {
  const to = agent.id;
  ctx.emit({ type: "handoff", to, task });
  if (ctx.hooks.has(HookEvent.HANDOFF))
    void ctx.hooks.dispatch(HookEvent.HANDOFF, { ...hookBase(ctx), to, task });
}

/** The workers of a strategy as its prompts list them. */
export function describeWorkers(workers: Readonly<Record<string, Agent>>): string {
  return Object.entries(workers)
    .map(([role, { description }]) => `- ${role}${description === undefined ? "" : `: ${description}`}`)
    .join("\n");
}

export function describeTools(tools: readonly (Tool | DelegateTool)[]): string {
  return tools
    .map((tool) => `- ${tool.name}: ${tool.description}${isDelegate(tool) ? " (another agent)" : ""}`)
    .join("\n");
}
