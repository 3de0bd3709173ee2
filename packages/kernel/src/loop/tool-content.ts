import { type ContentPart, textOf, type ToolMessage } from "../model/messages.ts";
import { cutNotice, middleOf, type Notice, truncateText } from "./truncate.ts";

/** The notice about what was cut, and some text around it, must fit. */
export const LEAST_RESULT_CHARS = 200;

/** The content with a note appended. */
export function withNote(content: ToolMessage["content"], note: string): ToolMessage["content"] {
  return typeof content === "string" ? content + note : [...content, { type: "text", text: note }];
}

/**
 * Cuts long texts in the middle, as `truncateText` does. Of several parts the long ones get equal room, so that none displaces the
 * others. If there are too many for that, they are cut like one text: a notice in each would be longer than what is left of it. Other
 * parts stay, because half an image is useless.
 */
export function shorten(
  content: ToolMessage["content"],
  maxChars: number,
  notice: Notice = cutNotice,
): ToolMessage["content"] {
  if (typeof content === "string") return truncateText(content, maxChars, notice);
  const whole = textOf({ content });
  if (whole.length <= maxChars) return content;
  const room = fairShare(content, maxChars);
  if (room < 2 * notice(whole.length).length)
    return withoutMiddle(content, middleOf(whole, maxChars, notice));
  return content.map((part): ContentPart => {
    return part.type === "text" ? { ...part, text: truncateText(part.text, room, notice) } : part;
  });
}

/** How long a text may be, so that all of them together are at most `max`: short ones leave their room to the others. */
function fairShare(content: readonly ContentPart[], max: number): number {
  const lengths = content
    .map((part) => (part.type === "text" ? part.text.length : 0))
    .toSorted((a, b) => a - b);
  let left = max;
  for (const [at, length] of lengths.entries()) {
    const share = Math.floor(left / (lengths.length - at));
    if (length > share) return share;
    left -= length;
  }
  return max;
}

/** `from` and `to` count the characters of all texts together. */
function withoutMiddle(
  content: readonly ContentPart[],
  { from, to, said }: ReturnType<typeof middleOf>,
): readonly ContentPart[] {
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
