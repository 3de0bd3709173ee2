import type { AgentEvent, JsonObject } from "@ravi/kernel";

/**
 * In bytes. The server carries 32 MiB for all messages of one invocation together, and one that adds an event to the log has it twice.
 * It would try again for ever, and no later event could be read.
 */
const MOST = 8 * 1024 * 1024;

export interface StoredEvent {
  readonly event: JsonObject;
  /** What to log about an event that is too large. In its place there is a `progress` event `eventTooLarge`. */
  readonly problem?: string | undefined;
}

/** The event as it is stored at the server. */
export function storedEvent(event: AgentEvent): StoredEvent {
  const text = JSON.stringify(event);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MOST) return { event: JSON.parse(text) as JsonObject };
  const { type } = event;
  const name = type === "progress" ? `${type} ${event.name}` : type;
  return {
    event: { type: "progress", name: "eventTooLarge", data: { type, bytes } },
    problem: `the event ${name} has ${bytes} bytes as JSON, and is not published; expected at most ${MOST}`,
  };
}
