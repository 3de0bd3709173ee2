import type { ModelEvent } from "@ravi/kernel";
import { field, type IdGiver, stringOr, textIn } from "@ravi/kernel/provider";
import { argumentText } from "../answer/argument-text.ts";
import { type Drafts, typeOf } from "./drafts.ts";
import { readItem } from "./output.ts";
import { announce, catchUp, tellArguments, tellPart, tellReasoning, tellWhole } from "./telling.ts";
import { wholePart } from "./whole-parts.ts";

/** What one event says of one item. Events that are not known say nothing. */
export function tellEvent(
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
      draft.held ||= draft.announced === undefined ? argumentText(field(item, "arguments")) : "";
      return announce(draft, ids);
    }
    case "response.output_text.delta":
      return tellPart(drafts.find(event, "message"), field(event, "content_index"), delta);
    case "response.refusal.delta": {
      const draft = drafts.find(event, "message");
      draft.refused = true;
      return tellPart(draft, field(event, "content_index"), delta);
    }
    case "response.reasoning_summary_text.delta":
      return tellReasoning(drafts.find(event, "reasoning"), "summary", field(event, "summary_index"), delta);
    case "response.reasoning_text.delta":
      return tellReasoning(drafts.find(event, "reasoning"), "content", field(event, "content_index"), delta);
    case "response.function_call_arguments.delta":
      return tellArguments(drafts.find(event, "function_call"), delta);
    case "response.function_call_arguments.done": {
      const draft = drafts.find(event, "function_call");
      draft.name ??= textIn(field(event, "name"));
      draft.isWhole = true;
      const whole = argumentText(field(event, "arguments"));
      const before = draft.announced === undefined ? draft.held : draft.told;
      const events = whole.startsWith(before) ? tellArguments(draft, whole.slice(before.length)) : [];
      draft.held = whole;
      return events;
    }
    case "response.output_item.done": {
      const item = field(event, "item");
      const draft = drafts.find(event, typeOf(item));
      const read = readItem(item);
      draft.done = item;
      return read === undefined ? [] : catchUp(draft, read, ids);
    }
    default: {
      const part = wholePart(event, type);
      return part === undefined ? [] : tellWhole(drafts.findWhole(event, part.item), part);
    }
  }
}
