import { InvalidValueError } from "@ravi/kernel";

/** A user's text: an option, or what a function gave that goes on as the input or the output of an agent. */
export function checkText(field: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new InvalidValueError({ field, value, expected: "a text" });
}

/** A text, or nothing where it may be left out. */
export function checkOptionalText(field: string, value: unknown): string | undefined {
  return value === undefined ? undefined : checkText(field, value);
}

/** A function, or nothing where it may be left out. */
export function checkFunction<F>(field: string, value: F): F {
  if (value === undefined || typeof value === "function") return value;
  throw new InvalidValueError({ field, value, expected: "a function" });
}
