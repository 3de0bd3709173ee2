import { checkBoolean, checkFields, InvalidValueError, type JsonValue, parseJson } from "@ravi/kernel";
import { checkWords } from "../common/options.ts";
import { email } from "./scan/email.ts";
import { chainFilters, filterWhole, type TextFilter } from "./filter.ts";
import { ipv4, ipv6 } from "./scan/ip.ts";
import {
  checkPatternName,
  isLinearPattern,
  type LinearPattern,
  lineFilter,
  replaceRanges,
} from "./linear-pattern.ts";
import { literal } from "./scan/literal.ts";
import { changeList } from "./clean/messages.ts";
import { card, iban, phone } from "./scan/numbers.ts";
import type { Detector } from "./reader.ts";
import { createScanner } from "./scan/scanner.ts";
import { privateKey, privateKeyEnd } from "./scan/private-key.ts";
import { apiKey, basic, bearer, jwt } from "./scan/secrets.ts";

/** The kinds of data that are detected without further patterns. */
export type PiiKind = "email" | "phone" | "card" | "ip" | "iban" | "secret";

/** A text to remove exactly as it is written. */
export interface LiteralPattern {
  /** The placeholder: `PROJECT` becomes `[PROJECT]`. */
  readonly name: string;
  readonly text: string;
  /** Default: false. */
  readonly ignoreCase?: boolean | undefined;
}

/** What is removed from texts, and how it is replaced. */
export interface RedactionOptions {
  /** Default: all kinds. */
  readonly kinds?: readonly PiiKind[] | undefined;
  /** Your own patterns: exact texts, or expressions made with `await linearPattern(…)`. */
  readonly patterns?: readonly (LiteralPattern | LinearPattern)[] | undefined;
  /**
   * Whether placeholders are numbered: `[EMAIL_1]`, `[EMAIL_2]`. The same value gets the same number within a call. Default:
   * false, `[EMAIL]`.
   */
  readonly numbered?: boolean | undefined;
}

const KINDS: Readonly<Record<PiiKind, readonly Detector[]>> = {
  secret: [privateKey, privateKeyEnd, jwt, apiKey, bearer, basic],
  email: [email],
  iban: [iban],
  card: [card],
  ip: [ipv6, ipv4],
  phone: [phone],
};

/** All built-in detectors; the first one that matches wins. */
export const BUILT_IN: readonly Detector[] = Object.values(KINDS).flat();

export const REDACTION_FIELDS = ["kinds", "patterns", "numbered"] as const;

/** What to look for, checked and prepared once. */
export interface Redaction {
  readonly isNumbered: boolean;
  /** Makes a filter for a text, or for JSON. Filters with the same `Numbering` use the same numbers. */
  filter(numbering: Numbering, json?: boolean): TextFilter;
  whole(text: string, numbering: Numbering, json?: boolean): string;
}

/** The numbers of one call's values, by kind. */
export type Numbering = Map<string, Map<string, number>>;

/** Checks the options and prepares the redaction. `what` is the layer's name for errors. */
export function redactionOf(what: string, options: RedactionOptions): Redaction {
  const allKinds = Object.keys(KINDS) as PiiKind[];
  const wanted = new Set(
    options.kinds === undefined ? allKinds : checkWords(`${what}.kinds`, options.kinds, allKinds),
  );
  const literals: Detector[] = [];
  const patterns: LinearPattern[] = [];
  if (options.patterns !== undefined && !Array.isArray(options.patterns)) {
    throw new InvalidValueError({
      field: `${what}.patterns`,
      value: options.patterns,
      expected: "an array of patterns",
    });
  }
  for (const [at, pattern] of (options.patterns ?? []).entries()) {
    if (isLinearPattern(pattern)) patterns.push(pattern);
    else literals.push(literalOf(`${what}.patterns[${at}]`, pattern));
  }
  const detectors = [
    ...literals,
    ...Object.entries(KINDS).flatMap(([kind, list]) => (wanted.has(kind as PiiKind) ? list : [])),
  ];
  const isNumbered = checkBoolean(`${what}.numbered`, options.numbered ?? false);

  const filter = (numbering: Numbering, json = false): TextFilter => {
    const replace = (kind: string, value: string): string =>
      placeholder(kind, value, isNumbered ? numbering : undefined);
    const scanner = createScanner({ detectors, replace, json });
    if (patterns.length === 0) return scanner;
    const change = (text: string): string =>
      patterns.reduce((rest, pattern) => replaceRanges(rest, pattern, replace), text);
    return chainFilters(json ? jsonFilter(change) : lineFilter(change), scanner);
  };
  const whole = (text: string, numbering: Numbering, json = false): string =>
    filterWhole(filter(numbering, json), text);
  return { isNumbered, filter, whole };
}

function placeholder(kind: string, value: string, numbering: Numbering | undefined): string {
  if (kind === "") return "";
  if (numbering === undefined) return `[${kind}]`;
  const known = numbering.get(kind) ?? new Map<string, number>();
  numbering.set(kind, known);
  const number = known.get(value) ?? known.size + 1;
  known.set(value, number);
  return `[${kind}_${number}]`;
}

function literalOf(field: string, pattern: unknown): Detector {
  if (pattern instanceof RegExp) {
    const expected =
      "{ name, text }, or a pattern that runs in linear time: `await linearPattern(name, /…/)`";
    throw new InvalidValueError({ field, value: String(pattern), expected });
  }
  const { name, text, ignoreCase } = checkFields(field, pattern, ["name", "text", "ignoreCase"]);
  if (typeof text !== "string" || text === "" || text.length > 1_024) {
    throw new InvalidValueError({
      field: `${field}.text`,
      value: text,
      expected: "a string of 1 to 1,024 characters",
    });
  }
  return literal({
    kind: checkPatternName(`${field}.name`, name),
    text,
    ignoreCase: checkBoolean(`${field}.ignoreCase`, ignoreCase ?? false),
    wholeWord: false,
  });
}

/** Expressions know nothing about JSON, so they are applied to its strings one by one, once the JSON is complete. */
function jsonFilter(change: (text: string) => string): TextFilter {
  let held = "";
  return {
    push(text) {
      held += text;
      return "";
    },
    end() {
      const json = held;
      held = "";
      try {
        const value = parseJson(json, "arguments");
        const changed = changeTexts(value, change);
        return changed === value ? json : JSON.stringify(changed);
      } catch {
        // It is not JSON, so there is no format to preserve.
        return change(json);
      }
    },
  };
}

/** Returns the same value if nothing changed. */
function changeTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === "string") return change(value);
  if (typeof value === "number") {
    const text = String(value);
    const changed = change(text);
    return changed === text ? value : changed;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    return changeList(value as readonly JsonValue[], (item) => changeTexts(item, change));
  }
  const entries = Object.entries(value).map(
    ([key, inner]) => [change(key), changeTexts(inner ?? null, change)] as const,
  );
  const isSame = Object.entries(value).every(
    ([key, inner], at) => entries[at]?.[0] === key && entries[at]?.[1] === (inner ?? null),
  );
  return isSame ? value : Object.fromEntries(entries);
}
