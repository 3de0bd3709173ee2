import { truncateText } from "@ravi/kernel/loop";

/**
 * At most `max` UTF-16 units of a text: its beginning and its end, with a note between them of what was left out, or only the
 * beginning if there is no room for the note. A surrogate pair is never cut in two.
 */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  const note = `\n[… the middle of ${text.length} characters is left out …]\n`;
  if (max >= 2 * note.length) return truncateText(text, max, () => note);
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}
