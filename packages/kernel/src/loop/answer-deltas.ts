import type { ModelEvent, ModelResponse } from "../model/llm.ts";

type TextDelta = Extract<ModelEvent, { type: "text" | "reasoning" }>;

/**
 * What an answer says as deltas, one for each part, for observers of an answer that was not streamed: its model cannot, it comes from a
 * cache, or it was held back until it was judged.
 */
export function answerDeltas({ message: { content } }: ModelResponse): readonly TextDelta[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.flatMap((part) =>
    // A model in plain JavaScript may leave out the text of a thought.
    (part.type === "text" || part.type === "reasoning") && Boolean(part.text)
      ? [{ type: part.type, delta: part.text }]
      : [],
  );
}
