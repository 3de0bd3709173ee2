import * as restate from "@restatedev/restate-sdk";
import type { RunEvent } from "@ravi/kernel";
import { TOPIC } from "../names.ts";
import { OBJECT_RETRIES } from "../retries.ts";
import { bytesOf } from "../sizes.ts";
import {
  append,
  CHUNK,
  chunkOf,
  EMPTY,
  type Head,
  isLarge,
  keep,
  type Kept,
  keyOf,
  MOST_OF_PAGE,
  type NumberedEvent,
} from "./log.ts";

const HEAD = "head";
const NO_JOURNAL = { journalRetention: 0, enableLazyState: true } as const;

/** A part of the events. `isClosed` means that no more will follow. */
export type Page = { readonly events: readonly RunEvent[]; readonly isClosed: boolean };

/** The events of one run, numbered. A reader that continues from a number misses nothing and sees nothing twice. */
export function topicObject(): restate.VirtualObjectDefinition<typeof TOPIC, unknown> {
  const tell = async (context: restate.ObjectContext, events: readonly NumberedEvent[]): Promise<void> => {
    const { head, added } = append((await context.get<Head>(HEAD)) ?? EMPTY, events);
    const chunks = new Map<string, Kept[]>();
    for (const event of added) {
      const name = chunkOf(event.seq);
      let chunk = chunks.get(name);
      if (chunk === undefined) chunks.set(name, (chunk = (await context.get<Kept[]>(name)) ?? []));
      const kept = keep(event);
      if (isLarge(kept)) context.set(keyOf(event.seq), event);
      chunk.push(kept);
    }
    for (const [name, chunk] of chunks) context.set(name, chunk);
    if (added.length > 0) context.set(HEAD, head);
  };
  const read = async (context: restate.ObjectSharedContext, { from }: { from: number }): Promise<Page> => {
    const { next, isClosed } = (await context.get<Head>(HEAD)) ?? EMPTY;
    const events = await eventsBetween(context, from, next);
    return { events, isClosed: isClosed && from + events.length >= next };
  };
  const close = async (context: restate.ObjectContext): Promise<void> =>
    context.set(HEAD, { ...((await context.get<Head>(HEAD)) ?? EMPTY), isClosed: true });
  const forget = async (context: restate.ObjectContext): Promise<void> => context.clearAll();
  return restate.object({
    name: TOPIC,
    options: { retryPolicy: OBJECT_RETRIES },
    handlers: {
      tell: restate.handlers.object.exclusive(NO_JOURNAL, tell),
      read: restate.handlers.object.shared(NO_JOURNAL, read),
      close: restate.handlers.object.exclusive(NO_JOURNAL, close),
      forget: restate.handlers.object.exclusive(NO_JOURNAL, forget),
    },
  });
}

/** The events from a number on, as many as go into one page. */
async function eventsBetween(
  context: restate.ObjectSharedContext,
  from: number,
  next: number,
): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  let bytes = 0;
  for (let at = from; at < next && events.length < 4 * CHUNK; at = (Math.floor(at / CHUNK) + 1) * CHUNK) {
    for (const kept of (await context.get<Kept[]>(chunkOf(at))) ?? []) {
      if (kept.seq < from || kept.seq >= next) continue;
      bytes += isLarge(kept) ? kept.bytes : bytesOf(kept);
      if (bytes > MOST_OF_PAGE && events.length > 0) return events;
      const event = isLarge(kept) ? await context.get<RunEvent>(keyOf(kept.seq)) : kept;
      if (event !== null) events.push(event);
    }
  }
  return events;
}
