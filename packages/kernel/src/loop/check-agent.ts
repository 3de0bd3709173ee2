import type { Agent } from "../agent/agent.ts";
import { checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { checkPipelines } from "./pipeline-levels.ts";

/** Whether the value can be run or hired. */
export function isAgent(value: unknown): value is Agent {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    "id" in value &&
    typeof value.id === "string" &&
    "run" in value &&
    typeof value.run === "function"
  );
}

/** Throws an `InvalidValueError` unless the value is an agent. */
export function checkAgent(field: string, agent: unknown): asserts agent is Agent {
  if (isAgent(agent)) return;
  const expected = "an agent: an object with an id and a run(ctx, inbox) method";
  throw new InvalidValueError({ field, value: agent, expected });
}

export function checkAgents(field: string, agents: unknown): void {
  if (!Array.isArray(agents))
    throw new InvalidValueError({ field, value: agents, expected: "an array of agents" });
  for (const [at, agent] of agents.entries()) checkAgent(`${field}[${at}]`, agent);
}

/** Refuses `agent.run("Hello")`, which looks as if it ran the agent: what an agent works with is passed to it by a host. */
export function checkHost({ id }: Pick<Agent, "id">, inbox: object | string | undefined): void {
  if (inbox !== undefined) return;
  const expected =
    "an inbox: a host calls run(ctx, inbox); to run an agent, call run(agent, input) of @ravi/sdk, or runtime.run(agent, input)";
  throw new InvalidValueError({ field: `${id}.run: inbox`, value: inbox, expected });
}

/** Checks an agent's hooks and pipelines. It runs for every run and hire, so it allocates nothing if all is well. */
export function checkHosted(agent: Pick<Agent, "id" | "pipelines" | "hooks">): void {
  const { id, hooks } = agent;
  if (hooks !== undefined && (typeof hooks?.has !== "function" || typeof hooks.dispatch !== "function")) {
    const expected = "Hooks with the methods has and dispatch, such as a HookManager of @ravi/hooks";
    throw new InvalidValueError({ field: `agent ${id}: hooks`, value: hooks, expected });
  }
  checkPipelines(agent);
}

/** Refuses unknown fields: a misspelt limit that is silently ignored is no limit. */
export function checkDefaults({ id, defaults }: Pick<Agent, "id" | "defaults">): void {
  if (defaults === undefined || areDefaults(defaults)) return;
  checkFields(`agent ${id}: defaults`, defaults, ["spawnBudget", "executionBudget"]);
}

function areDefaults(defaults: NonNullable<Agent["defaults"]>): boolean {
  if (defaults?.executionBudget === undefined && defaults?.spawnBudget === undefined) return false;
  for (const name in defaults) if (name !== "executionBudget" && name !== "spawnBudget") return false;
  return true;
}
