import { InvalidValueError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";

/** A value as JSON text; what cannot be written as such is an `InvalidValueError`, never a crash of the writer. */
export function stringify(value: unknown): string {
  try {
    // What stands for nothing in JSON (a `toJSON` that gives undefined) is null, as it is inside a list.
    return JSON.stringify(value) ?? "null";
  } catch (cause) {
    // A cycle, a bigint, a getter that throws, or nested so deeply that the stack overflows.
    throw new InvalidValueError({
      field: "the value for the journal",
      value: messageOf(cause),
      expected: "plain JSON data",
      cause,
    });
  }
}

/** Whether it can be written as JSON. */
export function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
