import { codesOf, type Detector, type Reader, wordKind } from "../reader.ts";

export interface LiteralOptions {
  readonly kind: string;
  readonly text: string;
  readonly ignoreCase: boolean;
  /** Does not match inside of a longer word. */
  readonly wholeWord: boolean;
  /** Whether a space stands for any number of spaces and line breaks. Default: false. */
  readonly anySpace?: boolean | undefined;
}

const SPACE = 0x20;
/** More of them than this between two words are no longer one phrase. */
const MAX_SPACES = 64;

/** A detector that finds one text exactly as it is written. */
export function literal({ kind, text: given, ignoreCase, wholeWord, anySpace }: LiteralOptions): Detector {
  const text = anySpace === true ? given.replaceAll(/\s+/g, " ") : given;
  const wanted = codesOf(text).map((code) => (ignoreCase ? foldsOf(code) : [code]));
  const first = wanted[0] ?? [];
  const startsIn = wordKind(text.charCodeAt(0));
  const endsIn = wordKind(text.charCodeAt(text.length - 1));
  return {
    kind,
    starts: String.fromCharCode(...first),
    startsWord: false,
    isLiteral: true,
    match(reader, at, before) {
      if (wholeWord && startsIn !== 0 && wordKind(before) === startsIn) return 0;
      let end = at;
      for (const codes of wanted) {
        const isGap = anySpace === true && codes.includes(SPACE);
        const length = isGap ? spacesAt(reader, end) : Number(codes.includes(reader.exactAt(end)));
        if (length === 0) return 0;
        end += length;
      }
      if (!wholeWord || endsIn === 0) return end - at;
      return wordKind(reader.exactAt(end)) === endsIn ? 0 : end - at;
    },
  };
}

function spacesAt(reader: Reader, from: number): number {
  let at = from;
  while (at - from < MAX_SPACES && isSpace(reader.exactAt(at))) at++;
  return at - from;
}

function isSpace(code: number): boolean {
  return code === SPACE || (code >= 0x09 && code <= 0x0d) || code === 0xa0;
}

/** Letters with more than two forms, or whose other case is longer: Turkish i, Greek s at the end of a word, German sharp s. */
const FORMS: readonly (readonly string[])[] = [
  ["i", "I", "İ", "ı"],
  ["σ", "ς", "Σ"],
  ["ß", "ẞ"],
];

/** A UTF-16 unit in both cases, if both are one unit long. */
function foldsOf(code: number): readonly number[] {
  const char = String.fromCharCode(code);
  const forms = FORMS.find((others) => others.includes(char)) ?? [char];
  const cases = [...forms, char.toLowerCase(), char.toUpperCase()].filter((other) => other.length === 1);
  return [...new Set(cases.map((other) => other.charCodeAt(0)))];
}
