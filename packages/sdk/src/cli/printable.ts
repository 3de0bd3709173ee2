// oxlint-disable-next-line no-control-regex -- they are what is removed
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Without control characters: text of a model or a server must not move the cursor, or hide what it says. Line breaks stay. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, " ");
}

/** On one line, and not longer than that. */
export function oneLine(text: string, most = 100): string {
  const line = printable(text).replaceAll(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
