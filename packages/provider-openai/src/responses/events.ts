import type { ModelEvent } from "@ravi/kernel";
import { argumentText, field, type IdGiver, stringOr, textIn } from "@ravi/kernel/provider";
import { type Drafts, typeOf } from "./drafts.ts";
import { readItem } from "./output.ts";
import { announce, emitRest, emitArguments, emitPart, emitReasoning, emitWholePart } from "./emit.ts";
import { wholePart } from "./whole-parts.ts";

/** Processes one event about an item, and returns the events to emit. Unknown events are ignored. */
export function readEvent(
  event: unknown,
  type: string,
  { drafts, ids }: { readonly drafts: Drafts; readonly ids: IdGiver },
): ModelEvent[] {
  const delta = stringOr(field(event, "delta"), "");
  switch (type) {
    case "response.output_item.added": {
      const item = field(event, "item");
      const draft = drafts.begin(event);
      if (draft.type !== "function_call") return [];
      draft.callId ??= textIn(field(item, "call_id"));
      draft.name ??= textIn(field(item, "name"));
      draft.heldArguments ||= draft.announcedId === undefined ? argumentText(field(item, "arguments")) : "";
      return announce(draft, ids);
    }
    case "response.output_text.delta":
      return emitPart(drafts.find(event, "message"), field(event, "content_index"), delta);
    case "response.refusal.delta": {
      const draft = drafts.find(event, "message");
      draft.refused = true;
      return emitPart(draft, field(event, "content_index"), delta);
    }
    case "response.reasoning_summary_text.delta":
      return emitReasoning(drafts.find(event, "reasoning"), "summary", field(event, "summary_index"), delta);
    case "response.reasoning_text.delta":
      return emitReasoning(drafts.find(event, "reasoning"), "content", field(event, "content_index"), delta);
    case "response.function_call_arguments.delta":
      return emitArguments(drafts.find(event, "function_call"), delta);
    case "response.function_call_arguments.done": {
      const draft = drafts.find(event, "function_call");
      draft.name ??= textIn(field(event, "name"));
      draft.hasAllArguments = true;
      const whole = argumentText(field(event, "arguments"));
      const before = draft.announcedId === undefined ? draft.heldArguments : draft.emitted;
      const events = whole.startsWith(before) ? emitArguments(draft, whole.slice(before.length)) : [];
      draft.heldArguments = whole;
      return events;
    }
    case "response.output_item.done": {
      const item = field(event, "item");
      const draft = drafts.find(event, typeOf(item));
      const read = readItem(item);
      draft.closedItem = item;
      return read === undefined ? [] : emitRest(draft, read, ids);
    }
    default: {
      const part = wholePart(event, type);
      return part === undefined ? [] : emitWholePart(drafts.findWhole(event, part.item), part);
    }
  }
}
