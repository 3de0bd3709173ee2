/** Removes control characters: text from a model or server must not move the cursor or write to the clipboard. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "");
}

/** The same in one line: line breaks and control characters become spaces. */
export function inOneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ");
}
