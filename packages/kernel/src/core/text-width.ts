const PLAIN = /^[\u0020-\u007e]*$/;
/** Scripts and signs that a terminal shows two columns wide. Their narrow forms are of the same scripts. */
const WIDE =
  /^(?![\uff61-\uffdc])[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\p{sc=Yi}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}]|\ufe0f/u;
const HIDDEN = /^\p{Default_Ignorable_Code_Point}+$/u;

let segmenter: Intl.Segmenter | undefined;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  segmenter ??= new Intl.Segmenter();
  let width = 0;
  for (const { segment } of segmenter.segment(text))
    if (!HIDDEN.test(segment)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The text with spaces up to that width, after it or before it. */
export function padText(text: string, width: number, where: "end" | "start" = "end"): string {
  const spaces = " ".repeat(Math.max(0, width - textWidth(text)));
  return where === "end" ? text + spaces : spaces + text;
}
