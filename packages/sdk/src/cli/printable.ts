// oxlint-disable-next-line no-control-regex -- they are what is removed
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** What a terminal does not show: control characters, those without width, those that change the direction of text. */
const HIDDEN = /(?!\n)[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

/** Without control characters: text of a model or a server must not move the cursor, or hide what it says. Line breaks stay. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, " ");
}

/** On one line, and not longer than that. */
export function oneLine(text: string, most = 100): string {
  const line = printable(text).replaceAll(/\s+/g, " ").trim();
  return line.length <= most ? line : `${beginningOf(line, most - 1)}…`;
}

/** At most so much of a text. A character of two units, such as an emoji, is not cut in two. */
export function beginningOf(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}

/** On one line and in full, with the codes of what would be hidden. */
export function visible(text: string): string {
  return text.replaceAll(/[\t\n\r]/g, " ").replaceAll(HIDDEN, codesOf);
}

/** As JSON that can be printed, and still be read. */
export function json(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replaceAll(HIDDEN, codesOf);
}

/** As a word of a shell, which `bash` and `zsh` read if something in it is hidden. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (word.search(HIDDEN) === -1) return `'${word.replaceAll("'", String.raw`'\''`)}'`;
  const code = (char: string): string => String.raw`\U${hex(char.codePointAt(0), 8)}`;
  return `$'${word.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll(HIDDEN, code)}'`;
}

/** As JSON escapes it. */
function codesOf(char: string): string {
  return Array.from({ length: char.length }, (_, at) => String.raw`\u${hex(char.charCodeAt(at), 4)}`).join(
    "",
  );
}

function hex(code = 0, digits = 4): string {
  return code.toString(16).padStart(digits, "0");
}
