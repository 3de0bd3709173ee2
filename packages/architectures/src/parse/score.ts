import type { JsonValue } from "@ravi/kernel";
import { fieldOf, findObject } from "./json.ts";

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
 * A score between 0 and 1, out of what models write when they are asked for one: JSON, `8/10`, `85%`, `0.8`, `eight out of
 * ten`. Undefined where there is none, or none that can be placed on a scale: a guess would pass for a judgement.
 */
export function readScore(text: string, names: readonly string[] = NAMES): number | undefined {
  const object = findObject(text);
  const field = object === undefined ? undefined : fieldOf(object, names);
  return field === undefined ? scoreInText(text) : scoreOf(field);
}

function scoreOf(value: JsonValue): number | undefined {
  if (typeof value === "number") return onScale(value);
  return typeof value === "string" ? scoreInText(value) : undefined;
}

// Bounded, so that a model which repeats a digit without end is read in no time.
const NUMBER = String.raw`(-?\d{1,9}(?:[.,]\d{1,9})?)`;
const SCALE = String.raw`\s*(?:(?:/|out of|of)\s*(\d{1,9})|(%|per ?cent))`;
/** What is called a score, on whatever scale; then any number with a scale; then a number that stands alone. */
const FORMS = [
  new RegExp(String.raw`(?:${NAMES.join("|")})\D{0,12}?${NUMBER}(?:${SCALE})?`, "i"),
  new RegExp(NUMBER + SCALE, "i"),
  new RegExp(String.raw`^\W*?${NUMBER}\W*$`),
];

function scoreInText(text: string): number | undefined {
  const digits = text
    .trim()
    .replaceAll(/\b(zero|one|two|three|four|five|six|seven|eight|nine|ten)\b/gi, (word) =>
      String(WORDS[word.toLowerCase()] ?? word),
    );
  for (const form of FORMS) {
    const found = form.exec(digits);
    if (found === null) continue;
    const [, value, whole, percent] = found;
    if (whole !== undefined) return share(numberOf(value), numberOf(whole));
    return percent === undefined ? onScale(numberOf(value)) : share(numberOf(value), 100);
  }
  return undefined;
}

function numberOf(text: string | undefined): number {
  return Number((text ?? "").replace(",", "."));
}

function share(part: number, whole: number): number | undefined {
  return whole > 0 ? clamp(part / whole) : undefined;
}

/** Who was asked for 0 to 1 and writes 8 means of ten; 85, of a hundred. Beyond that nothing is meant that can be known. */
function onScale(value: number): number | undefined {
  if (!Number.isFinite(value) || value > 100) return undefined;
  if (value <= 1) return clamp(value);
  return value <= 10 ? value / 10 : value / 100;
}

function clamp(value: number): number | undefined {
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : undefined;
}
