import { parseJson } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";

/** What is shown of arguments that cannot be sent as they are. */
const SHOWN_CHARACTERS = 10_000;

/**
 * The arguments of a call as the object that providers want. They write it anew, and servers refuse a whole conversation for
 * what is too deep, too long or badly written inside it. What the model wrote instead of an object is shown inside one.
 */
export function inputOf(text: string): object {
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseJson(text, "arguments");
    if (isObject(value)) return wellFormed(value) as object;
  } catch {
    // Shown as it is.
  }
  return { unreadable: text.slice(0, SHOWN_CHARACTERS).toWellFormed() };
}

/** `parseJson` lets nothing through that is too deep for this. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]),
  );
}
