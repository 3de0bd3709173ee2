import type { AgentEvent } from "../agent/events.ts";
import type { JsonValue } from "../core/json.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { jsonOf } from "./check-event.ts";

/**
 * The event for what a tool reports while it works. Its data is a copy: the tool may change its own before every observer has read the
 * event. Checked even if nobody observes the run, so that observers make no difference.
 */
export function toolProgress(callId: string, name: unknown, data: unknown = null): AgentEvent {
  if (typeof name !== "string" || name === "")
    throw new InvalidValueError({ field: "progress.name", value: name, expected: "a non-empty string" });
  return { type: "progress", name, data: copyOf(data), callId };
}

/** Numbers that JSON does not have become null, as in any JSON: a percentage of nothing must not fail the tool. */
function copyOf(data: unknown): JsonValue {
  const text = jsonOf("progress.data", data);
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}
