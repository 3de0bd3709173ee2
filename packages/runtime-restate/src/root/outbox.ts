import type { JsonValue } from "@ravi/kernel";
import type { Launch } from "./messages.ts";

/** What the root object does outward at the end of a message. It decides first and does all of it then, so it never waits. */
export interface Outbox {
  readonly resolved: { readonly awakeable: string; readonly value: JsonValue }[];
  readonly launched: Launch[];
  /** The run is over, and nothing more will be told of it. */
  isOver: boolean;
}

export function emptyOutbox(): Outbox {
  return { resolved: [], launched: [], isOver: false };
}
