import type { Agent, AgentResult } from "../agent/agent.ts";
import { InvalidValueError } from "../errors/errors.ts";

/**
 * What an agent returned, for whoever hosts it. What is no result is the agent's failure, told as such, and not a riddle for
 * its parent. One that says what cut it off has not completed, whatever its status says.
 */
export function readResult<T>(agentId: Agent["id"], result: AgentResult<T>): AgentResult<T> {
  const given: unknown = result;
  if (typeof given !== "object" || given === null) {
    throw wrong(agentId, "", given, "{ status, output, stopReason }");
  }
  const { status, output, stopReason } = result;
  if (status !== "completed" && status !== "partial" && status !== "paused")
    throw wrong(agentId, ".status", status, "completed, partial or paused");
  if (typeof output !== "string") throw wrong(agentId, ".output", output, "a text");
  const isCutOff = status === "completed" && stopReason !== "done" && stopReason !== undefined;
  return isCutOff ? { ...result, status: "partial" } : result;
}

function wrong(agentId: Agent["id"], field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: `${agentId}: result${field}`, value, expected });
}
