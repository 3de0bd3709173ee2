import type { ModelEvent, ToolCall } from "@ravi/kernel";
import { argumentText, field, textIn, uniqueIds } from "@ravi/kernel/provider";
import { opaqueOf } from "./kept.ts";
import { type JsonExtent, jsonExtent } from "./json-extent.ts";

type ToolCallEvent = Extract<ModelEvent, { type: "toolCall" }>;

/** Puts the tool calls of an answer together, and tolerates the many ways in which servers stream them. */
export interface ToolCallAssembly {
  /** Adds one entry of a delta's `tool_calls`. Returns the event to emit, if there is one. */
  add(item: unknown): ToolCallEvent | undefined;
  /** Adds one entry of a whole message's `tool_calls`. It is always a separate call. */
  addWhole(item: unknown): void;
  /** How many calls have begun. */
  size(): number;
  /** Events of calls that were held back because an id or a name could still have come. */
  flush(): readonly ToolCallEvent[];
  /** The calls in the order in which they began, each with a unique id. Call `flush` first. */
  calls(): readonly ToolCall[];
}

interface Draft {
  readonly position: number;
  /** The server's id; once `announced`, the unique id that was emitted. */
  id: string | undefined;
  /** The server's id, even if another call has the same one. */
  givenId: string | undefined;
  name: string | undefined;
  readonly pieces: string[];
  readonly extent: JsonExtent;
  /** The server's `extra_content`, to be sent back with the call. */
  extra: unknown;
  /** Its first event was emitted: id and name cannot change any more. */
  announced: boolean;
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
      announced: false,
    };
    drafts.push(draft);
    return draft;
  };
  /** Without an index: the id tells which call it is. Without an id, it continues the last call. */
  const withoutIndex = (piece: Piece): Draft | undefined => {
    const last = drafts.at(-1);
    if (piece.id === undefined) return last;
    return byId.get(piece.id) ?? (last?.id === undefined ? last : undefined);
  };
  /** The index tells which call it is, unless the piece only has an id, and that of another known call. */
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
    if (!draft.announced) {
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
    draft.announced = true;
    draft.id = ids.give(draft.id ?? `call_${draft.position}`);
    draft.name ??= "";
    const { id, name, position: index } = draft;
    return { type: "toolCall", index, id, name, delta: draft.pieces.join("") };
  };

  return {
    add(item) {
      const piece = readPiece(item);
      const draft = targetOf(piece);
      const { announced } = draft;
      fill(draft, piece);
      if (announced)
        return piece.text === "" ? undefined : { type: "toolCall", index: draft.position, delta: piece.text };
      // Until the arguments begin, more of the name may come.
      const isSettled = draft.id !== undefined && draft.name !== undefined && draft.pieces.length > 0;
      return isSettled ? tell(draft) : undefined;
    },
    addWhole: (item) => fill(begin(), readPiece(item)),
    size: () => drafts.length,
    flush: () => drafts.filter((draft) => !draft.announced).map(tell),
    calls: () =>
      drafts.map(({ id = "", name = "", pieces, extra }) => ({
        id,
        name,
        arguments: pieces.join(""),
        ...opaqueOf(extra, provider),
      })),
  };
}

/**
 * Whether a piece that points to a known call begins a new one. Some servers give every call the index 0, others repeat id and name
 * in each piece. So a repeated head begins a new call only if it differs, or if the arguments so far are complete.
 */
function beginsAnother(piece: Piece, known: Draft): boolean {
  if (piece.name === undefined || known.name === undefined) return false;
  const isSameId = piece.id !== undefined && piece.id === known.givenId;
  const isOtherId = piece.id !== undefined && known.givenId !== undefined && !isSameId;
  if (piece.name !== known.name) {
    // A name that is streamed in pieces comes before the arguments, and has the id or index of its call.
    const mayGrow = known.pieces.length === 0 && (isSameId || piece.index !== undefined);
    return isOtherId || !mayGrow;
  }
  if (isOtherId) return !goesOn(piece, known);
  if (isSameId && piece.index !== undefined) return false;
  return known.extent.isClosed();
}

/** Whether the piece continues the arguments. Some servers make up a new id for each piece. */
function goesOn(piece: Piece, known: Draft): boolean {
  return known.pieces.length === 0 ? piece.text !== "" : known.extent.isOpen();
}

/** A name may come at once, repeatedly, or in pieces. */
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
