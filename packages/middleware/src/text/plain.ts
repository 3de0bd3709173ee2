/** Zero-width characters and soft hyphens, which split a word for a program and not for a reader. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g;

/** A text as a reader sees it: look-alike forms of a letter (full-width, ligatures) as one, nothing invisible. */
export function plainText(text: string): string {
  return text.normalize("NFKC").replace(INVISIBLE, "");
}
