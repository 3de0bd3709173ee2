/** What `at` gives beyond the end of the text. No character has this code. */
export const END = -1;

/**
 * Reads characters ahead of a scanner, and remembers whether anything beyond the end was asked for. In a stream such a
 * decision waits for more text; without it, the decision is the same for the part as for the whole.
 */
export class Reader {
  text = "";
  /** Something beyond the end was read since this was last set to false. */
  ranShort = false;

  at(index: number): number {
    if (index < this.text.length) return this.text.charCodeAt(index);
    this.ranShort = true;
    return END;
  }
}

/**
 * Looks for something that begins exactly at `at` and gives its length, or 0; `-n` says that nothing begins in the next n
 * characters either. It may look at the `before` character and read ahead a bounded number of characters, nothing else: that
 * makes it linear, and the same for every split of a stream.
 */
export interface Detector {
  /** What stands in its place: `EMAIL` becomes `[EMAIL]`. Empty: nothing does. */
  readonly kind: string;
  /** The characters that it can begin with. */
  readonly starts: string;
  /** It never begins inside of a word, that is after an ASCII letter or digit. */
  readonly startsWord: boolean;
  /** It is a text to find as it is written, and so it is looked for with its escapes unread too. It has no tail. */
  readonly isLiteral?: boolean | undefined;
  match(reader: Reader, at: number, before: number): number;
  /** Whether a found one goes on as long as such characters follow (a token of any length). */
  readonly tail?: ((code: number) => boolean) | undefined;
  /** How many characters that are no tail stand before more of it; 0 where it is over. Reads ahead as `match` does. */
  readonly bridge?: ((reader: Reader, at: number, before: number) => number) | undefined;
}

const DIGIT = 1;
const LETTER = 2;
const HEX = 4;

/** What each ASCII character is; looked up far more often than anything else here. */
const CLASSES = classify();

function classify(): Uint8Array {
  const classes = new Uint8Array(128);
  for (let code = 0; code < 128; code++) {
    const char = String.fromCharCode(code);
    const isNumber = char >= "0" && char <= "9";
    const lower = char.toLowerCase();
    const isLatin = lower >= "a" && lower <= "z";
    classes[code] =
      (isNumber ? DIGIT | HEX : 0) | (isLatin ? LETTER : 0) | (isLatin && lower <= "f" ? HEX : 0);
  }
  return classes;
}

function is(code: number, wanted: number): boolean {
  return ((CLASSES[code] ?? 0) & wanted) !== 0;
}

export function isDigit(code: number): boolean {
  return is(code, DIGIT);
}

export function isLetter(code: number): boolean {
  return is(code, LETTER);
}

export function isAlphanumeric(code: number): boolean {
  return is(code, DIGIT | LETTER);
}

export function isHex(code: number): boolean {
  return is(code, HEX);
}

export function isBase64(code: number): boolean {
  return isAlphanumeric(code) || code === 0x2b || code === 0x2f || code === 0x3d;
}

/** A letter or digit of any script, as far as one UTF-16 unit tells. */
export function isWordCode(code: number): boolean {
  if (code < 0x80) return isAlphanumeric(code) || code === 0x5f; /* _ */
  return /[\p{L}\p{N}]/u.test(String.fromCharCode(code)) || (code >= 0xd800 && code <= 0xdfff);
}

export const DIGITS = "0123456789";
export const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Whether exactly this text stands there. */
export function begins(reader: Reader, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (reader.at(at + index) !== text.charCodeAt(index)) return false;
  return true;
}
