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
      // The result may be of a class.
      return { ...event, result: { ...event.result, structured: plainCopy(event.result.structured) } };
    default:
      return plainCopy(event);
  }
}
