import { codeAt } from "@ravi/kernel/loop";
import type { CountText } from "../tokenizer.ts";

/** A longer word is counted each time: most are addresses, ids and data, which do not recur. */
const LONGEST = 64;
/** Places for words, a power of two. Each word may be in one of two. */
const PLACES = 32_768;

/**
 * Counts texts word by word and remembers the words: a vocabulary takes 0.7 µs for each, this table 0.02. A "word" is what stands between two
 * places at which every text is cut before its parts are merged, so the sum is what the vocabulary finds for the whole. What is longer
 * than a word is counted by `countLong`.
 *
 * A word is known by two hashes, not by its letters: one word in a billion gets the count of another.
 */
export class Words {
  private readonly countWord: CountText;
  private readonly countLong: CountText;
  private readonly seed = 1 | Math.trunc(Math.random() * 0x7fffffff);
  private readonly keys = new Int32Array(2 * PLACES);
  /** One more than the count; 0 where there is no word. */
  private readonly counts = new Uint8Array(PLACES);

  constructor(countWord: CountText, countLong: CountText) {
    this.countWord = countWord;
    this.countLong = countLong;
  }

  count(text: string): number {
    const { seed } = this;
    let tokens = 0;
    let from = 0;
    let before = SPACE;
    let one = seed;
    let two = seed;
    const { length } = text;
    for (let at = 0; at < length; at++) {
      const code = codeAt(text, at);
      const kind = code < 0x80 ? (KINDS[code] ?? SIGN) : kindOfOther(code);
      if (CUTS[before * KIND_COUNT + kind] === 1) {
        tokens += this.known(one, two) ?? this.learn(text.slice(from, at), one, two);
        from = at;
        one = seed;
        two = seed;
      }
      one = Math.imul(one ^ code, 0x01000193);
      two = Math.imul(two ^ code, 0x5bd1e995);
      before = kind;
    }
    return from === length ? tokens : tokens + this.countRest(text, from, one, two);
  }

  private countRest(text: string, from: number, one: number, two: number): number {
    return this.known(one, two) ?? this.learn(text.slice(from), one, two);
  }

  private known(one: number, two: number): number | undefined {
    const { keys, counts } = this;
    const place = placeOf(one);
    for (let at = place; at < place + 2; at++)
      if (keys[2 * at] === one && keys[2 * at + 1] === two && counts[at] !== 0) return (counts[at] ?? 0) - 1;
    return undefined;
  }

  private learn(word: string, one: number, two: number): number {
    if (word.length > LONGEST) return this.countLong(word);
    const tokens = this.countWord(word);
    const { keys, counts } = this;
    const place = placeOf(one);
    // The newest stands first, and the older of the two is dropped.
    keys.copyWithin(2 * place + 2, 2 * place, 2 * place + 2);
    counts[place + 1] = counts[place] ?? 0;
    keys[2 * place] = one;
    keys[2 * place + 1] = two;
    counts[place] = tokens + 1;
    return tokens;
  }
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (PLACES - 2);
}

const SPACE = 0;
const BLANK = 1;
const LETTER = 2;
const DIGIT = 3;
const QUOTE = 4;
const SIGN = 5;
/** No ASCII: a letter, a digit, a sign or a half of a pair. */
const OTHER = 6;

/** The kinds of ASCII characters. */
const KINDS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (char === " ") return SPACE;
  if (char === "'") return QUOTE;
  if (/\s/.test(char)) return BLANK;
  if (/[a-z]/i.test(char)) return LETTER;
  return /\d/.test(char) ? DIGIT : SIGN;
});

function kindOfOther(code: number): number {
  const mayBeBlank = code <= 0xa0 || code === 0x1680 || (code >= 0x2000 && code <= 0x3000) || code === 0xfeff;
  return mayBeBlank && /\s/.test(String.fromCharCode(code)) ? BLANK : OTHER;
}

/**
 * Whether every text is cut between two such characters. The parts that a vocabulary merges are: letters, with one sign or blank before them
 * and such as `'s` after them; up to three digits; signs, with a space before and line ends after them; blanks. How blanks are parted
 * depends on what follows, so nothing is cut after one.
 */
function isCutBetween(before: number, kind: number): boolean {
  switch (before) {
    case LETTER:
      return kind !== LETTER && kind !== QUOTE && kind !== OTHER;
    case DIGIT:
      return kind !== DIGIT && kind !== OTHER;
    case QUOTE:
    case SIGN:
      return kind === SPACE || kind === DIGIT;
    case OTHER:
      return kind === SPACE;
    default:
      return false;
  }
}

const KIND_COUNT = 7;
const CUTS = Uint8Array.from({ length: KIND_COUNT * KIND_COUNT }, (_, pair) =>
  isCutBetween(Math.trunc(pair / KIND_COUNT), pair % KIND_COUNT) ? 1 : 0,
);
