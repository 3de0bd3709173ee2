import { InvalidValueError } from "@ravi/kernel";

/** Checks a text from the user: an option, or the result of a callback that becomes an agent's input or output. */
export function checkText(field: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new InvalidValueError({ field, value, expected: "a string" });
}

/** Like `checkText`, but undefined is allowed. */
export function checkOptionalText(field: string, value: unknown): string | undefined {
  return value === undefined ? undefined : checkText(field, value);
}
