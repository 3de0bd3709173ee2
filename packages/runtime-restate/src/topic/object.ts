import * as restate from "@restatedev/restate-sdk";
import type { RunEvent } from "@ravi/kernel";
import { TOPIC } from "../names.ts";
import { OBJECT_RETRIES } from "../retries.ts";
import { bytesOf } from "../sizes.ts";
import {
  append,
  CHUNK,
  closed,
  EMPTY,
  type Head,
  isLarge,
  keep,
  type Kept,
  type LogNames,
  MOST_OF_PAGE,
  type NumberedEvent,
  opened,
  RECORD,
  TOLD,
} from "./log.ts";

const NO_JOURNAL = { journalRetention: 0, idempotencyRetention: 0, enableLazyState: true } as const;

/** A part of the events. `isClosed` means that no more will follow. */
export type Page = { readonly events: readonly RunEvent[]; readonly isClosed: boolean };
/** From which event on, and of which log. */
export type ReadMessage = { readonly from: number; readonly isRecord?: boolean | undefined };

/**
 * The events of one run, numbered: what observers are told, and what is on record. A reader that continues from a number misses nothing
 * and sees nothing twice.
 */
export function topicObject(): restate.VirtualObjectDefinition<typeof TOPIC, unknown> {
  const tell = async (context: restate.ObjectContext, events: readonly NumberedEvent[]): Promise<void> => {
    const { told = [], recorded = [] } = Object.groupBy(events, ({ isRecord }) =>
      isRecord === true ? "recorded" : "told",
    );
    if (told.length > 0) await add(context, TOLD, told);
    if (recorded.length > 0) await add(context, RECORD, recorded);
  };
  const read = async (
    context: restate.ObjectSharedContext,
    { from, isRecord = false }: ReadMessage,
  ): Promise<Page> => {
    const log = isRecord ? RECORD : TOLD;
    const { next, isClosed } = (await context.get<Head>(log.head)) ?? EMPTY;
    const events = await eventsBetween(context, log, from, next);
    return { events, isClosed: isClosed && from + events.length >= next };
  };
  const change =
    (how: (head: Head, retries: number) => Head) =>
    async (context: restate.ObjectContext, message: { readonly retries: number } | null): Promise<void> => {
      for (const { head } of [TOLD, RECORD])
        context.set(head, how((await context.get<Head>(head)) ?? EMPTY, message?.retries ?? 0));
    };
  const forget = async (context: restate.ObjectContext): Promise<void> => context.clearAll();
  return restate.object({
    name: TOPIC,
    options: { retryPolicy: OBJECT_RETRIES },
    handlers: {
      tell: restate.handlers.object.exclusive(NO_JOURNAL, tell),
      read: restate.handlers.object.shared(NO_JOURNAL, read),
      close: restate.handlers.object.exclusive(NO_JOURNAL, change(closed)),
      open: restate.handlers.object.exclusive(NO_JOURNAL, change(opened)),
      forget: restate.handlers.object.exclusive(NO_JOURNAL, forget),
    },
  });
}

async function add(
  context: restate.ObjectContext,
  log: LogNames,
  events: readonly NumberedEvent[],
): Promise<void> {
  const { head, added } = append((await context.get<Head>(log.head)) ?? EMPTY, events);
  const chunks = new Map<string, Kept[]>();
  for (const event of added) {
    const name = log.chunkOf(event.seq);
    let chunk = chunks.get(name);
    if (chunk === undefined) chunks.set(name, (chunk = (await context.get<Kept[]>(name)) ?? []));
    const kept = keep(event);
    if (isLarge(kept)) context.set(log.keyOf(event.seq), event);
    chunk.push(kept);
  }
  for (const [name, chunk] of chunks) context.set(name, chunk);
  if (added.length > 0) context.set(log.head, head);
}

/** The events from a number on, as many as go into one page. */
async function eventsBetween(
  context: restate.ObjectSharedContext,
  log: LogNames,
  from: number,
  next: number,
): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  let bytes = 0;
  for (let at = from; at < next && events.length < 4 * CHUNK; at = (Math.floor(at / CHUNK) + 1) * CHUNK) {
    for (const kept of (await context.get<Kept[]>(log.chunkOf(at))) ?? []) {
      if (kept.seq < from || kept.seq >= next) continue;
      bytes += isLarge(kept) ? kept.bytes : bytesOf(kept);
      if (bytes > MOST_OF_PAGE && events.length > 0) return events;
      const event = isLarge(kept) ? await context.get<RunEvent>(log.keyOf(kept.seq)) : kept;
      if (event !== null) events.push(event);
    }
  }
  return events;
}
