import type { JsonObject, RunEvent } from "@ravi/kernel";
import { bytesOf } from "../sizes.ts";

/** Events per stored value. Appending rewrites one such value, never the whole log. */
export const CHUNK = 64;

/** In bytes. A larger event is stored by itself, so that neither a stored value nor a page gets too large for the server. */
const LARGE = 64 * 1024;
/** In bytes. A page has one event at least, whatever its size. */
export const MOST_OF_PAGE = 4 * 1024 * 1024;

/** An event that is stored by itself. */
export type LargeEvent = { readonly seq: number; readonly bytes: number };

/** What is in a stored value: the event itself, or where it is. */
export type Kept = RunEvent | LargeEvent;

export function isLarge(kept: Kept): kept is LargeEvent {
  return "bytes" in kept;
}

/** How the event is kept in a stored value. */
export function keep(event: RunEvent): Kept {
  const bytes = bytesOf(event);
  return bytes > LARGE ? { seq: event.seq, bytes } : event;
}

/** An event to be published. Events between calls are numbered by their execution (`n`), so that a replay adds nothing twice. */
export type NumberedEvent = {
  readonly n: number | null;
  readonly at: number;
  readonly agentId: string;
  readonly execId: string;
  readonly event: JsonObject;
  /** Whether it is for the record, and not for observers. All of those are numbered. */
  readonly isRecord?: boolean | undefined;
};

export interface Head {
  /** The `seq` of the next event. */
  next: number;
  /** The last number `n` of each execution. */
  readonly told: Record<string, number>;
  isClosed: boolean;
  /** How often its run was retried. */
  retries?: number | undefined;
}

/** As in one process, events are counted from 1. */
export const FIRST = 1;

export const EMPTY: Head = { next: FIRST, told: {}, isClosed: false };

/** No more events follow of this retry of the run. */
export function closed(head: Head, retries: number): Head {
  return retries < (head.retries ?? 0) ? head : { ...head, isClosed: true };
}

/** The run was over and goes on. The server and its client both say so. */
export function opened(head: Head, retries: number): Head {
  return retries <= (head.retries ?? 0) ? head : { ...head, isClosed: false, retries };
}

export interface Appended {
  readonly head: Head;
  readonly added: readonly RunEvent[];
}

/** Gives new events their sequence numbers, without gaps, and drops repeats. */
export function append(head: Head, events: readonly NumberedEvent[]): Appended {
  const told = { ...head.told };
  let { next } = head;
  const added: RunEvent[] = [];
  for (const { n, at, agentId, execId, event } of events) {
    if (n !== null) {
      if (n <= (told[execId] ?? 0)) continue;
      told[execId] = n;
    }
    added.push({ seq: next++, at, agentId, execId, event } as JsonObject & RunEvent);
  }
  return { head: { ...head, next, told }, added };
}

/** The names of the stored values of one log. They must never change, because runs live longer than deployments. */
export interface LogNames {
  readonly head: string;
  /** The value that has this event. */
  readonly chunkOf: (seq: number) => string;
  /** An event that is stored by itself. */
  readonly keyOf: (seq: number) => string;
}

/** What observers are told. */
export const TOLD: LogNames = {
  head: "head",
  chunkOf: (seq) => `events:${Math.floor(seq / CHUNK)}`,
  keyOf: (seq) => `event:${seq}`,
};

/** What was done, from the journals of the executions: each answer once and whole. */
export const RECORD: LogNames = {
  head: "recordHead",
  chunkOf: (seq) => `records:${Math.floor(seq / CHUNK)}`,
  keyOf: (seq) => `record:${seq}`,
};
