/** Without control characters: what a model or a server says must not move the cursor, or write to the clipboard. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "");
}
