import type { Agent, AgentResult } from "../agent/agent.ts";
import { InvalidValueError } from "../errors/errors.ts";

/**
 * Checks what an agent returned. Anything but a result throws an `InvalidValueError` that names the agent. A result that gives a
 * reason why it was cut off is `partial`, whatever its status says.
 */
export function readResult<T>(agentId: Agent["id"], result: AgentResult<T>): AgentResult<T> {
  const given: unknown = result;
  if (typeof given !== "object" || given === null) {
    throw wrong(agentId, "", given, "{ status, output, stopReason }");
  }
  const { status, output, stopReason, problem } = result;
  if (status !== "completed" && status !== "partial" && status !== "paused")
    throw wrong(agentId, ".status", status, '"completed", "partial" or "paused"');
  if (typeof output !== "string") throw wrong(agentId, ".output", output, "a string");
  if (problem !== undefined && typeof problem !== "string")
    throw wrong(agentId, ".problem", problem, "a string, or none");
  const isCutOff = status === "completed" && stopReason !== "done" && stopReason !== undefined;
  return isCutOff ? { ...result, status: "partial" } : result;
}

function wrong(agentId: Agent["id"], field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: `${agentId}: result${field}`, value, expected });
}
