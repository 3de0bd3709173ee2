/**
 * A text without the other half of the emphasis (`**`, `_`) that was opened before it. It is at the beginning, as in `**1.** look`, or
 * closes a word: no blank is before it, and no letter or digit behind it. Anywhere else it belongs to the text, as in `2**10`.
 */
export function withoutEmphasisEnd(text: string, emphasis: string): string {
  const inside = text.trim();
  if (inside.startsWith(emphasis)) return inside.slice(emphasis.length).trimStart();
  for (let at = inside.indexOf(emphasis); at > 0; at = inside.indexOf(emphasis, at + 1)) {
    const [before, after] = [inside.slice(0, at), inside.slice(at + emphasis.length)];
    if (!/\s$/.test(before) && !/^[\p{L}\p{N}]/u.test(after)) return before + after;
  }
  return inside;
}
