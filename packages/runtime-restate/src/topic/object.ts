import * as restate from "@restatedev/restate-sdk";
import type { RunEvent } from "@ravi/kernel";
import { TOPIC } from "../names.ts";
import { OBJECT_RETRIES } from "../retries.ts";
import { append, CHUNK, chunkOf, EMPTY, type Head, type NumberedEvent } from "./log.ts";

const HEAD = "head";
const NO_JOURNAL = { journalRetention: 0, enableLazyState: true } as const;

/** A part of the events. `isClosed` means that no more will follow. */
export type Page = { readonly events: readonly RunEvent[]; readonly isClosed: boolean };

/** The events of one run, numbered. A reader that continues from a number misses nothing and sees nothing twice. */
export function topicObject(): restate.VirtualObjectDefinition<typeof TOPIC, unknown> {
  const tell = async (context: restate.ObjectContext, events: readonly NumberedEvent[]): Promise<void> => {
    const { head, added } = append((await context.get<Head>(HEAD)) ?? EMPTY, events);
    const chunks = new Map<string, RunEvent[]>();
    for (const event of added) {
      const name = chunkOf(event.seq);
      let chunk = chunks.get(name);
      if (chunk === undefined) chunks.set(name, (chunk = (await context.get<RunEvent[]>(name)) ?? []));
      chunk.push(event);
    }
    for (const [name, chunk] of chunks) context.set(name, chunk);
    if (added.length > 0) context.set(HEAD, head);
  };
  const read = async (context: restate.ObjectSharedContext, { from }: { from: number }): Promise<Page> => {
    const { next, isClosed } = (await context.get<Head>(HEAD)) ?? EMPTY;
    const events: RunEvent[] = [];
    for (let at = from; at < next && events.length < 4 * CHUNK; at = (Math.floor(at / CHUNK) + 1) * CHUNK) {
      const chunk = (await context.get<RunEvent[]>(chunkOf(at))) ?? [];
      events.push(...chunk.filter(({ seq }) => seq >= from && seq < next));
    }
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
