import type { Agent } from "../agent/agent.ts";
import { checkFields, checkRecord } from "../core/check.ts";
import type { IdSource } from "../core/clock.ts";
import { agentName } from "../core/ids.ts";
import { checkMessage } from "../core/plain-json.ts";
import { AgentNotFoundError, InvalidValueError } from "../errors/errors.ts";
import { type RootOptions, rootNode, type Supervision } from "../policy/supervision.ts";
import { checkAgent } from "./check-agent.ts";
import { tighterBudget } from "./limits.ts";

/** Checks the arguments of `run`. Unknown options are refused: a misspelt limit that is silently ignored is no limit. */
export function checkRun(agent: unknown, input: unknown, options: unknown, fields: readonly string[]): void {
  checkAgent("agent", agent);
  checkInput(input);
  const { onEvent, runId, tenantId, userId, metadata } = checkFields("run options", options, fields);
  // It could be the execution id of an agent that another run has hired: both would pay under the same idempotency keys.
  if (typeof runId === "string" && runId.includes("/hire:"))
    wrong("runId", runId, "an id without /hire:, which is reserved for the ids of hired agents");
  if (onEvent !== undefined && typeof onEvent !== "function") wrong("onEvent", onEvent, "a function");
  if (!isTextOrNone(tenantId)) wrong("tenantId", tenantId, "a string");
  if (!isTextOrNone(userId)) wrong("userId", userId, "a string");
  if (metadata === undefined) return;
  checkRecord("run options.metadata", metadata, "an object of plain JSON");
  // On record it would be something else, or nothing.
  checkMessage("run options.metadata", metadata);
}

/** Throws unless the input of a run is a text. Whoever gives messages is told where a conversation belongs. */
export function checkInput(input: unknown): void {
  if (typeof input === "string") return;
  const expected = isConversation(input)
    ? "a string: the new message alone. With the option sessionId a run continues a conversation, whose earlier messages are loaded from its history; pictures and files are attachments"
    : "a string; pass an object as JSON";
  throw new InvalidValueError({ field: "input", value: input, expected });
}

function isConversation(input: unknown): boolean {
  return Array.isArray(input) || (typeof input === "object" && input !== null && "role" in input);
}

/** Null is allowed, because a scope has null for none. */
function isTextOrNone(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

function wrong(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `run options.${field}`, value, expected });
}

/** The root node of a new tree, from the run's options and the agent's defaults. */
export function newRoot(agent: Agent, options: Omit<RootOptions, "ids">, ids: IdSource): Supervision {
  return rootNode(agent.id, {
    ids,
    runId: options.runId,
    sessionId: options.sessionId,
    spawnBudget: options.spawnBudget ?? agent.defaults?.spawnBudget,
    executionBudget: tighterBudget(agent, options.executionBudget ?? undefined),
    retention: options.retention,
    priority: options.priority,
  });
}

/** `name@version`, the name under which an agent is registered, and that a run is recorded with. */
export function versionName(agent: Agent): string {
  checkAgent("agent", agent);
  return `${agentName(agent.id)}@${agent.version ?? "1"}`;
}

/** The agent in the given version. Throws an `AgentNotFoundError` if it is not registered. */
export function versionOf(
  agents: ReadonlyMap<string, Agent>,
  agent: Agent,
  version: string | undefined,
): Agent {
  checkAgent("agent", agent);
  if (version === undefined || (agent.version ?? "1") === version) return agent;
  if (typeof version !== "string") wrong("version", version, "a string, such as the version of an agent");
  const name = `${agentName(agent.id)}@${version}`;
  const known = agents.get(name);
  if (known === undefined) throw new AgentNotFoundError({ agent: name, known: [...agents.keys()] });
  return known;
}
