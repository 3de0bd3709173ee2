/**
 * At most `max` UTF-16 units of a text: its beginning and its end, with a note between them of what was left out, or only the
 * beginning if there is no room for the note. A surrogate pair is never cut in two.
 */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  const note = `\n[… the middle of ${text.length} characters is left out …]\n`;
  const room = max - note.length;
  if (room < note.length) return text.slice(0, wholeBefore(text, max));
  const head = wholeBefore(text, Math.ceil(room * 0.7));
  return text.slice(0, head) + note + text.slice(wholeFrom(text, text.length - (room - head)));
}

function wholeBefore(text: string, end: number): number {
  return end > 0 && isHigh(text.charCodeAt(end - 1)) ? end - 1 : end;
}

function wholeFrom(text: string, start: number): number {
  return start > 0 && isHigh(text.charCodeAt(start - 1)) ? start + 1 : start;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
