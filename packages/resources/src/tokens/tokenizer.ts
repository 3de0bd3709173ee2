import { codeAt } from "@ravi/kernel/loop";
import { charactersToTokens } from "./parts/characters.ts";
import { Words } from "./parts/words.ts";

/** Counts the tokens of a text. It must be fast for every text. */
export type CountText = (text: string) => number;

/** The part of `gpt-tokenizer` that is used here. */
export interface Encoding {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number;
}

const SLICE = 1_024;
/**
 * The merge takes quadratic time for an unbroken run of characters of one kind (100 kB of one letter took 6 s in one piece), so such a run
 * is cut much sooner than a text of words.
 */
const RUN = 128;
/** Longer texts are counted by characters from here on, so that a huge tool result does not block the process. */
const MAX_CHARACTERS = 65_536;

/** Allow all special tokens as plain text: a text that spells one is still only text. */
const NO_SPECIAL = new Set<string>();

/** Counts a text by words, and what has none in slices. Each cut adds about one token, so the count is rather too high than too low. */
export function sliced(encoding: Encoding): CountText {
  const count: CountText = (text) => encoding.countTokens(text, { disallowedSpecial: NO_SPECIAL });
  const words = new Words(count, (text) => {
    let tokens = 0;
    for (let from = 0; from < text.length;) {
      const to = cut(text, from, text.length);
      tokens += count(text.slice(from, to));
      from = to;
    }
    return tokens;
  });
  return (text) =>
    text.length <= MAX_CHARACTERS
      ? words.count(text)
      : words.count(text.slice(0, MAX_CHARACTERS)) + charactersToTokens(text.slice(MAX_CHARACTERS));
}

/** The end of the slice that begins at `from`: before a space if possible, so that few words are cut. */
function cut(text: string, from: number, end: number): number {
  if (end - from <= RUN) return end;
  const limit = Math.min(from + SLICE, end);
  let edge = limit;
  let kind = -1;
  let run = 0;
  for (let at = from; at < limit; at++) {
    const next = kindOf(codeAt(text, at));
    if (next !== kind) {
      kind = next;
      run = 0;
      if (next === SPACE && at > from) edge = at;
    }
    if (++run > RUN) return at;
  }
  return limit === end ? end : edge;
}

const SPACE = 0;
const DIGIT = 1;
const SIGN = 2;
const LETTER = 3;

/** Roughly the classes by which vocabularies split a text before they merge. */
function kindOf(code: number): number {
  if (code <= 0x20) return SPACE;
  if (code >= 0x80 || (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)) return LETTER;
  return code >= 0x30 && code <= 0x39 ? DIGIT : SIGN;
}

/** The o200k vocabulary; undefined if the optional `gpt-tokenizer` is not installed. */
export async function loadEncoding(load?: () => Promise<Encoding>): Promise<Encoding | undefined> {
  try {
    if (load !== undefined) return await load();
    // The import must stand inside the `try`: only then do bundlers accept that the package is missing.
    return await import("gpt-tokenizer/encoding/o200k_base");
  } catch {
    return undefined;
  }
}
