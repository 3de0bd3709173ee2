import type { ContentPart, ToolMessage } from "../model/messages.ts";
import { truncateText } from "./truncate.ts";

/** A notice of what was cut, and some text around it, must fit. */
export const LEAST_RESULT_CHARS = 200;

/** The same content with a note of ours at its end. */
export function withNote(content: ToolMessage["content"], note: string): ToolMessage["content"] {
  return typeof content === "string" ? content + note : [...content, { type: "text", text: note }];
}

/** Text alone is cut: half an image is none. */
export function shorten(content: ToolMessage["content"], maxChars: number): ToolMessage["content"] {
  if (typeof content === "string") return truncateText(content, maxChars);
  const length = content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (length <= maxChars) return content;
  // Each part keeps its share, so that one long part does not take the place of all the others.
  return content.map((part): ContentPart => {
    if (part.type !== "text") return part;
    const share = Math.floor((part.text.length / length) * maxChars);
    return { type: "text", text: truncateText(part.text, share) };
  });
}
