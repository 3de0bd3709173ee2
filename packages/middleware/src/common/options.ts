import { InvalidValueError } from "@ravi/kernel";

/**
 * Checks of options that the kernel does not have. Each returns the value, or throws an `InvalidValueError` that says what was
 * expected.
 */

export function checkNumber(field: string, value: unknown, least: number, most = Number.MAX_VALUE): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= least && value <= most) return value;
  const upTo = most === Number.MAX_VALUE ? "" : ` and at most ${most}`;
  throw new InvalidValueError({ field, value, expected: `a finite number of at least ${least}${upTo}` });
}

export function checkWord<const W extends string>(field: string, value: unknown, words: readonly W[]): W {
  for (const word of words) if (word === value) return word;
  throw new InvalidValueError({
    field,
    value,
    expected: `one of ${words.map((word) => `"${word}"`).join(", ")}`,
  });
}

/** A text, or none. */
export function checkText(field: string, value: unknown): void {
  if (value === undefined || value === null || typeof value === "string") return;
  throw new InvalidValueError({ field, value, expected: "a string" });
}

/** An array in which each item is one of the words. */
export function checkWords<const W extends string>(
  field: string,
  value: unknown,
  words: readonly W[],
): readonly W[] {
  return checkNames(field, value).map((item) => checkWord(field, item, words));
}

/** An array of strings, none of them empty. */
export function checkNames(field: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new InvalidValueError({ field, value, expected: "an array of strings" });
  return value.map((item: unknown, at) => {
    if (typeof item === "string" && item !== "") return item;
    throw new InvalidValueError({
      field: `${field}[${at}]`,
      value: item,
      expected: "a non-empty string",
    });
  });
}
