import { parseJson } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";

/** How much of unreadable arguments is sent back to the model. */
const SHOWN_CHARACTERS = 10_000;

/**
 * The arguments of a call as an object, which providers demand and serialize again. Servers refuse the whole conversation if it
 * contains something too deep, too long or malformed. Text that is no object is wrapped in one, so that the model can see it.
 */
export function inputOf(text: string): object {
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseJson(text, "arguments");
    if (isObject(value)) return wellFormed(value) as object;
  } catch {
    // Falls through: wrapped as text.
  }
  return { unreadable: text.slice(0, SHOWN_CHARACTERS).toWellFormed() };
}

/** Recursive: `parseJson` has limited the depth. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]),
  );
}
