import { field } from "./field.ts";

/** Whether an error has this code of the operating system, such as `ENOENT`. It may be of another realm, as in jest. */
export function hasCode(error: unknown, code: string): boolean {
  return field(error, "code") === code;
}
