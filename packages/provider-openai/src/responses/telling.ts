import type { ModelEvent } from "@ravi/kernel";
import type { IdGiver } from "@ravi/kernel/provider";
import type { Draft } from "./drafts.ts";
import { type OutputItem, PARAGRAPH } from "./output.ts";
import type { WholePart } from "./whole-parts.ts";

/** One more piece of a text. */
function tellText(draft: Draft, delta: string): ModelEvent[] {
  if (delta === "") return [];
  draft.told += delta;
  return [{ type: draft.type === "reasoning" ? "reasoning" : "text", delta }];
}

/** One more piece of a part of a message. */
export function tellPart(draft: Draft, index: unknown, delta: string): ModelEvent[] {
  addTo(draft, partName("content", index), delta);
  return tellText(draft, delta);
}

/** One more piece of reasoning; `part` says which paragraph it belongs to. Of a summary and the reasoning itself, the first to come is told. */
export function tellReasoning(draft: Draft, channel: string, index: unknown, delta: string): ModelEvent[] {
  const part = partName(channel, index);
  if (draft.part !== undefined && !draft.part.startsWith(`${channel}:`)) return [];
  const begins = draft.part !== undefined && draft.part !== part && draft.told !== "";
  if (delta !== "") draft.part = part;
  addTo(draft, part, delta);
  return tellText(draft, begins && delta !== "" ? PARAGRAPH + delta : delta);
}

/** Tells what of a part was not told yet, now that it is said whole; where it says something else, that counts in the end. */
export function tellWhole(draft: Draft, { item, channel, index, text, refused }: WholePart): ModelEvent[] {
  if (refused) draft.refused = true;
  const part = partName(channel, index);
  const known = draft.parts.get(part);
  // Not all servers count the parts alike in their pieces and in the end of them.
  if (draft.done !== undefined || (known === undefined && draft.told.endsWith(text))) return [];
  const rest = text.startsWith(known ?? "") ? text.slice(known?.length ?? 0) : "";
  const events =
    item === "message" ? tellPart(draft, index, rest) : tellReasoning(draft, channel, index, rest);
  if (draft.parts.has(part)) draft.parts.set(part, text);
  return events;
}

function partName(channel: string, index: unknown): string {
  return `${channel}:${typeof index === "number" ? index : 0}`;
}

function addTo({ parts }: Draft, part: string, delta: string): void {
  if (delta !== "") parts.set(part, (parts.get(part) ?? "") + delta);
}

/** One more piece of a call's arguments. It is held back until id and name are known. */
export function tellArguments(draft: Draft, delta: string): ModelEvent[] {
  if (draft.announced === undefined) {
    draft.held += delta;
    return [];
  }
  if (delta === "") return [];
  draft.told += delta;
  return [{ type: "toolCall", index: draft.position, delta }];
}

/** Tells of a call as soon as it has an id and a name; with `force`, also without them. */
export function announce(draft: Draft, ids: IdGiver, force = false): ModelEvent[] {
  if (draft.announced !== undefined) return [];
  if (!force && (draft.callId === undefined || draft.name === undefined)) return [];
  draft.announced = ids.give(draft.callId ?? `call_${draft.position}`);
  draft.told = draft.held;
  const { announced: id, name = "", position: index, told: delta } = draft;
  return [{ type: "toolCall", index, id, name, delta }];
}

/**
 * Tells what of a closed item was not told yet. Where what was told is something else, nothing can be taken back: the response
 * has it as the server closed it.
 */
export function catchUp(draft: Draft, item: OutputItem, ids: IdGiver): ModelEvent[] {
  if (item.type !== "function_call") {
    return item.text.startsWith(draft.told) ? tellText(draft, item.text.slice(draft.told.length)) : [];
  }
  draft.callId ??= item.callId;
  draft.name ??= item.name;
  if (draft.announced === undefined) {
    draft.held = item.arguments;
    return announce(draft, ids, true);
  }
  const rest = item.arguments.startsWith(draft.told) ? item.arguments.slice(draft.told.length) : "";
  return tellArguments(draft, rest);
}
