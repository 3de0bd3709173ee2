import { sameView, type View, ViewBuilder } from "./view.ts";

/** Zero-width characters, soft hyphens, selectors of variants: they split a word for a program but not for a reader. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** A text as a reader sees it: variants of a letter (full-width, ligatures) normalised, without invisible characters. */
export function plainText(text: string): string {
  // Invisible characters are removed first, because an accent also combines with its letter across them.
  return text.replace(INVISIBLE, "").normalize("NFKC");
}

/** Characters that may combine with the one before: accents, parts of Hangul syllables, voiced marks, invisible characters. */
const JOINS =
  /[\p{M}\p{Default_Ignorable_Code_Point}\u1160-\u11ff\u3131-\u318e\uff9e-\uffdc\u{16d63}-\u{16d6a}]/u;

/** A letter with more characters than this is split. */
const LONGEST_LETTER = 64;

/** A text as a reader sees it, letter by letter. The last letter is held back, because an accent may follow. */
export function readPlain(text: string, isLast: boolean): View {
  const ends = letterEnds(text);
  if (!isLast) ends.pop();
  const ready = text.slice(0, ends.at(-1) ?? 0);
  if (plainText(ready) === ready) return sameView(ready);
  const view = new ViewBuilder(ready);
  let at = 0;
  for (const end of ends) {
    const letter = ready.slice(at, end);
    const plain = plainText(letter);
    if (plain === letter) view.copyTo(end);
    else view.put(end - at, plain);
    at = end;
  }
  return view.view();
}

/** The index at which each letter ends, including everything that combines with it. */
function letterEnds(text: string): number[] {
  const ends: number[] = [];
  let from = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    // Half of a character, whose other half may follow.
    const isHalf = at === text.length - 1 && code >= 0xd800 && code <= 0xdbff;
    const joins =
      code >= 0x80 && at - from < LONGEST_LETTER && (isHalf || JOINS.test(String.fromCodePoint(code)));
    if (at > from && !joins) {
      ends.push(at);
      from = at;
    }
    at += code > 0xffff ? 2 : 1;
  }
  if (from < text.length) ends.push(text.length);
  return ends;
}
