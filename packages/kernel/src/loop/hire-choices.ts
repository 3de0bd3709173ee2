import type { HireLeaf } from "../agent/leaves.ts";
import { InvalidValueError } from "../errors/errors.ts";

type Choices = Pick<HireLeaf, "onFull" | "onPreempt" | "onTimeout">;

/** Any other value would be taken for the default. */
export function checkHireChoices(field: string, { onFull, onPreempt, onTimeout }: Choices): void {
  if (onFull !== undefined && onFull !== "deny" && onFull !== "queue")
    throw wrong(`${field}.onFull`, onFull, '"deny" or "queue"');
  if (onPreempt !== undefined && onPreempt !== "park" && onPreempt !== "return")
    throw wrong(`${field}.onPreempt`, onPreempt, '"park" or "return"');
  if (onTimeout !== undefined && onTimeout !== "cancel" && onTimeout !== "leave")
    throw wrong(`${field}.onTimeout`, onTimeout, '"cancel" or "leave"');
}

function wrong(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
