/**
 * How many tokens a text may be, from its characters alone: for when no tokenizer is installed. It is meant to be too high
 * rather than too low: English prose is 4 to 5 characters a token and code about 3; here small letters and spaces count a third
 * of a token, digits a half, capitals 0.6, other ASCII signs three quarters, and all else by its bytes, half a token each.
 * What goes on after 12 letters and digits in a row (a hash, base64, text without spaces) hardly merges in any vocabulary
 * and counts 0.8 each.
 *
 * Letters, digits and signs do not merge with each other, nor a space with the digit after it, so a piece of one kind counts one at
 * least: a table of small numbers has as many tokens as characters.
 */
export function charactersToTokens(text: string): number {
  let parts = 0;
  let piece = 0;
  let kind = NONE;
  let run = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const next = kindOf(code);
    if (next !== kind) {
      const isMerged = kind === NONE || (kind === SPACE && next !== DIGIT);
      parts += isMerged || piece > TOKEN ? piece : TOKEN;
      piece = 0;
      kind = next;
    }
    run = next <= DIGIT ? run + 1 : 0;
    piece += run > LONG_RUN ? 48 : weightOf(next, code);
  }
  parts += kind === NONE || kind === SPACE || piece > TOKEN ? piece : TOKEN;
  return Math.ceil(parts / TOKEN);
}

/** A token in the smallest parts that are counted: whole numbers are quicker, and thirds of them add up. */
const TOKEN = 60;
const LONG_RUN = 12;

const LETTER = 0;
const DIGIT = 1;
const SPACE = 2;
const SIGN = 3;
const OTHER = 4;
const NONE = 5;

function kindOf(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return LETTER;
  if (code === 0x20) return SPACE;
  if (code >= 0x80) return OTHER;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  return code >= 0x41 && code <= 0x5a ? LETTER : SIGN;
}

function weightOf(kind: number, code: number): number {
  if (kind === LETTER) return code >= 0x61 ? 20 : 36;
  if (kind === SPACE) return 20;
  if (kind === DIGIT) return 30;
  if (kind === SIGN) return 45;
  // Two bytes in UTF-8, or three; each half of a surrogate pair stands for two of four.
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 60 : 90;
}
