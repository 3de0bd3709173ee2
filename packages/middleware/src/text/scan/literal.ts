import { codesOf, type Detector, END, isWordCode } from "../reader.ts";

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
  const startsWord = isWordCode(text.charCodeAt(0));
  const endsWord = isWordCode(text.charCodeAt(text.length - 1));
  return {
    kind,
    starts: String.fromCharCode(...first),
    startsWord: false,
    isLiteral: true,
    match(reader, at, before) {
      if (wholeWord && startsWord && isWordCode(before)) return 0;
      for (const [index, codes] of wanted.entries()) if (!codes.includes(reader.exactAt(at + index))) return 0;
      if (!wholeWord || !endsWord) return wanted.length;
      const after = reader.exactAt(at + wanted.length);
      return after !== END && isWordCode(after) ? 0 : wanted.length;
    },
  };
}

/** A UTF-16 unit in both cases, if both are one unit long. */
function foldsOf(code: number): readonly number[] {
  const char = String.fromCharCode(code);
  const cases = [char, char.toLowerCase(), char.toUpperCase()].filter((other) => other.length === 1);
  return [...new Set(cases.map((other) => other.charCodeAt(0)))];
}
