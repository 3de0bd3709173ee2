/** The share of the kept text that is taken from the beginning. The rest is from the end, where errors and totals are. */
const HEAD = 0.7;

/**
 * Cuts a long text in the middle, with a notice of how much is missing. The result has at most `max` UTF-16 units, unless the
 * notice alone is longer. A surrogate pair is never split. `notice` gets the number of units that are missing.
 */
export function truncateText(text: string, max: number, notice?: Notice): string {
  if (text.length <= max) return text;
  const { from, to, said } = middleOf(text, max, notice);
  return text.slice(0, from) + said + text.slice(to);
}

/** Says how many UTF-16 units are missing. */
export type Notice = (missing: number) => string;

/** What to cut out of a text that is longer than `max`, and what to say in its place. */
export function middleOf(
  text: string,
  max: number,
  notice: Notice = cutNotice,
): { readonly from: number; readonly to: number; readonly said: string } {
  const room = Math.max(0, max - notice(text.length).length);
  const headEnd = Math.ceil(room * HEAD);
  const tailStart = text.length - (room - headEnd);
  const from = splitsPair(text, headEnd) ? headEnd - 1 : headEnd;
  const to = splitsPair(text, tailStart) ? tailStart + 1 : tailStart;
  return { from, to, said: notice(to - from) };
}

export function cutNotice(cut: number): string {
  return `\n[... ${cut} characters were cut out here; ask for less at a time to see them ...]\n`;
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
