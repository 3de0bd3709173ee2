import { type ChatMessage, deepFreeze, type MaybePromise } from "@ravi/kernel";
import type { CompactionItem, EntryHead, SessionEntry } from "../store/entry.ts";

/** A message that the model sees, and the id of its entry; null if a compaction has produced it. */
export interface Placed {
  readonly message: ChatMessage;
  readonly id: string | null;
}

/** What a model sees at the end of a path: the items of the newest compaction on it, and all messages after that. */
export async function expand(
  path: readonly EntryHead[],
  read: (head: EntryHead) => MaybePromise<SessionEntry>,
): Promise<Placed[]> {
  const at = path.findLastIndex(({ kind }) => kind === "compaction");
  const placed: Placed[] = [];
  const compaction = path[at];
  if (compaction !== undefined) {
    const entry = await read(compaction);
    const items = entry.kind === "compaction" ? entry.items : [];
    const places = new Map(path.map(({ id }, place) => [id, place]));
    for (const item of items) {
      if ("message" in item) {
        placed.push({ message: item.message, id: null });
        continue;
      }
      const from = places.get(item.from);
      const to = places.get(item.to);
      if (from !== undefined && to !== undefined) await pushMessages(placed, path.slice(from, to + 1), read);
    }
  }
  await pushMessages(placed, path.slice(at + 1), read);
  return placed;
}

async function pushMessages(
  placed: Placed[],
  heads: readonly EntryHead[],
  read: (head: EntryHead) => MaybePromise<SessionEntry>,
): Promise<void> {
  for (const head of heads) {
    if (head.kind !== "message") continue;
    const entry = await read(head);
    if (entry.kind === "message") placed.push({ message: deepFreeze(entry.message), id: entry.id });
  }
}

/**
 * A compacted conversation in the form that is stored. Runs of unchanged messages are stored as the ids of their first and last
 * entry, so a compaction that keeps ten thousand messages is one short line.
 */
export function itemsOf(
  messages: readonly ChatMessage[],
  idOf: (message: ChatMessage) => string | undefined,
  path: readonly EntryHead[],
): CompactionItem[] {
  const order = new Map(path.filter(({ kind }) => kind === "message").map(({ id }, at) => [id, at]));
  const items: CompactionItem[] = [];
  let last: { from: string; to: string } | undefined;
  for (const message of messages) {
    const id = idOf(message);
    const place = id === undefined ? undefined : order.get(id);
    if (id === undefined || place === undefined) {
      items.push({ message });
      last = undefined;
    } else if (last !== undefined && order.get(last.to) === place - 1) {
      last.to = id;
    } else {
      items.push((last = { from: id, to: id }));
    }
  }
  return items;
}
