import type { AgentEvent } from "../agent/events.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { messageOf } from "./tool-call.ts";

/**
 * Throws an `InvalidValueError` if the data of an event cannot be written as JSON: an engine may store it. Checked even if
 * nobody observes the run, so that observers make no difference.
 */
export function checkEvent(event: AgentEvent): void {
  if (event.type !== "progress") return;
  try {
    JSON.stringify(event.data);
  } catch (cause) {
    // A cycle, a bigint, a getter that throws, or nesting so deep that the stack overflows.
    const expected = `data that can be written as JSON (${messageOf(cause)})`;
    throw new InvalidValueError({ field: `event ${event.name}: data`, value: event.data, expected, cause });
  }
}
