import { InvalidValueError, type PostedItem } from "@ravi/kernel";

const KINDS: ReadonlySet<unknown> = new Set<PostedItem["kind"]>(["signal", "message", "decision", "cancel"]);

/** Checks an item before it is stored. Posting needs no claim, so an item may come from anywhere. Throws an `InvalidValueError`. */
export function checkItem(item: PostedItem): void {
  if (typeof item !== "object" || item === null) {
    throw new InvalidValueError({ field: "item", value: item, expected: "an object" });
  }
  const { id, kind, name, at, value } = item;
  if (!isText(id) || id.length === 0)
    refuse("id", id, "a non-empty string of whole characters, without NUL, that is unique in its run");
  if (!KINDS.has(kind)) refuse("kind", kind, '"signal", "message", "decision" or "cancel"');
  if (!isText(name)) refuse("name", name, "a string of whole characters, without NUL");
  if (!Number.isFinite(at)) refuse("at", at, "a time in epoch milliseconds");
  if (value === undefined || typeof value === "function" || typeof value === "symbol") {
    refuse("value", value, "plain JSON; use null for no value");
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0");
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `item.${field}`, value, expected });
}
