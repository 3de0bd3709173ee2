const PLAIN = /^[\u0020-\u007e]*$/;

interface Signs {
  /** Scripts and signs that a terminal shows two columns wide. Their narrow forms are of the same scripts. */
  readonly wide: RegExp;
  readonly hidden: RegExp;
  readonly segmenter: Intl.Segmenter;
}

let signs: Signs | undefined;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  signs ??= newSigns();
  const { wide, hidden, segmenter } = signs;
  let width = 0;
  for (const { segment } of segmenter.segment(text))
    if (!hidden.test(segment)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/**
 * From texts, not as literals: the engine collects the characters of a literal's scripts whenever it reads the file, even of one in a
 * function that is never called. These two were an eighth of what an import of kernel and agent takes.
 */
function newSigns(): Signs {
  const scripts = ["Han", "Hiragana", "Katakana", "Hangul", "Bopomofo", "Yi"]
    .map((name) => String.raw`\p{sc=${name}}`)
    .join("");
  const others = String.raw`\u3000-\u303e\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}`;
  return {
    wide: new RegExp(String.raw`^(?![\uff61-\uffdc])[${scripts}${others}]|\ufe0f`, "u"),
    hidden: new RegExp(String.raw`^\p{Default_Ignorable_Code_Point}+$`, "u"),
    segmenter: new Intl.Segmenter(),
  };
}

/** The text with spaces up to that width, after it or before it. */
export function padText(text: string, width: number, where: "end" | "start" = "end"): string {
  const spaces = " ".repeat(Math.max(0, width - textWidth(text)));
  return where === "end" ? text + spaces : spaces + text;
}
