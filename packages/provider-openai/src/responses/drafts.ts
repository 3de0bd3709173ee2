import { field, stringOr, textIn } from "@ravi/kernel/provider";
import type { OutputItem } from "./output.ts";

export type ItemType = OutputItem["type"] | "other";

/** An item of the answer while it comes in. */
export interface Draft {
  readonly type: ItemType;
  /** Its `output_index`, if an event had one. */
  outputIndex: number | undefined;
  /** Its text or its arguments, as far as they were emitted. What was emitted cannot be taken back. */
  emitted: string;
  /** The item as the server closed it. */
  closedItem: unknown;

  // Of a message, and of reasoning:

  /** The text of each part so far, by its name. */
  readonly parts: Map<string, string>;
  /** The part of the reasoning that is being streamed. The next part begins a new paragraph. */
  currentPart: string | undefined;
  refused: boolean;

  // Of a function call:

  /** Counts the calls of the answer from 0. */
  readonly callIndex: number;
  callId: string | undefined;
  name: string | undefined;
  /** The id under which the call was announced. It is announced once it has the server's id and name. */
  announcedId: string | undefined;
  /** Arguments that came before the call was announced; or all of them, once `hasAllArguments`. */
  heldArguments: string;
  hasAllArguments: boolean;
}

/** The items of an answer, and how to find the one that an event is about. */
export interface Drafts {
  /** For `output_item.added`: creates a draft, unless the item is known already. */
  begin(event: unknown): Draft;
  /**
   * For any other event about an item. Without id and index, it is about the latest item of its type. An unknown item is created.
   */
  find(event: unknown, type: ItemType): Draft;
  /** For an event with a whole part. If its item is not known, it is that of the latest item of its type that has no index. */
  findWhole(event: unknown, type: ItemType): Draft;
  /** The drafts of the items of the finished answer, one for each: by id, else by index, else by order. */
  match(items: readonly unknown[]): readonly Draft[];
  all(): readonly Draft[];
}

export function makeDrafts(): Drafts {
  const drafts: Draft[] = [];
  const byId = new Map<string, Draft>();
  const byIndex = new Map<number, Draft>();
  const latest = new Map<ItemType, Draft>();
  let calls = 0;

  const create = (type: ItemType): Draft => {
    const draft: Draft = {
      type,
      outputIndex: undefined,
      emitted: "",
      closedItem: undefined,
      parts: new Map(),
      currentPart: undefined,
      refused: false,
      callIndex: type === "function_call" ? calls++ : -1,
      callId: undefined,
      name: undefined,
      announcedId: undefined,
      heldArguments: "",
      hasAllArguments: false,
    };
    drafts.push(draft);
    latest.set(type, draft);
    return draft;
  };
  const note = (draft: Draft, id: string | undefined, index: unknown): Draft => {
    if (id !== undefined) byId.set(id, draft);
    if (typeof index === "number") {
      byIndex.set(index, draft);
      draft.outputIndex ??= index;
    }
    return draft;
  };
  /** By its id; else by its index, since some servers give each event a new id. */
  const lookUp = (id: string | undefined, index: unknown, type: ItemType): Draft | undefined => {
    const named = id === undefined ? undefined : byId.get(id);
    if (named !== undefined) return named.type === type ? named : undefined;
    const placed = typeof index === "number" ? byIndex.get(index) : undefined;
    return placed?.type === type ? placed : undefined;
  };
  const find = (event: unknown, type: ItemType, otherwise?: Draft): Draft => {
    const id = textIn(field(event, "item_id")) ?? textIn(field(field(event, "item"), "id"));
    const index = field(event, "output_index");
    const isUnnamed = id === undefined && typeof index !== "number";
    const found = isUnnamed ? latest.get(type) : lookUp(id, index, type);
    return note(found ?? otherwise ?? create(type), id, index);
  };

  return {
    begin(event) {
      const item = field(event, "item");
      const id = textIn(field(item, "id"));
      const type = typeOf(item);
      const known = id === undefined ? undefined : byId.get(id);
      return note(known?.type === type ? known : create(type), id, field(event, "output_index"));
    },
    find: (event, type) => find(event, type),
    findWhole(event, type) {
      const last = latest.get(type);
      return find(event, type, last?.outputIndex === undefined ? last : undefined);
    },
    match(items) {
      const found = new Map<number, Draft>();
      const free = new Set(drafts);
      const pair = (choose: (item: unknown, position: number) => Draft | undefined): void => {
        for (const [position, item] of items.entries()) {
          if (found.has(position)) continue;
          const draft = choose(item, position);
          if (draft === undefined || draft.type !== typeOf(item) || !free.delete(draft)) continue;
          found.set(position, draft);
        }
      };
      pair((item) => byId.get(stringOr(field(item, "id"), "")));
      pair((_, position) => byIndex.get(position));
      const left = Map.groupBy(free, ({ type }) => type);
      for (const list of left.values()) list.reverse();
      pair((item) => left.get(typeOf(item))?.pop());
      return items.map((item, position) => found.get(position) ?? create(typeOf(item)));
    },
    all: () => drafts,
  };
}

export function typeOf(item: unknown): ItemType {
  const type = field(item, "type");
  if (type === "compaction") return "reasoning";
  return type === "message" || type === "reasoning" || type === "function_call" ? type : "other";
}
