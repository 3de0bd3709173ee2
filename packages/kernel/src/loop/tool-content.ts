import { type ContentPart, textOf, type ToolMessage } from "../model/messages.ts";
import { middleOf, type Notice, truncateText } from "./truncate.ts";

/** The notice about what was cut, and some text around it, must fit. */
export const LEAST_RESULT_CHARS = 200;

/** The content with a note appended. */
export function withNote(content: ToolMessage["content"], note: string): ToolMessage["content"] {
  return typeof content === "string" ? content + note : [...content, { type: "text", text: note }];
}

/**
 * Cuts a long text in the middle, as `truncateText` does, and parts as if their texts were one: so the last one is kept too, and there
 * is one notice. Other parts stay, because half an image is useless.
 */
export function shorten(
  content: ToolMessage["content"],
  maxChars: number,
  notice?: Notice,
): ToolMessage["content"] {
  if (typeof content === "string") return truncateText(content, maxChars, notice);
  const whole = textOf({ content });
  if (whole.length <= maxChars) return content;
  const { from, to, said } = middleOf(whole, maxChars, notice);
  let end = 0;
  return content.flatMap((part): readonly ContentPart[] => {
    if (part.type !== "text" || part.text === "") return [part];
    const start = end;
    end += part.text.length;
    const head = part.text.slice(0, Math.max(0, from - start));
    const tail = part.text.slice(Math.max(0, to - start));
    const text = head + (start <= from && from < end ? said : "") + tail;
    return text === "" ? [] : [{ ...part, text }];
  });
}
