/** Removes control characters: text from a model or server must not move the cursor or write to the clipboard. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "");
}
