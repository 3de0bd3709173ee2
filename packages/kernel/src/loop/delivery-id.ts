import { InvalidValueError } from "../errors/errors.ts";

/**
 * Under which id an answer is kept in its run. What its giver calls it counts for one name alone: a single click may answer several
 * questions, and say something to an agent beside.
 */
export function deliveryId(name: string, id: string): string {
  if (typeof id === "string" && id !== "") return `${name}#${id}`;
  throw new InvalidValueError({
    field: "deliver options.id",
    value: id,
    expected: "a text that is not empty",
  });
}
