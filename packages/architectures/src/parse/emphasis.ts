/**
 * A text without the other half of the emphasis (`**`, `_`) that was opened before it. It is at the beginning, as in `**1.** look`, or at
 * the end; anywhere else it belongs to the text, as in `2**10`.
 */
export function withoutEmphasisEnd(text: string, emphasis: string): string {
  const inside = text.trim();
  if (inside.startsWith(emphasis)) return inside.slice(emphasis.length).trimStart();
  return inside.endsWith(emphasis) ? inside.slice(0, -emphasis.length).trimEnd() : inside;
}
