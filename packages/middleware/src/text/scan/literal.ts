import { codesOf, type Detector, wordKind } from "../reader.ts";

export interface LiteralOptions {
  readonly kind: string;
  readonly text: string;
  readonly ignoreCase: boolean;
  /** Does not match inside of a longer word. */
  readonly wholeWord: boolean;
}

/** A detector that finds one text exactly as it is written. */
export function literal({ kind, text, ignoreCase, wholeWord }: LiteralOptions): Detector {
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
      for (const [index, codes] of wanted.entries())
        if (!codes.includes(reader.exactAt(at + index))) return 0;
      if (!wholeWord || endsIn === 0) return wanted.length;
      return wordKind(reader.exactAt(at + wanted.length)) === endsIn ? 0 : wanted.length;
    },
  };
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
