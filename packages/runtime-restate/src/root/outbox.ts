import type { JsonValue } from "@ravi/kernel";
import type { Launch } from "./messages.ts";

/** What the root object does at the end of a message. It decides everything first and acts then, so it never waits in between. */
export interface Outbox {
  readonly resolved: { readonly awakeable: string; readonly value: JsonValue }[];
  readonly launched: Launch[];
  /** The run is over, and no more events will come. */
  isOver: boolean;
  /** The run was over and goes on. */
  isAgain: boolean;
}

export function emptyOutbox(): Outbox {
  return { resolved: [], launched: [], isOver: false, isAgain: false };
}
