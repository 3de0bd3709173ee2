import { readEscapes } from "../scan/escapes.ts";
import { bothPass, chainFilters, filterWhole, type TextFilter } from "../filter.ts";
import { type LinearPattern, lineFilter } from "../linear-pattern.ts";
import { literal } from "../scan/literal.ts";
import { plainText, readPlain } from "./plain.ts";
import type { Detector } from "../reader.ts";
import { createScanner } from "../scan/scanner.ts";
import { viewFilter } from "./view.ts";

/** Thrown by a filter at the first blocked word. */
export class BlockedError extends Error {}

/** Makes a filter. `isPlain`: the text contains nothing that could be read in another way. */
export type MakeFilter = (isPlain: boolean) => TextFilter;

/** Printable ASCII without the backslash, and line breaks and tabs. */
const PLAIN = /^[\n\r\t -[\]-~]*$/;

/** The first blocked word of a whole text, if there is one. */
export function firstBlocked(makeFilter: MakeFilter, text: string): string | undefined {
  try {
    filterWhole(makeFilter(PLAIN.test(text)), text);
    return undefined;
  } catch (error) {
    if (error instanceof BlockedError) return error.message;
    throw error;
  }
}

export interface BlockedOptions {
  readonly words: readonly string[];
  readonly patterns: readonly LinearPattern[];
  readonly ignoreCase: boolean;
  readonly wholeWord: boolean;
}

/**
 * Filters that check a text both as it is written and as a reader sees it: without invisible characters, a word may be found that
 * was not there before, or stop standing alone.
 */
export function blockingFilters({ words, patterns, ignoreCase, wholeWord }: BlockedOptions): MakeFilter {
  const plainWords = words.map(plainText).filter((word) => word !== "");
  const arePlain = words.every((word, at) => word === plainWords[at]);
  const literals = (texts: readonly string[]): readonly Detector[] =>
    texts.map((text) => literal({ kind: "a blocked word", text, ignoreCase, wholeWord, anySpace: true }));
  const asWritten = scanning(literals(words), patterns);
  const asSeen = scanning(literals(plainWords), patterns);
  return (isPlain) =>
    isPlain && arePlain
      ? asWritten()
      : bothPass(asWritten(), viewFilter(readEscapes, viewFilter(readPlain, asSeen())));
}

/** Makes filters that change nothing, and throw at the first blocked word or pattern. */
function scanning(detectors: readonly Detector[], patterns: readonly LinearPattern[]): () => TextFilter {
  const replace = (kind: string): never => {
    throw new BlockedError(kind);
  };
  const inLine = (line: string): string => {
    const found = patterns.find((pattern) => pattern.ranges(line).length > 0);
    return found === undefined ? line : replace(found.name);
  };
  return () => {
    const scanner = createScanner({ detectors, replace });
    return patterns.length === 0 ? scanner : chainFilters(lineFilter(inLine), scanner);
  };
}
