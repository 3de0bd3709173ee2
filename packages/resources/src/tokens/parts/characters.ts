import { codeAt } from "@ravi/kernel/loop";

/**
 * Estimates the tokens of a text from its characters alone, for when no tokenizer is installed. It is meant to be too high rather than too
 * low: English prose has 4 to 5 characters per token and code about 3. Here small letters and spaces count a third of a token, digits a
 * half, capitals 0.6, other ASCII characters three quarters. Everything else counts by its bytes: half a token each in scripts that every
 * vocabulary knows, three quarters in those that only newer ones know, and one in all others. After 12 letters and digits in a row (a hash,
 * base64, text without spaces), which hardly merge in any vocabulary, each further one counts 0.8.
 *
 * Letters, digits and other characters do not merge with each other, nor does a space with the digit after it. So each piece of one kind
 * counts at least one token: a table of small numbers has as many tokens as characters.
 */
export function charactersToTokens(text: string): number {
  let parts = 0;
  let piece = 0;
  let kind = NONE;
  let run = 0;
  const { length } = text;
  for (let at = 0; at < length; at++) {
    const code = codeAt(text, at);
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

/** One token in the unit of the weights below: integers are faster, and thirds, halves and fifths of 60 are whole. */
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
  return OTHER_WEIGHTS[code >> BLOCK_BITS] ?? 3 * RARE_BYTE;
}

/** A little more than a token: the spaces between such words do not merge with them. */
const RARE_BYTE = 65;
/** Other characters are looked up in blocks of 16; no block contains two scripts. */
const BLOCK_BITS = 4;

type Range = readonly [from: number, to: number];
/**
 * Known to all vocabularies: Latin, Greek, Cyrillic, Arabic, Devanagari, Bengali, Tamil, Thai, punctuation, arrows, boxes,
 * Chinese, Japanese, Korean.
 */
const IN_ALL: readonly Range[] = [
  [0x80, 0x24f],
  [0x370, 0x52f],
  [0x600, 0x6ff],
  [0x900, 0x9ff],
  [0xb80, 0xbff],
  [0xe00, 0xe7f],
  [0x1e00, 0x1eff],
  [0x2000, 0x206f],
  [0x2190, 0x21ff],
  [0x2500, 0x25ff],
  [0x3000, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7af],
  [0xff00, 0xff5f],
];
/**
 * Known to newer vocabularies only: Hebrew, the other scripts of India, Lao, Tibetan, Burmese, Georgian, Khmer, mathematical and
 * similar symbols.
 */
const IN_NEWER: readonly Range[] = [
  [0x590, 0x5ff],
  [0xa00, 0xaff],
  [0xc00, 0xdff],
  [0xe80, 0x10ff],
  [0x1780, 0x17ff],
  [0x2070, 0x218f],
  [0x2200, 0x24ff],
  [0x2600, 0x27ff],
];

const OTHER_WEIGHTS = otherWeights();

function otherWeights(): Uint8Array {
  const bytesAt = (block: number): number => (block << BLOCK_BITS < 0x800 ? 2 : 3);
  const weights = Uint8Array.from(
    { length: 0x10000 >> BLOCK_BITS },
    (_, block) => RARE_BYTE * bytesAt(block),
  );
  const count = (ranges: readonly Range[], perByte: number): void => {
    for (const [from, to] of ranges)
      for (let block = from >> BLOCK_BITS; block <= to >> BLOCK_BITS; block++)
        weights[block] = perByte * bytesAt(block);
  };
  count(IN_ALL, TOKEN / 2);
  count(IN_NEWER, (TOKEN * 3) / 4);
  // A surrogate pair is four bytes: four tokens, or three for an emoji, whose first half is always in one block.
  weights.fill(TOKEN, 0xdc00 >> BLOCK_BITS, 0xe000 >> BLOCK_BITS);
  weights[0xd830 >> BLOCK_BITS] = 2 * TOKEN;
  return weights;
}
