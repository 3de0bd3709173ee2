import type { JsonObject, JsonValue } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";

/** An item of the answer, and its index in it. */
export interface OpenItem {
  readonly item: JsonObject;
  readonly at: number;
}

/** Creates the events of one item after the other. */
export interface ItemStream {
  open(item: OpenItem): string;
  delta(item: OpenItem, delta: string): string;
  close(item: OpenItem): string;
}

/** The names of the events for each type of item, and the field of its text. */
interface Naming {
  /** The name of the events about a part of the item; undefined if it has no parts. */
  readonly part: string | undefined;
  readonly text: string;
  readonly field: string;
  /** The name of the field with the index of the part. */
  readonly index: string | undefined;
  /** What the events about its text have besides. */
  readonly more?: JsonObject;
}

export function itemEvents(event: (type: string, fields: JsonObject) => string): ItemStream {
  const place = ({ item, at }: OpenItem): JsonObject => ({ item_id: item["id"] ?? null, output_index: at });
  const within = (open: OpenItem, { index }: Naming): JsonObject => ({
    ...place(open),
    ...(index === undefined ? {} : { [index]: 0 }),
  });
  return {
    open(open) {
      const naming = namingOf(open.item);
      const added = event("response.output_item.added", { output_index: open.at, item: emptied(open.item) });
      if (naming.part === undefined) return added;
      const part = { ...partOf(open.item), [naming.field]: "" };
      return added + event(`response.${naming.part}.added`, { ...within(open, naming), part });
    },
    delta(open, delta) {
      const naming = namingOf(open.item);
      return event(`response.${naming.text}.delta`, { ...within(open, naming), delta, ...naming.more });
    },
    close(open) {
      const naming = namingOf(open.item);
      const { item, at } = open;
      const part = partOf(item);
      const whole = (naming.part === undefined ? item["arguments"] : part[naming.field]) ?? "";
      return (
        event(`response.${naming.text}.done`, {
          ...within(open, naming),
          [naming.field]: whole,
          ...naming.more,
        }) +
        (naming.part === undefined
          ? ""
          : event(`response.${naming.part}.done`, { ...within(open, naming), part })) +
        event("response.output_item.done", { output_index: at, item })
      );
    },
  };
}

function namingOf(item: JsonObject): Naming {
  if (item["type"] === "function_call")
    return { part: undefined, text: "function_call_arguments", field: "arguments", index: undefined };
  if (item["type"] === "reasoning") {
    return {
      part: "reasoning_summary_part",
      text: "reasoning_summary_text",
      field: "text",
      index: "summary_index",
    };
  }
  const refused = partOf(item)["type"] === "refusal";
  return {
    part: "content_part",
    text: refused ? "refusal" : "output_text",
    field: refused ? "refusal" : "text",
    index: "content_index",
    ...(refused ? {} : { more: { logprobs: [] } }),
  };
}

/** The only part of a message or a summary. */
function partOf(item: JsonObject): JsonObject {
  const parts: JsonValue | undefined = item["content"] ?? item["summary"];
  const [part] = Array.isArray(parts) ? (parts as readonly JsonValue[]) : [];
  return isObject(part) ? part : {};
}

/** The item as it is at its start: in progress and empty. */
function emptied(item: JsonObject): JsonObject {
  return {
    ...item,
    ...("status" in item ? { status: "in_progress" } : {}),
    ...("content" in item ? { content: [] } : {}),
    ...("summary" in item ? { summary: [] } : {}),
    ...("arguments" in item ? { arguments: "" } : {}),
  };
}
