import { field, stringOr, textIn } from "@ravi/kernel/provider";
import type { OutputItem } from "./output.ts";

export type ItemType = OutputItem["type"] | "other";

/** An item of the answer while it comes in. */
export interface Draft {
  readonly type: ItemType;
  /** Which of the calls it is. */
  readonly position: number;
  /** What was handed on of it. */
  told: string;
  /** What its parts say, as far as they came by themselves; what is told of them cannot be taken back. */
  readonly parts: Map<string, string>;
  /** Its place in the answer, where an event said so. */
  place: number | undefined;
  /** Arguments that came before the call could be announced. */
  held: string;
  callId: string | undefined;
  name: string | undefined;
  /** The id under which it was announced. */
  announced: string | undefined;
  refused: boolean;
  /** The part of the reasoning that comes in, so that the next one begins a paragraph. */
  part: string | undefined;
  /** The arguments were said to be whole. */
  isWhole: boolean;
  /** The item as the server closed it. */
  done: unknown;
}

/** The items of an answer, found again by the events that belong to them. */
export interface Drafts {
  /** For `output_item.added`: a new one, unless this very item is known. */
  begin(event: unknown): Draft;
  /** For any other event about an item: without id and place it is the latest of its type. What nobody announced is begun. */
  find(event: unknown, type: ItemType): Draft;
  /** For an event that says a part whole: also the latest of its type where the pieces of that said no place. */
  findWhole(event: unknown, type: ItemType): Draft;
  /** The drafts of the items of the finished answer, one for each: by their ids, else by their places, else in their order. */
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
      position: type === "function_call" ? calls++ : -1,
      told: "",
      parts: new Map(),
      place: undefined,
      held: "",
      callId: undefined,
      name: undefined,
      announced: undefined,
      refused: false,
      part: undefined,
      isWhole: false,
      done: undefined,
    };
    drafts.push(draft);
    latest.set(type, draft);
    return draft;
  };
  const note = (draft: Draft, id: string | undefined, index: unknown): Draft => {
    if (id !== undefined) byId.set(id, draft);
    if (typeof index === "number") {
      byIndex.set(index, draft);
      draft.place ??= index;
    }
    return draft;
  };
  /** By its id; else by its place, since some servers give each event an id of its own. */
  const lookUp = (id: string | undefined, index: unknown, type: ItemType): Draft | undefined => {
    const named = id === undefined ? undefined : byId.get(id);
    if (named !== undefined) return named.type === type ? named : undefined;
    const placed = typeof index === "number" ? byIndex.get(index) : undefined;
    return placed?.type === type ? placed : undefined;
  };
  const find = (event: unknown, type: ItemType, otherwise?: Draft): Draft => {
    const id = textIn(field(event, "item_id")) ?? textIn(field(field(event, "item"), "id"));
    const index = field(event, "output_index");
    const isLost = id === undefined && typeof index !== "number";
    const found = isLost ? latest.get(type) : lookUp(id, index, type);
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
      return find(event, type, last?.place === undefined ? last : undefined);
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
  return type === "message" || type === "reasoning" || type === "function_call" ? type : "other";
}
