import type { ModelEvent } from "@ravi/kernel";
import type { IdGiver } from "@ravi/kernel/provider";
import type { Draft } from "./drafts.ts";
import { type OutputItem, PARAGRAPH } from "./output.ts";
import type { WholePart } from "./whole-parts.ts";

// Turns the streamed pieces of an item into events for the caller, and records them in the draft.

function emitText(draft: Draft, delta: string): ModelEvent[] {
  if (delta === "") return [];
  draft.emitted += delta;
  return [{ type: draft.type === "reasoning" ? "reasoning" : "text", delta }];
}

/** Emits a piece of a part of a message. */
export function emitPart(draft: Draft, index: unknown, delta: string): ModelEvent[] {
  addTo(draft, partName("content", index), delta);
  return emitText(draft, delta);
}

/**
 * Emits a piece of reasoning. Each part is a paragraph. If a server sends both a summary and the reasoning itself, only the one
 * that comes first is emitted.
 */
export function emitReasoning(draft: Draft, channel: string, index: unknown, delta: string): ModelEvent[] {
  const part = partName(channel, index);
  if (draft.currentPart !== undefined && !draft.currentPart.startsWith(`${channel}:`)) return [];
  const begins = draft.currentPart !== undefined && draft.currentPart !== part && draft.emitted !== "";
  if (delta !== "") draft.currentPart = part;
  addTo(draft, part, delta);
  return emitText(draft, begins && delta !== "" ? PARAGRAPH + delta : delta);
}

/**
 * Emits the rest of a part that has come whole. If it differs from what was emitted, that cannot be corrected in the stream; the
 * final response is right.
 */
export function emitWholePart(
  draft: Draft,
  { item, channel, index, text, refused }: WholePart,
): ModelEvent[] {
  if (refused) draft.refused = true;
  const part = partName(channel, index);
  const known = draft.parts.get(part);
  // Some servers count parts differently in their deltas and in the event that ends a part.
  if (draft.closedItem !== undefined || (known === undefined && draft.emitted.endsWith(text))) return [];
  const rest = text.startsWith(known ?? "") ? text.slice(known?.length ?? 0) : "";
  const events =
    item === "message" ? emitPart(draft, index, rest) : emitReasoning(draft, channel, index, rest);
  if (draft.parts.has(part)) draft.parts.set(part, text);
  return events;
}

function partName(channel: string, index: unknown): string {
  return `${channel}:${typeof index === "number" ? index : 0}`;
}

function addTo({ parts }: Draft, part: string, delta: string): void {
  if (delta !== "") parts.set(part, (parts.get(part) ?? "") + delta);
}

/** Emits a piece of a call's arguments. It is held back until the call is announced. */
export function emitArguments(draft: Draft, delta: string): ModelEvent[] {
  if (draft.announcedId === undefined) {
    draft.heldArguments += delta;
    return [];
  }
  if (delta === "") return [];
  draft.emitted += delta;
  return [{ type: "toolCall", index: draft.callIndex, delta }];
}

/** Emits the beginning of a call as soon as it has an id and a name; with `force`, even without them. */
export function announce(draft: Draft, ids: IdGiver, force = false): ModelEvent[] {
  if (draft.announcedId !== undefined) return [];
  if (!force && (draft.callId === undefined || draft.name === undefined)) return [];
  draft.announcedId = ids.give(draft.callId ?? `call_${draft.callIndex}`);
  draft.emitted = draft.heldArguments;
  const { announcedId: id, name = "", callIndex: index, emitted: delta } = draft;
  return [{ type: "toolCall", index, id, name, delta }];
}

/**
 * Emits the rest of a closed item. If it differs from what was emitted, that cannot be corrected in the stream; the final response
 * is right.
 */
export function emitRest(draft: Draft, item: OutputItem, ids: IdGiver): ModelEvent[] {
  if (item.type !== "function_call") {
    return item.text.startsWith(draft.emitted) ? emitText(draft, item.text.slice(draft.emitted.length)) : [];
  }
  draft.callId ??= item.callId;
  draft.name ??= item.name;
  if (draft.announcedId === undefined) {
    draft.heldArguments = item.arguments;
    return announce(draft, ids, true);
  }
  const rest = item.arguments.startsWith(draft.emitted) ? item.arguments.slice(draft.emitted.length) : "";
  return emitArguments(draft, rest);
}
