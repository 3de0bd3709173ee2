import type { JsonObject, RunEvent } from "@ravi/kernel";

/** How many events lie in one value of the store: appending rewrites one of them, never the whole log. */
export const CHUNK = 64;

/** An event on its way. Those of the lane are numbered by its execution, so that a replay adds nothing twice. */
export type Told = {
  readonly n: number | null;
  readonly at: number;
  readonly agentId: string;
  readonly execId: string;
  readonly event: JsonObject;
};

export interface Head {
  /** The number of the next event. */
  next: number;
  /** The last number that each execution told. */
  readonly told: Record<string, number>;
  isClosed: boolean;
}

export const EMPTY: Head = { next: 0, told: {}, isClosed: false };

export interface Appended {
  readonly head: Head;
  readonly added: readonly RunEvent[];
}

/** Numbers what is new, without a gap. */
export function append(head: Head, events: readonly Told[]): Appended {
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

export function chunkOf(seq: number): string {
  return `events:${Math.floor(seq / CHUNK)}`;
}
