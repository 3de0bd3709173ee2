import { InvalidValueError } from "@ravi/kernel";
import { isName } from "../journal/entries/entry-check.ts";

/** Why nobody may wait for an answer of that name; undefined if it is a good one. It is part of a key, and of what is delivered. */
export function waitNameProblem(field: string, name: string): InvalidValueError | undefined {
  if (isName(name) && name.isWellFormed()) return undefined;
  const expected = "a non-empty name of whole characters, none of them a control character";
  return new InvalidValueError({ field, value: name, expected });
}
