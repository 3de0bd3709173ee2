import type { ModelEvent, ToolCall } from "@ravi/kernel";
import { field, textIn, uniqueIds } from "@ravi/kernel/provider";
import { argumentText } from "../answer/argument-text.ts";
import { callKeepsake } from "./kept.ts";
import { type JsonExtent, jsonExtent } from "./json-extent.ts";

type ToolCallEvent = Extract<ModelEvent, { type: "toolCall" }>;

/** Puts the calls of an answer together out of what servers really send. */
export interface ToolCallAssembly {
  /** One entry of a delta's `tool_calls`. */
  add(item: unknown): ToolCallEvent | undefined;
  /** One entry of a whole message's `tool_calls`: always a call of its own. */
  addWhole(item: unknown): void;
  /** What could not be told yet, because an id or a name might still have come. */
  flush(): readonly ToolCallEvent[];
  /** The calls in the order in which they began, each with an id of its own. Only after `flush`. */
  calls(): readonly ToolCall[];
}

interface Draft {
  readonly position: number;
  /** As the server gave it, until it is told: then as it was told. */
  id: string | undefined;
  /** As the server gave it, also where another call has the same. */
  givenId: string | undefined;
  name: string | undefined;
  readonly pieces: string[];
  readonly extent: JsonExtent;
  /** What the server wants back with it. */
  extra: unknown;
  /** Its first event has gone out: id and name are settled. */
  told: boolean;
}

interface Piece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
  readonly extra: unknown;
}

export function assembleToolCalls(provider = "openai"): ToolCallAssembly {
  const drafts: Draft[] = [];
  const byIndex = new Map<number, Draft>();
  const byId = new Map<string, Draft>();
  const ids = uniqueIds();

  const begin = (): Draft => {
    const draft: Draft = {
      position: drafts.length,
      id: undefined,
      givenId: undefined,
      name: undefined,
      pieces: [],
      extent: jsonExtent(),
      extra: undefined,
      told: false,
    };
    drafts.push(draft);
    return draft;
  };
  /** No index: the id says which call it is, else it goes on with the last one. */
  const withoutIndex = (piece: Piece): Draft | undefined => {
    const last = drafts.at(-1);
    if (piece.id === undefined) return last;
    return byId.get(piece.id) ?? (last?.id === undefined ? last : undefined);
  };
  /** The index says which call it is, unless the piece is only the rest of a call that its id names. */
  const withIndex = (piece: Piece, index: number): Draft | undefined => {
    const placed = byIndex.get(index);
    if (piece.id === undefined || piece.name !== undefined || placed?.givenId === piece.id) return placed;
    return byId.get(piece.id) ?? placed;
  };
  const targetOf = (piece: Piece): Draft => {
    const { index } = piece;
    const known = index === undefined ? withoutIndex(piece) : withIndex(piece, index);
    const isNew = known === undefined || beginsAnother(piece, known);
    const draft = isNew ? begin() : known;
    if (index !== undefined && (isNew || !byIndex.has(index))) byIndex.set(index, draft);
    return draft;
  };
  const fill = (draft: Draft, piece: Piece): void => {
    if (!draft.told) {
      draft.id ??= piece.id;
      draft.givenId = draft.id;
      draft.name = grown(draft.name, piece.name);
      if (piece.id !== undefined && draft.id === piece.id) byId.set(piece.id, draft);
    }
    draft.extra = piece.extra ?? draft.extra;
    if (piece.text === "") return;
    draft.pieces.push(piece.text);
    draft.extent.add(piece.text);
  };
  const tell = (draft: Draft): ToolCallEvent => {
    draft.told = true;
    draft.id = ids.give(draft.id ?? `call_${draft.position}`);
    draft.name ??= "";
    const { id, name, position: index } = draft;
    return { type: "toolCall", index, id, name, delta: draft.pieces.join("") };
  };

  return {
    add(item) {
      const piece = readPiece(item);
      const draft = targetOf(piece);
      const { told } = draft;
      fill(draft, piece);
      if (told)
        return piece.text === "" ? undefined : { type: "toolCall", index: draft.position, delta: piece.text };
      // Until its arguments begin, more of the name may come.
      const isSettled = draft.id !== undefined && draft.name !== undefined && draft.pieces.length > 0;
      return isSettled ? tell(draft) : undefined;
    },
    addWhole: (item) => fill(begin(), readPiece(item)),
    flush: () => drafts.filter((draft) => !draft.told).map(tell),
    calls: () =>
      drafts.map(({ id = "", name = "", pieces, extra }) => ({
        id,
        name,
        arguments: pieces.join(""),
        ...callKeepsake(extra, provider),
      })),
  };
}

/**
 * Whether a piece that points at a known call is the head of a new one. Some servers give every call the index 0, others
 * repeat id and name in each piece, so a repeated head counts as new only when it differs or the arguments were whole.
 */
function beginsAnother(piece: Piece, known: Draft): boolean {
  if (piece.name === undefined || known.name === undefined) return false;
  const isSameId = piece.id !== undefined && piece.id === known.givenId;
  const isOtherId = piece.id !== undefined && known.givenId !== undefined && !isSameId;
  if (piece.name !== known.name) {
    // A name that comes in pieces does so before the arguments, and points at the one call that it belongs to.
    const mayGrow = known.pieces.length === 0 && (isSameId || piece.index !== undefined);
    return isOtherId || !mayGrow;
  }
  if (isOtherId) return !goesOn(piece, known);
  if (isSameId && piece.index !== undefined) return false;
  return known.extent.isClosed;
}

/** Whether arguments go on where they were left. Some servers make up an id for each piece. */
function goesOn(piece: Piece, known: Draft): boolean {
  return known.pieces.length === 0 ? piece.text !== "" : known.extent.isOpen;
}

/** A name comes at once, again and again, or in pieces. */
function grown(known: string | undefined, piece: string | undefined): string | undefined {
  if (known === undefined || piece === undefined) return known ?? piece;
  return piece.startsWith(known) ? piece : known + piece;
}

function readPiece(item: unknown): Piece {
  const target = field(item, "function");
  return {
    index: indexOf(field(item, "index")),
    id: textIn(field(item, "id")),
    name: textIn(field(target, "name")),
    text: argumentText(field(target, "arguments")),
    extra: field(item, "extra_content"),
  };
}

function indexOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}
