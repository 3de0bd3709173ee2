import type { AgentEvent } from "../agent/events.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { messageOf } from "../errors/message-of.ts";

/**
 * Throws an `InvalidValueError` if the data of an event cannot be written as JSON: an engine may store it. Checked even if
 * nobody observes the run, so that observers make no difference.
 */
export function checkEvent(event: AgentEvent): void {
  // Read once: events have many shapes, so that each look takes 60 instructions.
  const type: unknown = event?.type;
  if (typeof type !== "string") {
    const expected = 'an event with a type, such as { type: "progress", name, data }';
    throw new InvalidValueError({ field: "event", value: event, expected });
  }
  if (type === "progress" && event.type === type) jsonOf(`event ${event.name}: data`, event.data);
}

/** The data as JSON; undefined if JSON has nothing for it. Throws an `InvalidValueError` if it cannot be written. */
export function jsonOf(field: string, data: unknown): string | undefined {
  try {
    return JSON.stringify(data);
  } catch (cause) {
    // A cycle, a bigint, a getter that throws, or nesting so deep that the stack overflows.
    const expected = `data that can be written as JSON (${messageOf(cause)})`;
    throw new InvalidValueError({ field, value: data, expected, cause });
  }
}
