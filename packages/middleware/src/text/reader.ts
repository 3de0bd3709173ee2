import { codeAt } from "@ravi/kernel/loop";

/** What `at` returns beyond the end of the text. No character has this code. */
const END = -1;

/**
 * Gives detectors access to the text, and remembers whether they read beyond its end. In a stream such a decision is postponed
 * until more text arrives; any other decision is the same for the part as for the whole.
 */
export class Reader {
  text = "";
  /** Whether something beyond the end was read since this was last set to false. */
  ranShort = false;

  /** The character, or the one of ASCII that it is a variant of: numbers and addresses may be written with either. */
  at(index: number): number {
    if (index < this.text.length) return asciiOf(codeAt(this.text, index));
    this.ranShort = true;
    return END;
  }

  /** The character as it is written. */
  exactAt(index: number): number {
    if (index < this.text.length) return codeAt(this.text, index);
    this.ranShort = true;
    return END;
  }
}

/** The zeros of Arabic, Persian and Hindi digits. */
const ZEROS = [0x660, 0x6f0, 0x966];
/** Of a fixed width, narrow, and that of Chinese and Japanese. */
const SPACES = new Set([0x2007, 0x2009, 0x202f, 0x3000]);

/**
 * The ASCII character of which this is a variant, as word processors, keyboards and models write it: full-width characters, spaces
 * and hyphens at which no line breaks, digits of other scripts. Any other character is returned as it is.
 */
export function asciiOf(code: number): number {
  return code < 0xa0 ? code : variantOf(code);
}

function variantOf(code: number): number {
  // Most letters, so that they take no longer.
  if (code < 0x660) return code === 0xa0 ? 0x20 : code;
  if (code > 0x3000 && code <= 0xff00) return code;
  // Without the quote and the backslash, which end strings of JSON and begin escapes.
  if (code > 0xff00 && code < 0xff5f) return code === 0xff02 || code === 0xff3c ? code : code - 0xfee0;
  if (SPACES.has(code)) return 0x20;
  if ((code >= 0x2010 && code <= 0x2013) || code === 0x2212) return 0x2d; /* - */
  for (const zero of ZEROS) if (code >= zero && code <= zero + 9) return code - zero + 0x30; /* 0 */
  return code;
}

/**
 * Looks for something that begins exactly at `at`. `match` returns its length, or 0; `-n` means that nothing begins in the next n
 * characters either. It may look at the character `before` and read ahead a bounded number of characters, nothing else. That
 * makes it linear, and the result the same however a stream is cut.
 */
export interface Detector {
  /** The placeholder: `EMAIL` becomes `[EMAIL]`. If empty, the match is removed without one. */
  readonly kind: string;
  /** The characters that a match can begin with. */
  readonly starts: string;
  /** Whether a match cannot begin inside of a word, that is after an ASCII letter or digit. */
  readonly startsWord: boolean;
  /**
   * Whether it looks for an exact text. Then it is also matched against the text with its escapes not decoded. It has no `tail`.
   */
  readonly isLiteral?: boolean | undefined;
  match(reader: Reader, at: number, before: number): number;
  /** If given, a match continues as long as this returns true for the next character (a token of any length). */
  readonly tail?: ((code: number) => boolean) | undefined;
  /**
   * The number of characters that are not part of the tail, but are followed by more of it; 0 if the match is over. Reads ahead
   * as `match` does.
   */
  readonly bridge?: ((reader: Reader, at: number, before: number) => number) | undefined;
}

const DIGIT = 1;
const LETTER = 2;
const HEX = 4;

/** The class of each ASCII character. A table, because this is looked up more often than anything else here. */
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

/** Of a script that separates words, with spaces or otherwise. */
const WORD = 1;
const KATAKANA_WORD = 2;

/**
 * What kind of word a character can be part of, as far as one UTF-16 unit tells; 0 for none. Chinese, Hiragana, Thai, Lao, Khmer and
 * Burmese have no signs between words, so no character of theirs makes another a part of its word. Words in Katakana end where
 * other characters begin.
 */
export function wordKind(code: number): number {
  if (code < 0x80) return isAlphanumeric(code) || code === 0x5f /* _ */ ? WORD : 0;
  const char = String.fromCharCode(code);
  if (UNSPACED.test(char)) return 0;
  if (KATAKANA.test(char)) return KATAKANA_WORD;
  return LETTER_OR_DIGIT.test(char) || (code >= 0xd800 && code <= 0xdfff) ? WORD : 0;
}

// From texts: an engine collects the characters of a literal when it reads the file.
// With the vowel signs of Hindi and its like, which are no accents.
const LETTER_OR_DIGIT = new RegExp(String.raw`[\p{L}\p{N}\p{Mc}]`, "u");
const UNSPACED = new RegExp(
  String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`,
  "u",
);
const KATAKANA = new RegExp(String.raw`[\p{sc=Katakana}\u30fc\uff70]`, "u");

export const DIGITS = "0123456789";
export const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The UTF-16 units of a text. */
export function codesOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, at) => codeAt(text, at));
}

/** Whether exactly this text is at the position. */
export function begins(reader: Reader, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (reader.at(at + index) !== codeAt(text, index)) return false;
  return true;
}
