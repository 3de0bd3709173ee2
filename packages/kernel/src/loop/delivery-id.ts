import { InvalidValueError } from "../errors/errors.ts";

/**
 * The id under which an answer is stored in its run. The caller's id counts for one name only: a single click may answer several
 * questions and also send a message to an agent.
 */
export function deliveryId(name: string, id: string): string {
  if (typeof id === "string" && id !== "") return `${name}#${id}`;
  throw new InvalidValueError({
    field: "deliver options.id",
    value: id,
    expected: "a non-empty string",
  });
}
