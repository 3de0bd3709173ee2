import type { RE2JS } from "re2js";
import { InvalidValueError } from "@ravi/kernel";
import { hasMethod, messageOf } from "@ravi/kernel/loop";
import { readEscapes } from "./scan/escapes.ts";
import type { TextFilter } from "./filter.ts";
import { sameView, sourceIndex, type View } from "./clean/view.ts";

/** A user's pattern that is guaranteed to run in linear time. Make one with `linearPattern`. */
export interface LinearPattern {
  /** The placeholder for what it finds: `EMPLOYEE` becomes `[EMPLOYEE]`. */
  readonly name: string;
  /** The matches as [from, to), from left to right, not overlapping, none empty. */
  ranges(text: string): readonly (readonly [number, number])[];
}

/**
 * Makes a pattern from a regular expression. It runs on re2js (an optional peer dependency: `npm install re2js`), where every
 * expression takes linear time. Throws an `InvalidValueError` for what re2js does not support (back references, look-around), or
 * if it is not installed.
 */
export async function linearPattern(name: string, expression: RegExp | string): Promise<LinearPattern> {
  checkPatternName("linearPattern.name", name);
  if (typeof expression !== "string" && !(expression instanceof RegExp)) {
    throw new InvalidValueError({
      field: "linearPattern.expression",
      value: expression,
      expected: "a RegExp, or its source as a string",
    });
  }
  const engine = (await loadEngine()).RE2JS;
  const source = typeof expression === "string" ? expression : expression.source;
  try {
    const compiled = engine.compile(engine.translateRegExp(expression));
    return Object.freeze({
      name,
      ranges(text: string) {
        const found: (readonly [number, number])[] = [];
        const matcher = compiled.matcher(text);
        while (matcher.find())
          if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()]);
        return found;
      },
    });
  } catch (cause) {
    const expected = `an expression that re2js supports, which excludes back references and look-around (${messageOf(cause)})`;
    throw new InvalidValueError({ field: `linearPattern ${name}`, value: source, expected, cause });
  }
}

async function loadEngine(): Promise<{ readonly RE2JS: typeof RE2JS }> {
  try {
    return await import("re2js");
  } catch (cause) {
    const expected =
      "the package re2js, which runs expressions in linear time; install it with: npm install re2js";
    throw new InvalidValueError({ field: "linearPattern", value: "unavailable", expected, cause });
  }
}

export function isLinearPattern(value: unknown): value is LinearPattern {
  return hasMethod(value, "ranges");
}

export function checkPatternName(field: string, name: unknown): string {
  // Letters and `_` only: safe inside of JSON, and not something that a detector could match again.
  if (typeof name === "string" && /^[A-Za-z][A-Za-z_]{0,39}$/.test(name)) return name;
  throw new InvalidValueError({
    field,
    value: name,
    expected: "1 to 40 letters or '_', starting with a letter",
  });
}

/** Longer lines are checked in parts of this length. */
const LONGEST_LINE = 4_096;

/** Applies `change` line by line, so that a stream is delayed by one line at most. */
export function lineFilter(change: (line: string) => string): TextFilter {
  let held = "";
  return {
    push(text) {
      held += text;
      let out = "";
      for (let end = lineEnd(held); end > 0; end = lineEnd(held)) {
        out += change(held.slice(0, end));
        held = held.slice(end);
      }
      return out;
    },
    end() {
      const rest = held;
      held = "";
      return rest === "" ? "" : change(rest);
    },
  };
}

/** The end of the first line, or of the longest part of one; 0 if neither is complete. */
function lineEnd(text: string): number {
  // Only the first part is searched: otherwise a long text would be searched to its end for each part.
  const newline = text.slice(0, LONGEST_LINE).indexOf("\n");
  if (newline !== -1) return newline + 1;
  return text.length >= LONGEST_LINE ? LONGEST_LINE : 0;
}

/** Replaces matches in the text as it is written, and then with the escapes of JSON decoded. */
export function replaceRanges(
  text: string,
  pattern: LinearPattern,
  replace: (name: string, value: string) => string,
): string {
  const clean = replaceInView(text, sameView(text), pattern, replace);
  const view = readEscapes(clean, true);
  return view.starts === undefined ? clean : replaceInView(clean, view, pattern, replace);
}

function replaceInView(
  text: string,
  view: View,
  pattern: LinearPattern,
  replace: (name: string, value: string) => string,
): string {
  let out = "";
  let from = 0;
  for (const [start, end] of pattern.ranges(view.text)) {
    out += text.slice(from, sourceIndex(view, start)) + replace(pattern.name, view.text.slice(start, end));
    from = sourceIndex(view, end);
  }
  return from === 0 ? text : out + text.slice(from);
}
