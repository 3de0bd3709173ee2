import { InvalidValueError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";

/** Serializes a value. Throws an `InvalidValueError` if it cannot be written as JSON. */
export function stringify(value: unknown): string {
  try {
    // A value that JSON omits (a `toJSON` that returns undefined) becomes null, as it does inside a list.
    return JSON.stringify(value) ?? "null";
  } catch (cause) {
    // A cycle, a bigint, a getter that throws, or nesting so deep that the stack overflows.
    throw new InvalidValueError({
      field: "the value for the journal",
      value: messageOf(cause),
      expected: "plain JSON data",
      cause,
    });
  }
}

/** Whether the value can be written as JSON. */
export function isWritable(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    // A cycle, a bigint, a getter that throws, or nesting so deep that the stack overflows.
    return false;
  }
}
