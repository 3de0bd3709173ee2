import type { ContentPart, ToolMessage } from "../model/messages.ts";
import { truncateText } from "./truncate.ts";

/** The notice about what was cut, and some text around it, must fit. */
export const LEAST_RESULT_CHARS = 200;

/** The content with a note appended. */
export function withNote(content: ToolMessage["content"], note: string): ToolMessage["content"] {
  return typeof content === "string" ? content + note : [...content, { type: "text", text: note }];
}

/** Cuts text only: half an image is useless. */
export function shorten(content: ToolMessage["content"], maxChars: number): ToolMessage["content"] {
  if (typeof content === "string") return truncateText(content, maxChars);
  const length = content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (length <= maxChars) return content;
  // Each part gets its share, so that one long part does not displace all the others.
  return content.map((part): ContentPart => {
    if (part.type !== "text") return part;
    const share = Math.floor((part.text.length / length) * maxChars);
    return { type: "text", text: truncateText(part.text, share) };
  });
}
