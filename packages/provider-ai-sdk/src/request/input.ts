import { argumentObject, isObject } from "@ravi/kernel/provider";

/** The arguments of a call as an object, which providers demand and serialize again. */
export function inputOf(text: string): unknown {
  return wellFormed(argumentObject(text));
}

/** Recursive: `argumentObject` has limited the depth. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]),
  );
}
