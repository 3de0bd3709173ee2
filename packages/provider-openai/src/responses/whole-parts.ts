import { field, textIn } from "@ravi/kernel/provider";

/** A part of an item that comes whole in one event. */
export interface WholePart {
  readonly item: "message" | "reasoning";
  /** For reasoning: whether it is a summary or the reasoning itself. */
  readonly channel: "summary" | "content";
  readonly index: unknown;
  readonly text: string;
  readonly refused: boolean;
}

/** Undefined if the event has no whole part, or an empty one. */
export function wholePart(event: unknown, type: string): WholePart | undefined {
  const part = field(event, "part");
  switch (type) {
    case "response.output_text.done":
      return messagePart(event, { text: field(event, "text") });
    case "response.refusal.done":
      return messagePart(event, { refusal: field(event, "refusal") });
    case "response.content_part.done":
      return field(part, "type") === "reasoning_text"
        ? reasoningPart(event, "content", field(part, "text"))
        : messagePart(event, { text: field(part, "text"), refusal: field(part, "refusal") });
    case "response.reasoning_text.done":
      return reasoningPart(event, "content", field(event, "text"));
    case "response.reasoning_summary_text.done":
      return reasoningPart(event, "summary", field(event, "text"));
    case "response.reasoning_summary_part.done":
      return reasoningPart(event, "summary", field(part, "text"));
    default:
      return undefined;
  }
}

function messagePart(
  event: unknown,
  said: { readonly text?: unknown; readonly refusal?: unknown },
): WholePart | undefined {
  const refusal = textIn(said.refusal);
  const text = refusal ?? textIn(said.text);
  if (text === undefined) return undefined;
  const index = field(event, "content_index");
  return { item: "message", channel: "content", index, text, refused: refusal !== undefined };
}

function reasoningPart(event: unknown, channel: WholePart["channel"], said: unknown): WholePart | undefined {
  const text = textIn(said);
  if (text === undefined) return undefined;
  const index = field(event, channel === "summary" ? "summary_index" : "content_index");
  return { item: "reasoning", channel, index, text, refused: false };
}
