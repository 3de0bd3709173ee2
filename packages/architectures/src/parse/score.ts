import type { JsonValue } from "@ravi/kernel";
import { fieldIn } from "./json.ts";

const NAMES = ["score", "rating", "confidence", "quality", "value", "grade", "probability", "agreement"];

const WORDS: Readonly<Record<string, number>> = {
  zero: 0,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};

/**
 * Reads a score between 0 and 1 from what models write: JSON, `8/10`, `85%`, `0.8`, `eight out of ten`. If there are several, the lowest
 * counts. Undefined if there is none, or none with a known scale: a guess would pass for a judgement.
 */
export function readScore(text: string): number | undefined {
  const field = fieldIn(text, NAMES);
  return field === undefined ? scoreInText(text) : scoreOf(field);
}

/** Reads how confident a model is, from 0 to 1. Undefined if it does not say; a confidence that cannot be read counts as 0. */
export function readConfidence(text: string, names: readonly string[]): number | undefined {
  const field = fieldIn(text, names);
  if (field !== undefined) return scoreOf(field) ?? 0;
  const percent = /(\d{1,3})\s*(?:%|per ?cent)/i.exec(text)?.[1];
  return scoreInText(text) ?? (percent === undefined ? undefined : share(Number(percent), 100));
}

function scoreOf(value: JsonValue): number | undefined {
  if (typeof value === "number") return onScale(value);
  return typeof value === "string" ? scoreInText(`score: ${value}`) : undefined;
}

// All repetitions are bounded, so that the endless output of a confused model is read fast.
const NUMBER = String.raw`(-?\d{1,9}(?:[.,]\d{1,9})?)(?!\d|[.,]\d)`;
const PERCENT = "(%|per ?cent)";
const SCALE = String.raw`\s{0,3}(?:/|out of|of)\s{0,3}(\d{1,9})`;
/** What may follow a number that is a score: the end, punctuation, a reason. If a noun follows, it is a count of something. */
const END = String.raw`(?=\s{0,3}(?:$|[\n.,;:!)("'*_}\]–—]|-\s|(?:because|since|as|for|and|but|overall)\b))`;
/** `score`, optionally with its scale in brackets and a short word before the number. */
const NAME = String.raw`(?:score|rating|confidence|quality|grade)`;
const RANGE = String.raw`(?:\s{0,3}\([^()\d]{0,20}(?:\d{1,3}\s{0,3}(?:-|–|to)\s{0,3})?(\d{1,9})[^()\d]{0,20}\))?`;
const BRIDGE = String.raw`(?:["'*_\s:=]|-\s){0,8}(?:(?:is|was|of|at|would be)\b["'*_\s:=]{0,4})?`;

const NAMED = new RegExp(`${NAME}${RANGE}${BRIDGE}${NUMBER}(?:${SCALE}|\\s{0,3}${PERCENT})?${END}`, "gi");
const SCALED = new RegExp(`(?<![\\d/.,])${NUMBER}${SCALE}${END}`, "gi");
const ALONE = new RegExp(String.raw`^\W{0,20}?${NUMBER}\s{0,3}${PERCENT}?\W{0,20}$`, "i");

function scoreInText(text: string): number | undefined {
  const digits = text
    .trim()
    .replaceAll(/\b(zero|one|two|three|four|five|six|seven|eight|nine|ten)\b/gi, (word) =>
      String(WORDS[word.toLowerCase()] ?? word),
    );
  const named = [...digits.matchAll(NAMED)].map(([, range, value, whole, percent]) =>
    placed(value, whole ?? range, percent),
  );
  if (named.length > 0) return lowest(named);
  const scaled = [...digits.matchAll(SCALED)].map(([, value, whole]) => placed(value, whole));
  if (scaled.length > 0) return lowest(scaled);
  const [, value, percent] = ALONE.exec(digits) ?? [];
  return value === undefined ? undefined : placed(value, undefined, percent);
}

function placed(value: string | undefined, whole?: string, percent?: string): number | undefined {
  if (percent !== undefined) return share(numberOf(value), 100);
  return whole === undefined ? onScale(numberOf(value)) : share(numberOf(value), numberOf(whole));
}

/** Undefined if any of them could not be read. */
function lowest(scores: readonly (number | undefined)[]): number | undefined {
  const known = scores.filter((score) => score !== undefined);
  return known.length < scores.length ? undefined : known.reduce((least, score) => Math.min(least, score), 1);
}

function numberOf(text: string | undefined): number {
  return Number((text ?? "").replace(",", "."));
}

function share(part: number, whole: number): number | undefined {
  return whole > 0 ? clamp(part / whole) : undefined;
}

/** A model that was asked for 0 to 1 and writes 8 means 8 of 10; 85 means 85 of 100. Higher numbers have no known scale. */
function onScale(value: number): number | undefined {
  if (!Number.isFinite(value) || value > 100) return undefined;
  if (value <= 1) return clamp(value);
  return value <= 10 ? value / 10 : value / 100;
}

function clamp(value: number): number | undefined {
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : undefined;
}
