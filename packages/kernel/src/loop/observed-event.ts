import type { AgentResult } from "../agent/agent.ts";
import type { AgentEvent } from "../agent/events.ts";
import { plainCopy } from "../core/plain-copy.ts";

/** An event as an observer gets it: a copy of what the run goes on with, so that an observer cannot change the run. */
export function observedEvent(event: AgentEvent): AgentEvent {
  switch (event.type) {
    // Most events are of these types, and have nothing but texts and numbers.
    case "text":
    case "reasoning":
    case "toolArguments":
    case "step":
    case "started":
      return event;
    case "completed":
      return { ...event, result: resultOf(event.result) };
    default:
      return plainCopy(event);
  }
}

/** Read field by field: of a result of a class, a copy by spread would have no getters. */
function resultOf(result: AgentResult): AgentResult {
  const { status, output, stopReason, structured, problem } = result;
  return {
    ...result,
    status,
    output,
    stopReason,
    ...(structured !== undefined && { structured: plainCopy(structured) }),
    ...(problem !== undefined && { problem }),
  };
}
